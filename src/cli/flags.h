// Groups of options that several verbs share, and how results leave the program.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/options.h"
#include "jobs/load_model.h"
#include "jobs/run_options.h"
#include "report/record.h"

namespace hone {

// MODEL and what the graph takes.
struct ModelFlags {
  std::string model;
  std::vector<std::string> inputs;
  LoadedModel load() const { return load_model(model, inputs); }
  static std::span<const OptionField<ModelFlags>> fields();
};

// Several of them, in one run.
struct ModelsFlags {
  std::vector<std::string> model, inputs;
  std::vector<LoadedModel> load() const;  // a file has its inputs fixed: --inputs are of the folders among them
  static std::span<const OptionField<ModelsFlags>> fields();
};

// A file to write.
struct OutputFlags {
  std::string output;
  static std::span<const OptionField<OutputFlags>> fields();
};

// How the result is shown.
struct ResultFlags {
  bool json = false;
  std::string report;
  static std::span<const OptionField<ResultFlags>> fields();         // --json
  static std::span<const OptionField<ResultFlags>> report_fields();  // --report, for verbs that have one
  void print(const Record& record) const;                            // text, or JSON, to standard output
};

// What a verb has to show: printed, and as the HTML file of --report, if any. That is opened first: a place that can't
// be written is known before the work.
class Report {
 public:
  explicit Report(const ResultFlags& flags);
  void finish(const Record& record);

 private:
  const ResultFlags& flags_;
  std::optional<AtomicFile> file_;
};

// To standard output; what a terminal must not see is escaped. Throws Error when writing fails.
void print_text(std::string_view text);
void print_json(std::string_view json);

// The command as one would type it in any folder: quoted for a shell, and what it reads by absolute paths. Set once by
// run_program(); what is read is said by RunFiles.
std::string this_command();
void set_this_command(const std::string& program, int argc, char** argv);
void reads_in_this_command(const std::string& path);

}  // namespace hone

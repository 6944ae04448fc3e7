// Groups of options that several verbs share, and how results leave the program.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

// MODEL and what the graph takes.
struct ModelFlags {
  std::string model;
  std::vector<std::string> inputs;
  void add_to(CLI::App& app);
  void add_inputs_to(CLI::App& app);
  LoadedModel load() const;
};

// --batch --seq --dim
struct ShapeFlags {
  ShapeOptions options;
  std::vector<std::string> dims;
  void add_to(CLI::App& app);
  ShapeOptions get() const;
};

// --input name=x.npy
struct GivenFlags {
  std::vector<std::string> given;
  void add_to(CLI::App& app);
  NamedTensors get() const;
};

// --text --text-file
struct TextFlags {
  std::vector<std::string> texts;
  std::string file;
  void add_to(CLI::App& app);
  std::vector<std::string> get() const;  // empty when neither is given
};

// Of --device, or of --isa where that is given: null where neither is.
std::shared_ptr<Device> device_of(const std::string& device, const std::string& isa);
void add_device_to(CLI::App& app, std::string& device);

// For verbs that take no others of RunFlags.
void add_no_fallback_to(CLI::App& app, bool& no_fallback);

// --device --no-fallback --backend -O --isa --no-winograd --no-fusion --threads --no-pass --verify --print-after
// --cache
// --trust-code, and --compute where the verb adds it
struct RunFlags {
  std::string device, backend = "cpu", isa, compute, cache;
  int optimise = 2, threads = 1;
  std::vector<std::string> no_pass, print_after;
  bool verify = false, no_cache = false, trust_code = false, no_winograd = false, no_fusion = false,
       no_fallback = false;
  void add_to(CLI::App& app);
  void add_all_but_trust_to(CLI::App& app);  // for verbs that run no code from a model's file
  void add_compute_to(CLI::App& app);
  SessionOptions options() const;
};

CLI::Validator seconds_range();  // of --seconds: above 0 and at most a day; not NaN, which no comparison refuses
CLI::Validator real_range(double least, double most);

constexpr const char* kCheckFiniteHelp =
    "Look at every result of the first run; name the first step that computes NaN or an infinity";

// --json, and --report where the verb adds it
struct OutputFlags {
  bool json = false;
  std::string report;
  void add_to(CLI::App& app);
  void add_report_to(CLI::App& app);
  void print(const Record& record) const;  // text, or JSON, to standard output
};

// What a verb has to show: printed, and as the HTML file of --report, if any. That is opened first: a place that can't
// be written is known before the work.
class Report {
 public:
  explicit Report(const OutputFlags& flags);
  void finish(const Record& record);

 private:
  const OutputFlags& flags_;
  std::optional<AtomicFile> file_;
};

// "name=value" pairs; throws Error on anything else or a repeated name.
std::map<std::string, std::string> parse_pairs(const std::vector<std::string>& items, const std::string& flag);

// To standard output; what a terminal must not see is escaped. Throws Error when writing fails.
void print_text(std::string_view text);
void print_json(std::string_view json);

// The command as one would type it in any folder: quoted for a shell, and what it reads by absolute paths. Set once by
// run_program(); what is read is said by RunFiles.
std::string this_command();
void set_this_command(const std::string& program, int argc, char** argv);
void reads_in_this_command(const std::string& path);

}  // namespace hone

// What a model is judged on and by: --data, --metric and what belongs to them.
#pragma once

#include <string>
#include <vector>

#include "cli/option_flags.h"
#include "jobs/evaluation.h"

namespace hone {

struct EvaluationFlags {
  std::string data;
  std::vector<std::string> metrics;
  GivenOptions reading;
  EvaluationOptions options;

  // `prefix` stands before all names but --data, --metric, --score-output, --max-length and --cmd-seconds.
  void add_to(CLI::App& app, const std::string& prefix = "");
  EvaluationOptions get() const;

  // For verbs that choose by one metric, have batches of their own and may have the data from elsewhere: --data, as
  // `doc` says, --metric, and what belongs to a data set with "data-" before it.
  void add_choice_to(CLI::App& app, const std::string& doc);
  EvaluationOptions get_choice() const;

 private:
  void add_rows_to(CLI::App& app, const std::string& prefix);
};

// Splits in files of their own (--validation-file, --test-file), for the command line that a report shows.
void note_split_files(const GivenOptions& reading);

// "accuracy,f1" and "cmd:./score.sh a,b" as names: what follows cmd: is one program with its arguments.
std::vector<std::string> split_metrics(const std::vector<std::string>& given);

}  // namespace hone

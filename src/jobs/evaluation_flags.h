// What a model is judged on and by: --data, --metric and what belongs to them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/option_tables.h"
#include "jobs/evaluation.h"

namespace hone {

struct EvaluationFlags : DataOptions {
  std::string data, rows_split, score_output;
  std::vector<std::string> metric;
  std::optional<int64_t> limit, max_length;
  int64_t rows_at_once = 16;
  double cmd_seconds = 600;

  EvaluationOptions evaluation() const;
  // For verbs that choose by one metric, have batches of their own and may have the data from elsewhere.
  EvaluationOptions choice() const;

  // Before the names of all but --data, --metric, --score-output, --max-length and --cmd-seconds stands `prefix`.
  static std::vector<OptionField<EvaluationFlags>> fields(const char* prefix);
  static std::vector<OptionField<EvaluationFlags>> choice_fields(const char* prefix);  // those of choice() but --data
  static std::span<const OptionField<EvaluationFlags>> data_fields();                  // --data
};

// "accuracy,f1" and "cmd:./score.sh a,b" as names: what follows cmd: is one program with its arguments.
std::vector<std::string> split_metrics(const std::vector<std::string>& given);

}  // namespace hone

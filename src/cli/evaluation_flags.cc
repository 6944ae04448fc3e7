#include "cli/evaluation_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/registry.h"
#include "cli/flags.h"
#include "measure/registry.h"

namespace hone {

namespace {
std::string metric_names() { return fmt::format("{}", fmt::join(names_of<MetricDef>(measure::all()), ", ")); }
}  // namespace

void EvaluationFlags::add_rows_to(CLI::App& app, const std::string& prefix) {
  app.add_option("--" + prefix + "split", options.data.split,
                 "Of the data: train, validation or test (default: test, else validation, else all rows)");
  app.add_option("--" + prefix + "limit", options.data.limit, "At most so many rows of it, drawn by a seed")
      ->check(CLI::PositiveNumber);
  app.add_option("--score-output", options.output,
                 "The model's output that metrics are of (default: the one that fits)");
  app.add_option("--max-length", options.max_length,
                 "Tokens that texts are cut to (default: as in training, else what the model takes)")
      ->check(CLI::PositiveNumber);
  add_fields(app, DataOptions::fields(), reading, prefix);
}

void EvaluationFlags::add_to(CLI::App& app, const std::string& prefix) {
  app.add_option("--data", data, "Data set to judge answers on: a file or folder");
  app.add_option(
         "--metric", metrics,
         metric_names() +
             ", retrieval, agreement (with the first model) or cmd:PROGRAM, which is given the answers as a file "
             "of JSON lines and prints a number; several with commas (default: what suits the data)")
      ->allow_extra_args(false);
  app.add_option("--" + prefix + "batch", options.data.batch, "Rows of the data that run at once")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--cmd-seconds", options.command_seconds, "Longest that the program of cmd: may take")
      ->check(real_range(1e-3, 1e9))
      ->capture_default_str();
  add_rows_to(app, prefix);
}

void EvaluationFlags::add_choice_to(CLI::App& app, const std::string& doc) {
  app.add_option("--data", data, doc);
  app.add_option("--metric", metrics,
                 "What answers to data with labels are judged by: " + metric_names() + " (default: what suits them)")
      ->allow_extra_args(false);
  add_rows_to(app, "data-");
}

std::vector<std::string> split_metrics(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const std::string& text : given)
    for (size_t at = 0; at <= text.size();) {
      const bool command = std::string_view(text).substr(at).starts_with("cmd:");
      const size_t end = command ? text.size() : std::min(text.find(',', at), text.size());
      names.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  return names;
}

void note_split_files(const GivenOptions& reading) {
  for (const char* name : {"validation-file", "test-file"})
    if (const auto found = reading.find(name); found != reading.end())
      for (const std::string& path : found->second) reads_in_this_command(path);
}

EvaluationOptions EvaluationFlags::get_choice() const {
  note_split_files(reading);
  EvaluationOptions result = options;
  result.metrics = split_metrics(metrics);
  set_fields(DataOptions::fields(), result.data.reading, reading);
  return result;
}

EvaluationOptions EvaluationFlags::get() const {
  EvaluationOptions result = get_choice();
  result.data.path = data;
  const auto is_given = [](const auto& field) { return !field.second.empty(); };
  if (data.empty() && (!metrics.empty() || !options.data.split.empty() || options.data.limit > 0 ||
                       !options.output.empty() || options.max_length > 0 || std::ranges::any_of(reading, is_given)))
    fail("metrics, splits, limits, lengths and columns are of a data set: give --data");
  return result;
}

}  // namespace hone

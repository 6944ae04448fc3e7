#include "jobs/evaluation_flags.h"

#include <fmt/format.h>

#include "base/registry.h"
#include "measure/registry.h"

namespace hone {
namespace {

using F = EvaluationFlags;

std::string metric_names() { return fmt::format("{}", fmt::join(names_of<MetricDef>(measure::all()), ", ")); }
std::string all_metrics() {
  return metric_names() +
         ", retrieval, agreement (with the first model) or cmd:PROGRAM, which is given the answers as a file of JSON "
         "lines and prints a number; several with commas (default: what suits the data)";
}
std::string label_metrics() { return metric_names() + " (default: what suits them)"; }

constexpr OptionField<F> kData[] = {
    flag("data", "Data set to judge answers on: a file or folder", &F::data, {.file = OptionFile::reads})};
constexpr OptionField<F> kMetric[] = {flag("metric", "", &F::metric, {.more_doc = all_metrics})};
constexpr OptionField<F> kLabelMetric[] = {
    flag("metric", "What answers to data with labels are judged by: ", &F::metric, {.more_doc = label_metrics})};
constexpr OptionField<F> kBatch[] = {
    flag("batch", "Rows of the data that run at once", &F::rows_at_once, {.least = 1, .most = int64_t{1} << 20})};
constexpr OptionField<F> kCommand[] = {
    flag("cmd-seconds", "Longest that the program of cmd: may take", &F::cmd_seconds, {.least = 1e-3, .most = 1e9})};
constexpr OptionField<F> kRows[] = {
    flag("split", "Split to read: train, validation or test (default: test, else validation, else all rows)",
         &F::rows_split),
    flag("limit", "Largest number of rows to read, drawn by a seed", &F::limit, {.least = 1})};
constexpr OptionField<F> kOutputs[] = {
    flag("score-output", "The model's output that metrics are of (default: the one that fits)", &F::score_output),
    flag("max-length", "Tokens that texts are cut to (default: as in training, else what the model takes)",
         &F::max_length, {.least = 1})};

}  // namespace

std::span<const OptionField<F>> F::data_fields() { return kData; }

std::vector<OptionField<F>> F::fields(const char* prefix) {
  const auto rest = choice_fields(prefix);
  auto all = joined_fields<F>(kMetric, prefixed(prefix, std::span<const OptionField<F>>(kBatch)), kCommand);
  all.insert(all.end(), rest.begin() + std::ssize(kLabelMetric), rest.end());
  return all;
}

std::vector<OptionField<F>> F::choice_fields(const char* prefix) {
  return joined_fields<F>(kLabelMetric, prefixed(prefix, std::span<const OptionField<F>>(kRows)), kOutputs,
                          prefixed(prefix, DataOptions::fields()));
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

EvaluationOptions F::choice() const {
  EvaluationOptions result;
  result.data.reading = *this;
  result.data.split = rows_split, result.data.limit = limit.value_or(0), result.data.batch = rows_at_once;
  result.metrics = split_metrics(metric);
  result.output = score_output, result.max_length = max_length.value_or(0), result.command_seconds = cmd_seconds;
  return result;
}

EvaluationOptions F::evaluation() const {
  EvaluationOptions result = choice();
  result.data.path = data;
  if (data.empty() && (!metric.empty() || !rows_split.empty() || limit || !score_output.empty() || max_length ||
                       !options_toml(DataOptions::fields(), static_cast<const DataOptions&>(*this)).empty()))
    fail("metrics, splits, limits, lengths and columns are of a data set: give --data");
  return result;
}

}  // namespace hone

#include "measure/metric.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/registry.h"
#include "base/text.h"
#include "measure/registry.h"

namespace hone {
namespace {

constexpr int64_t kLargestK = 1'000'000;

void check_classes(const Answers& answers) {
  for (size_t r = 0; r < answers.classes.size(); ++r)
    if (const int64_t c = answers.classes[r]; c != kIgnored && (c < 0 || c >= answers.width))
      fail("sample {} is of class {}, but the model gives {} score{}, for classes 0 to {}",
           static_cast<int64_t>(r) * answers.samples / std::ssize(answers.classes), c, answers.width,
           answers.width == 1 ? "" : "s", answers.width - 1);
}

template <class T>
void append(std::vector<T>& all, std::span<const T> more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

const char* to_string(TargetKind kind) {
  constexpr const char* kNames[] = {"classes", "labels (several may hold)", "numbers", "pairs",
                                    "groups",  "another model's answers"};
  return kNames[static_cast<int>(kind)];
}

void check(const Answers& a) {
  if (a.width < 1 || a.samples < 1 || a.scores.size() % static_cast<size_t>(a.width) != 0)
    fail("{} values are no rows of {} for {} samples", a.scores.size(), a.width, a.samples);
  const int64_t rows = a.rows();
  if (rows == 0 || rows % a.samples != 0)
    fail("{} rows of {} are not equally many for each of {} samples", rows, a.width, a.samples);
  const bool by_number = a.kind == TargetKind::classes || a.kind == TargetKind::groups;
  if ((by_number || a.kind == TargetKind::answers) && std::ssize(a.classes) != rows)
    fail("{} classes for {} rows of scores", a.classes.size(), rows);
  if (!by_number && a.values.size() != a.scores.size())
    fail("the data have {} values for each sample, the model gives {}",
         static_cast<int64_t>(a.values.size()) / a.samples, static_cast<int64_t>(a.scores.size()) / a.samples);
  if (a.kind == TargetKind::classes) check_classes(a);
  if (a.kind == TargetKind::labels)
    for (float v : a.values)
      if (v != 0 && v != 1 && !std::isnan(v))
        fail("a label is {}; 0 or 1 is expected, or NaN where it is not known", v);
}

double mean_of(const Evidence& evidence, std::span<const double> weights) {
  double sum = 0, count = 0;
  for (const Evidence::Row& row : evidence.rows) {
    const double weight = weights[static_cast<size_t>(row.sample)];
    sum += weight * row.a, count += weight * row.b;
  }
  return count > 0 ? sum / count : 0;
}

std::string Metric::name() const {
  return k == def->default_k ? std::string(def->name) : fmt::format("{}@{}", def->name, k);
}

std::string Metric::title() const { return k > 1 ? fmt::format("{} at {}", def->title, k) : std::string(def->title); }

Metric parse_metric(const std::string& text) {
  const size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  const MetricDef* def = find_def(measure::all(), name);
  if (!def) {
    std::vector<std::string> names = names_of(measure::all());
    std::ranges::sort(names);
    fail("there is no metric \"{}\"; there are {}{}", text, fmt::join(names, ", "), did_you_mean(name, names));
  }
  if (at == std::string::npos) return {def, def->default_k};
  if (def->default_k == 0) fail("metric {}: no number belongs after {}", text, name);
  int64_t k = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + at + 1, end, k);
  if (error != std::errc() || stop != end || k < 1 || k > kLargestK)
    fail("metric {}: a whole number from 1 to {} is expected after {}@", text, kLargestK, name);
  return {def, k};
}

void MetricSamples::add(const Answers& answers) {
  if (!metric_.fits(answers.kind))
    fail("metric {} is not one of {}: {}", metric_.name(), to_string(answers.kind), metric_.def->doc);
  check(answers);
  if (evidence_.samples > 0 && answers.width != evidence_.width)
    fail("the model gives {} numbers for a sample after {} for those before", answers.width, evidence_.width);
  evidence_.kind = answers.kind, evidence_.width = answers.width;
  if (metric_.def->at_once) {
    append(scores_, answers.scores), append(values_, answers.values), append(classes_, answers.classes);
    evidence_.samples += answers.samples;
    return;
  }
  const size_t before = evidence_.rows.size();
  metric_.def->observe(answers, metric_.k, evidence_);
  for (size_t i = before; i < evidence_.rows.size(); ++i) evidence_.rows[i].sample += evidence_.samples;
  evidence_.samples += answers.samples;
}

Evidence MetricSamples::finish() {
  if (metric_.def->at_once && evidence_.samples > 0)
    metric_.def->observe({.kind = evidence_.kind,
                          .samples = evidence_.samples,
                          .width = evidence_.width,
                          .scores = scores_,
                          .classes = classes_,
                          .values = values_},
                         metric_.k, evidence_);
  if (evidence_.counted == 0) fail("metric {}: none of the {} samples counts", metric_.name(), evidence_.samples);
  if (metric_.def->prepare) metric_.def->prepare(evidence_);
  return std::move(evidence_);
}

}  // namespace hone

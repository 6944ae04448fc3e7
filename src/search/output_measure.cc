#include "search/output_measure.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

std::vector<std::vector<float>> values_of(const std::vector<Tensor>& outputs) {
  std::vector<std::vector<float>> values;
  for (const Tensor& output : outputs) values.push_back(output.to_floats());
  return values;
}

struct Sums {
  double error = 0, reference = 0;
  double relative() const {
    if (!std::isfinite(error)) return INFINITY;
    return reference > 0 ? error / reference : error > 0 ? INFINITY : 0;
  }
  Sums& operator+=(const Sums& other) {
    error += other.error, reference += other.reference;
    return *this;
  }
};

Sums sums_of(std::span<const float> reference, std::span<const float> result) {
  Sums sums;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double r = reference[i], d = result[i] - r;
    sums.error += d * d, sums.reference += r * r;
  }
  return sums;
}

// Of equal parts of an output. Results whose size depends on data may have another one in the changed model: as far
// apart as can be.
std::vector<Sums> sums_of_parts(std::span<const float> reference, std::span<const float> result, size_t parts) {
  if (reference.size() != result.size()) return std::vector<Sums>(parts, Sums{INFINITY, 1});
  std::vector<Sums> sums;
  const size_t size = reference.size() / parts;
  for (size_t p = 0; p < parts; ++p)
    sums.push_back(sums_of(reference.subspan(p * size, size), result.subspan(p * size, size)));
  return sums;
}

// The mean over the outputs of their relative errors, and its interval from what each part adds to it: a ratio of sums
// varies as the sum of (error - ratio * reference) / reference does, to first order.
OutputDistance distance_of(const std::vector<std::vector<Sums>>& parts) {  // by output
  OutputDistance distance;
  const auto outputs = static_cast<double>(parts.size());
  std::vector<double> added(parts[0].size(), 0.0);
  for (const std::vector<Sums>& of_output : parts) {
    Sums all;
    for (const Sums& s : of_output) all += s;
    const double relative = all.relative(), n = static_cast<double>(of_output.size());
    distance.error += relative / outputs;
    if (!(all.reference > 0) || !std::isfinite(relative)) continue;
    for (size_t p = 0; p < of_output.size(); ++p)
      added[p] += (of_output[p].error - relative * of_output[p].reference) / (all.reference / n) / outputs;
  }
  if (std::isnan(distance.error)) distance.error = INFINITY;
  distance.error_ci95 = {0, INFINITY};
  if (!std::isfinite(distance.error)) return distance;
  for (double& a : added) a += distance.error;
  const Interval ci95 = mean_interval(added);
  distance.error_ci95 = {std::max(0.0, ci95.low), ci95.high};
  return distance;
}

}  // namespace

OutputMeasure::OutputMeasure(const Graph& reference, std::vector<NamedTensors> batches, std::optional<OutputTask> task,
                             SessionOptions options)
    : batches_(std::move(batches)), task_(std::move(task)), options_(std::move(options)) {
  if (batches_.empty()) fail("the calibration data is empty; at least one batch is needed");
  SessionOptions exact = options_;
  exact.compute = Compute::f32;
  Session session(reference, exact);
  for (size_t b = 0; b < batches_.size(); ++b) {
    const std::vector<Tensor> outputs = session.run(batches_[b]);
    if (outputs.empty()) fail("the model has no outputs that could be compared");
    if (b == 0 && task_) judged_output_ = task_->output(session.output_names(), outputs);
    widths_.emplace_back();
    for (const Tensor& output : outputs) widths_.back().push_back(output.shape().empty() ? 1 : output.shape().back());
    reference_.push_back(values_of(outputs));
    const int64_t samples = samples_of(b);
    for (const Tensor& output : outputs)
      by_sample_ &= samples > 0 && !output.shape().empty() && output.dim(0) == samples;
  }
  if (task_)
    reference_evidence_ =
        evidence_of([&](size_t b) -> const std::vector<float>& { return reference_[b][judged_output_]; });
}

int64_t OutputMeasure::samples_of(size_t batch) const {
  const NamedTensors& inputs = batches_[batch];
  return inputs.empty() || inputs.begin()->second.shape().empty() ? 0 : inputs.begin()->second.dim(0);
}

// `values_of(batch)`: of the judged output. Of a changed model a result whose size depends on data may have another
// one: then as wrong as can be.
template <class ValuesOf>
Evidence OutputMeasure::evidence_of(ValuesOf values_of) const {
  const size_t sides = is_of_pairs(task_->judged) ? 2 : 1;
  Judge judge(task_->judged, {&task_->metric, 1});
  const auto expected = [&](size_t batch) -> std::vector<float> {
    const std::vector<float>& values = values_of(batch);
    const size_t size = reference_[batch][judged_output_].size();
    return values.size() == size ? values : std::vector<float>(size, NAN);
  };
  for (size_t b = 0; b + sides <= batches_.size(); b += sides)
    judge.add(task_->right[b / sides], samples_of(b), widths_[b][judged_output_], expected(b),
              sides == 2 ? expected(b + 1) : std::vector<float>());
  return judge.finish()[0];
}

OutputDistance OutputMeasure::operator()(Graph model, size_t batches) const {
  if (batches == 0 || batches > batches_.size()) batches = batches_.size();
  Session session(std::move(model), options_);
  std::vector<std::vector<Sums>> sums(reference_[0].size());
  std::vector<std::vector<float>> answers;  // of the judged output
  for (size_t b = 0; b < batches; ++b) {
    Values values = values_of(session.run(batches_[b]));
    for (size_t o = 0; o < values.size(); ++o) {
      const std::vector<Sums> parts = sums_of_parts(reference_[b][o], values[o], parts_of(b));
      sums[o].insert(sums[o].end(), parts.begin(), parts.end());
    }
    if (task_) answers.push_back(std::move(values[judged_output_]));
  }
  OutputDistance distance = distance_of(sums);
  if (!task_ || batches < batches_.size()) return distance;  // of a part only the distance is asked for
  const Evidence evidence = evidence_of([&](size_t b) -> const std::vector<float>& { return answers[b]; });
  distance.figure = estimate(task_->metric, evidence);
  if (task_->differences) distance.difference = difference(task_->metric, reference_evidence_, evidence);
  return distance;
}

// Of a batch, for intervals: its samples, or the batch as a whole.
size_t OutputMeasure::parts_of(size_t batch) const { return by_sample_ ? static_cast<size_t>(samples_of(batch)) : 1; }

OutputDistance OutputMeasure::of_reference() const {
  OutputDistance distance{.error = 0, .error_ci95 = {0, 0}};
  if (task_) distance.figure = estimate(task_->metric, reference_evidence_);
  return distance;
}

}  // namespace hone

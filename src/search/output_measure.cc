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

int64_t right_rows(std::span<const float> scores, int64_t width, std::span<const int64_t> labels) {
  int64_t right = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const auto begin = scores.begin() + static_cast<ptrdiff_t>(row) * width;
    const bool is_number = std::none_of(begin, begin + width, [](float x) { return std::isnan(x); });
    right += is_number && std::max_element(begin, begin + width) - begin == labels[row];
  }
  return right;
}

}  // namespace

OutputMeasure::OutputMeasure(const Graph& reference, std::vector<NamedTensors> batches, std::vector<int64_t> labels,
                             SessionOptions options)
    : batches_(std::move(batches)), labels_(std::move(labels)), options_(std::move(options)) {
  if (batches_.empty()) fail("the calibration data is empty; at least one batch is needed");
  SessionOptions exact = options_;
  exact.compute = Compute::f32;
  Session session(reference, exact);
  int64_t rows = 0;
  for (const NamedTensors& batch : batches_) {
    const std::vector<Tensor> outputs = session.run(batch);
    if (outputs.empty()) fail("the model has no outputs that could be compared");
    widths_.emplace_back();
    for (const Tensor& output : outputs) widths_.back().push_back(output.shape().empty() ? 1 : output.shape().back());
    if (outputs[0].shape().size() == 2 && outputs[0].dim(1) > 0) rows += outputs[0].dim(0);
    reference_.push_back(values_of(outputs));
    const int64_t samples = batch.empty() || batch.begin()->second.shape().empty() ? 0 : batch.begin()->second.dim(0);
    for (const Tensor& output : outputs)
      by_sample_ &= samples > 0 && !output.shape().empty() && output.dim(0) == samples;
  }
  if (!labels_.empty() && rows != static_cast<int64_t>(labels_.size()))
    fail("{} labels for {} rows [rows, classes] of the output \"{}\"", labels_.size(), rows, session.output_names()[0]);
}

// Of the rows of the first output of the batches before.
void OutputMeasure::count(size_t batch, std::span<const float> scores, Score& score) const {
  if (labels_.empty()) return;
  const int64_t width = widths_[batch][0];
  const size_t rows = scores.size() / static_cast<size_t>(width);
  score.right += right_rows(scores, width, std::span(labels_).subspan(score.rows, rows));
  score.rows += rows;
}

OutputDistance OutputMeasure::operator()(Graph model, size_t batches) const {
  if (batches == 0 || batches > batches_.size()) batches = batches_.size();
  Session session(std::move(model), options_);
  std::vector<std::vector<Sums>> sums(reference_[0].size());
  Score score;
  for (size_t b = 0; b < batches; ++b) {
    const std::vector<std::vector<float>> values = values_of(session.run(batches_[b]));
    for (size_t o = 0; o < values.size(); ++o) {
      const std::vector<Sums> parts = sums_of_parts(reference_[b][o], values[o], parts_of(b));
      sums[o].insert(sums[o].end(), parts.begin(), parts.end());
    }
    count(b, values[0].size() == reference_[b][0].size() ? values[0] : std::vector<float>(reference_[b][0].size(), NAN),
          score);
  }
  OutputDistance distance = distance_of(sums);
  distance.accuracy = score.share();
  return distance;
}

// Of a batch, for intervals: its samples, or the batch as a whole.
size_t OutputMeasure::parts_of(size_t batch) const {
  return by_sample_ ? static_cast<size_t>(batches_[batch].begin()->second.dim(0)) : 1;
}

Interval OutputMeasure::accuracy_interval(double accuracy) const {
  return share_interval(accuracy, static_cast<double>(labels_.size()));
}

OutputDistance OutputMeasure::of_reference() const {
  Score score;
  for (size_t b = 0; b < batches_.size(); ++b) count(b, reference_[b][0], score);
  return {.error = 0, .error_ci95 = {0, 0}, .accuracy = score.share()};
}

}  // namespace hone

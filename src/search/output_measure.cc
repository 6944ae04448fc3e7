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
    if (std::isinf(error)) return INFINITY;
    return reference > 0 ? error / reference : error > 0 ? INFINITY : 0;
  }
};

// Results whose size depends on data may have another one in the changed model: as far apart as can be.
void add(Sums& sums, std::span<const float> reference, std::span<const float> result) {
  if (reference.size() != result.size()) {
    sums.error = INFINITY;
    return;
  }
  for (size_t i = 0; i < reference.size(); ++i) {
    const double r = reference[i], d = result[i] - r;
    sums.error += d * d, sums.reference += r * r;
  }
}

int64_t right_rows(std::span<const float> scores, int64_t width, std::span<const int64_t> labels) {
  int64_t right = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const auto begin = scores.begin() + static_cast<ptrdiff_t>(row) * width;
    right += std::max_element(begin, begin + width) - begin == labels[row];
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
  std::vector<Sums> sums(reference_[0].size());
  Score score;
  for (size_t b = 0; b < batches; ++b) {
    const std::vector<std::vector<float>> values = values_of(session.run(batches_[b]));
    for (size_t o = 0; o < values.size(); ++o) add(sums[o], reference_[b][o], values[o]);
    count(b, values[0], score);
  }
  OutputDistance distance{.accuracy = score.share()};
  for (const Sums& s : sums) distance.error += s.relative() / static_cast<double>(sums.size());
  if (std::isnan(distance.error)) distance.error = std::numeric_limits<double>::infinity();
  return distance;
}

OutputDistance OutputMeasure::of_reference() const {
  Score score;
  for (size_t b = 0; b < batches_.size(); ++b) count(b, reference_[b][0], score);
  return {.accuracy = score.share()};
}

}  // namespace hone

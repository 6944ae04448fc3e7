#include "allocate/output_measure.h"

#include <cmath>

#include "base/error.h"
#include "measure/quality.h"

namespace hone {
namespace {

std::vector<std::vector<float>> values_of(const std::vector<Tensor>& outputs) {
  std::vector<std::vector<float>> values;
  for (const Tensor& output : outputs) values.push_back(output.to_floats());
  return values;
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
  for (size_t b = 0; b + sides <= batches_.size(); b += sides) {
    RightAnswers right = task_->right[b / sides];
    if (task_->metric.fits(TargetKind::answers)) right.values = reference_[b][judged_output_];
    judge.add(right, samples_of(b), widths_[b][judged_output_], expected(b),
              sides == 2 ? expected(b + 1) : std::vector<float>());
  }
  return judge.finish()[0];
}

OutputDistance OutputMeasure::operator()(Graph model, size_t batches) const {
  if (batches == 0 || batches > batches_.size()) batches = batches_.size();
  Session session(std::move(model), options_);
  std::vector<std::vector<SquaredError>> errors(reference_[0].size());
  std::vector<std::vector<float>> answers;  // of the judged output
  for (size_t b = 0; b < batches; ++b) {
    Values values = values_of(session.run(batches_[b]));
    for (size_t o = 0; o < values.size(); ++o) {
      const std::vector<SquaredError> parts = squared_errors(reference_[b][o], values[o], parts_of(b));
      errors[o].insert(errors[o].end(), parts.begin(), parts.end());
    }
    if (task_) answers.push_back(std::move(values[judged_output_]));
  }
  const RelativeError error = relative_error(errors);
  OutputDistance distance{.error = error.mean, .error_ci95 = error.ci95};
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

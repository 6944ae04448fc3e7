#include "jobs/agreement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "measure/neighbours.h"

namespace hone {
namespace {

constexpr int64_t kFewestRows = 3;  // with two, the nearest other row is always the same

// A mean over rows or images, which is what all figures here are. `is_share`: of zeros and ones.
Estimate mean_estimate(const Evidence& evidence, bool is_share, uint64_t seed) {
  const MetricDef mean{.name = "mean",
                       .title = "mean",
                       .doc = "",
                       .targets = 0,
                       .is_share = is_share,
                       .observe = nullptr,
                       .value = mean_of};
  return estimate({&mean}, evidence, seed);
}

Evidence by_row(const std::vector<double>& values) {
  Evidence evidence{.samples = std::ssize(values), .rows = {}, .counted = std::ssize(values)};
  for (size_t i = 0; i < values.size(); ++i) evidence.rows.push_back({static_cast<int64_t>(i), values[i], 1});
  return evidence;
}

// Of 0 of 0, all agree.
Estimate share_of_boxes(Evidence evidence, uint64_t seed) {
  Estimate share = mean_estimate(evidence, false, seed);
  const bool any = std::ranges::any_of(evidence.rows, [](const Evidence::Row& row) { return row.b > 0; });
  if (!any) share.value = 1, share.ci95.reset();
  return share;
}

void append(std::vector<float>& all, const Tensor& more) {
  const std::vector<float> values = more.to_floats();
  all.insert(all.end(), values.begin(), values.end());
}

}  // namespace

AnswerForm parse_answer_form(const std::string& text) {
  const std::vector<std::string> names{"by-name", "classes", "embeddings", "boxes"};
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    fail("answers as \"{}\": there are {}{}", text, fmt::join(names, ", "), did_you_mean(text, names));
  return static_cast<AnswerForm>(found - names.begin());
}

AgreementMeter::AgreementMeter(const std::vector<std::string>& reference, const std::vector<std::string>& candidate,
                               const AgreementOptions& options)
    : names_(reference), options_(options), pairs_(reference.size()) {
  if (reference != candidate)
    fail("the models' outputs differ: {} and {}", fmt::join(reference, ", "), fmt::join(candidate, ", "));
  if (options.form == AnswerForm::by_name || options.form == AnswerForm::boxes) boxes_ = find_boxes(reference);
  if (options.form == AnswerForm::boxes && !boxes_)
    fail("agreement of boxes: the outputs are {}; one of boxes and one of scores or logits are needed, by such names",
         fmt::join(reference, ", "));
}

void AgreementMeter::add_output(size_t output, const Tensor& reference, const Tensor& candidate) {
  Pair& pair = pairs_[output];
  const std::vector<int64_t>& shape = reference.shape();
  const int64_t width = shape.empty() ? 1 : shape.back();
  if (width == 0 || (!pair.reference.empty() && width != pair.width))
    fail("output \"{}\": rows of {} elements after rows of {}; agreement needs rows of one length above 0",
         names_[output], width, pair.width);
  if (shape != candidate.shape())
    fail("output \"{}\" is {} of one model and {} of the other", names_[output], to_string(reference.type()),
         to_string(candidate.type()));
  pair.width = width;
  pair.embedding = shape.size() == 2;
  append(pair.reference, reference);
  append(pair.candidate, candidate);
}

void AgreementMeter::add(const std::vector<Tensor>& reference, const std::vector<Tensor>& candidate) {
  for (size_t i = 0; i < names_.size(); ++i)
    if (!boxes_ || !boxes_->has(i)) add_output(i, reference[i], candidate[i]);
  if (!boxes_) return;
  const auto a = boxes_of(*boxes_, reference, options_.least_score),
             b = boxes_of(*boxes_, candidate, options_.least_score);
  if (a.size() != b.size()) fail("boxes of {} images from one model and of {} from the other", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const BoxMatches m = match_boxes(a[i], b[i], options_.least_iou);
    const auto matched = static_cast<double>(m.matched);
    precision_.rows.push_back({precision_.samples++, matched, static_cast<double>(m.candidate)});
    recall_.rows.push_back({recall_.samples++, matched, static_cast<double>(m.reference)});
    precision_.counted += m.candidate, recall_.counted += m.reference;
    matches_.reference += m.reference, matches_.candidate += m.candidate;
    matches_.matched += m.matched, matches_.iou += m.iou;
  }
}

bool AgreementMeter::is_classes(const std::string& name) const {
  return options_.form == AnswerForm::classes || (options_.form == AnswerForm::by_name && name == "logits");
}

OutputAgreement AgreementMeter::compare_output(const std::string& name, const Pair& pair) const {
  OutputAgreement result{.output = name,
                         .quality = compare(pair.reference, pair.candidate),
                         .cosine = row_cosine(pair.reference, pair.candidate, pair.width)};
  const auto rows = [&](RowValue value) {
    return by_row(row_values(pair.reference, pair.candidate, pair.width, value));
  };
  const int64_t others = result.cosine.rows - 1;
  if (is_classes(name)) {
    if (result.cosine.rows == 0) return result;
    result.same_class = mean_estimate(rows(is_same_class), true, options_.seed);
    result.divergence = mean_estimate(rows(divergence), false, options_.seed);
  } else if ((pair.embedding || options_.form == AnswerForm::embeddings) && result.cosine.rows >= kFewestRows) {
    const auto shared = [&](int64_t k) {
      return by_row(shared_neighbours(pair.reference, pair.candidate, pair.width, k));
    };
    result.same_neighbour = mean_estimate(shared(1), true, options_.seed).value;
    result.neighbours = std::clamp<int64_t>(others / 2, 1, options_.neighbours);
    result.shared_neighbours = mean_estimate(shared(result.neighbours), false, options_.seed);
  }
  return result;
}

Agreement AgreementMeter::finish() const {
  Agreement result;
  for (size_t i = 0; i < names_.size(); ++i)
    if (!boxes_ || !boxes_->has(i)) result.outputs.push_back(compare_output(names_[i], pairs_[i]));
  if (boxes_)
    result.boxes = {.precision = share_of_boxes(precision_, options_.seed),
                    .recall = share_of_boxes(recall_, options_.seed),
                    .matches = matches_,
                    .images = recall_.samples,
                    .least_score = options_.least_score,
                    .least_iou = options_.least_iou};
  return result;
}

Agreement agreement(Session& reference, Session& candidate, std::span<const NamedTensors> inputs,
                    const AgreementOptions& options) {
  AgreementMeter meter(reference.output_names(), candidate.output_names(), options);
  for (const NamedTensors& input : inputs) meter.add(reference.run(input), candidate.run(input));
  return meter.finish();
}

}  // namespace hone

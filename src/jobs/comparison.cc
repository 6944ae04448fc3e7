#include "jobs/comparison.h"

#include "measure/claim.h"

namespace hone {

Comparison compare(const Candidate& base, const Candidate& other, const Ratio& ratio, const SetUps& base_set_ups,
                   const SetUps& set_ups) {
  const std::vector<float> reference = base.outputs[0].to_floats(), result = other.outputs[0].to_floats();
  const int64_t width = base.outputs[0].shape().empty() ? 1 : base.outputs[0].shape().back();
  Comparison c{.ratio = ratio, .quality = compare(reference, result)};
  if (width > 1) c.top1 = top1_agreement(reference, result, width);
  c.may_claim = c.quality.cosine >= kLeastCosine;
  if (!c.may_claim) {
    c.verdict = fmt::format("no speed claimed: its output is another (cosine {:.3f}; at least {} is asked for)",
                            c.quality.cosine, kLeastCosine);
    return c;
  }
  c.verdict = verdict(ratio);
  c.pays = break_even(base_set_ups, set_ups, ratio);
  return c;
}

}  // namespace hone

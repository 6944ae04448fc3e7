// How the codes of a packed weight are chosen. Plain rounding takes the nearest code under the scales of the format's
// rule; with statistics of what the weight is multiplied with, the error of the layer's output can be made smaller.
#pragma once

#include <span>
#include <string>

#include "base/options.h"
#include "formats/format.h"
#include "ir/statistics.h"
#include "ir/tensor.h"
#include "passes/compress/gptq.h"

namespace hone {

// Options of the pass round_weights.
struct RoundingOptions : GptqOptions {
  // nearest       pack()
  // scale-search  scales that make the squared error of each group's product smallest (formats/scale_search.h), for
  //               inputs of mean and variance as in the statistics; those of nearest where, by the second moments, the
  //               layer's output is then nearer
  // gptq          those scales, and codes that make up for each other's errors (gptq.h); needs second moments
  std::string method = "nearest";
  static constexpr const char* kPass = "round_weights";
  static std::span<const OptionField<RoundingOptions>> fields();
};
void check_rounding(const RoundingOptions& options);  // throws Error for what is not accepted

// The weight, a plain or packed matrix [N, K] (of any rank for `nearest` and where there are no statistics), packed in
// `format`. Plain formats (fp16, bf16) and weights that hold NaN or infinity are rounded to nearest. Throws Error for
// statistics of another K, and for gptq without second moments.
Tensor round_weight(const Tensor& weight_matrix, const Format& format, const LayerStatistics* statistics,
                    const RoundingOptions& options);

}  // namespace hone

// How the codes of a packed weight are chosen. Plain rounding takes the nearest code under the scales of the format's
// rule; with statistics of what the weight is multiplied with, the error of the layer's output can be made smaller.
#pragma once

#include <string>

#include "formats/format.h"
#include "ir/statistics.h"
#include "ir/tensor.h"
#include "passes/gptq.h"

namespace hone {

struct RoundingOptions {
  // nearest       pack()
  // scale-search  scales that make the squared error of each group's product smallest (formats/scale_search.h), for
  //               inputs of mean and variance as in the statistics; those of nearest where, by the second moments, the
  //               layer's output is then nearer
  // gptq          those scales, and codes that make up for each other's errors (gptq.h); needs second moments
  std::string method = "nearest";
  GptqOptions gptq;
};
void check_rounding_method(const std::string& method);  // throws Error for an unknown one

// The weight, a plain or packed matrix [N, K] (of any rank for `nearest` and where there are no statistics), packed in
// `format`. Plain formats (fp16, bf16) and weights that hold NaN or infinity are rounded to nearest. Throws Error for
// statistics of another K, and for gptq without second moments.
Tensor round_weight(const Tensor& weight_matrix, const Format& format, const LayerStatistics* statistics,
                    const RoundingOptions& options);

}  // namespace hone

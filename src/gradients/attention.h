// The gradients of attention by products of whole matrices, for where no kernel computes them row by row.
#pragma once

#include "gradients/gradient.h"

namespace hone {

struct AttentionOperands {
  ValueId q, k, v, mask, d;  // mask: kNone for none; d: the gradient of the result
  ValueId sinks = kNone;
};
struct AttentionGradients {
  ValueId q, k, v, scores;  // scores [B,H,S,T]: what the mask is added to
  ValueId sinks = kNone;    // [H], where there are some
};

// `attributes` are those of attention.
AttentionGradients expanded_attention_gradient(Graph& graph, const AttentionOperands& operands,
                                               const Attributes& attributes);

}  // namespace hone

// Which codes are multiplied block by block of K, each block with scales of its own (docs/FORMATS.md, section 11.5).
#pragma once

#include <string>

#include "formats/format.h"
#include "ir/dim.h"

namespace hone {

// Why w [N,K] has no integers and scales for that, or activations x [..., K] of rank `x_rank` have none; empty where
// they have. Weights of one scale, or one for each output, count.
std::string no_block_weights(const Format& w);
std::string no_block_activations(const Format& x, int x_rank);

// Of what is accepted: one scale for w as a whole, or for each output.
bool has_scale_of_rows(const Format& w);

// How K falls into blocks, which are `length` long but the last. A scale of w covers `per_weight_scale` of them.
struct KBlocks {
  int64_t k = 0, length = 0, per_weight_scale = 1;

  int64_t count() const { return (k + length - 1) / length; }
  int64_t weight_scales() const { return (count() + per_weight_scale - 1) / per_weight_scale; }  // of an output
};
// `x`: null for codes whose scales are applied elsewhere. Throws Error where the two do not fit.
KBlocks k_blocks(const Format* x, const Format& w, int64_t k);

}  // namespace hone

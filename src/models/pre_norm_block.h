// The pre-norm block of transformers, as in ViT, CLIP and Whisper: y = x + attention(norm(x)), then y + mlp(norm(y)).
#pragma once

#include <string>

#include "models/transformer.h"

namespace hone {

struct PreNormBlock {
  int64_t hidden, heads, intermediate;
  double epsilon;
  std::string activation;
  // Names of the weights.
  std::string attention_norm, query, key, value, attention_output, mlp_norm, up, down;
  std::string attention_scale = {}, mlp_scale = {};  // f32[hidden] that the branches are multiplied by; "": none
  bool query_bias = true, key_bias = true, value_bias = true;
  bool gated = false;   // `up` gives gate and values, 2 * intermediate: silu(gate) * values
  bool causal = false;  // a token sees itself and those before it
  std::string label;    // in names of values: "layer0"
};

// mask: what is added to the scores; kNone: nothing.
ValueId pre_norm_block(TransformerBuilder& builder, ValueId x, ValueId mask, const PreNormBlock& block);

}  // namespace hone

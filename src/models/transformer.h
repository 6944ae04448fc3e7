// Parts of transformers that several families share, with weights as Hugging Face names them.
#pragma once

#include <string>

#include "models/layers.h"

namespace hone {

class TransformerBuilder : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  ValueId layer_norm(ValueId x, const std::string& name, int64_t columns, double epsilon,
                     const std::string& result = "");
  ValueId unbiased_layer_norm(ValueId x, const std::string& name, int64_t columns, double epsilon,
                              const std::string& result = "");
  // Rows of table NAME.weight[rows,columns] as f32.
  ValueId embedding(ValueId ids, const std::string& name, int64_t rows, int64_t columns);

  // Positions 0 .. length-1 (i64) of a model that knows `limit` positions: binding a longer length is an Error that
  // names both.
  ValueId positions(const Dim& length, int64_t limit);

  ValueId all_tokens();            // the mask i64[B,S] of sentences without padding
  ValueId first_token(ValueId x);  // [B,S,...] → [B,...]

  // What to add to attention scores so that keys whose mask (i64[B,S]) is 0 get no weight: f32[B,1,1,S], 0 or the
  // lowest f32.
  ValueId additive_mask(ValueId mask);
};

// One post-norm encoder block, as in BERT: y = norm(x + attention(x)), then norm(y + down(act(up(y)))).
struct EncoderBlock {
  int64_t hidden, heads, intermediate;
  double epsilon;
  std::string activation;
  std::string query, key, value, attention_output, attention_norm, up, down, output_norm;  // names of the weights
  std::string label;  // in names of values: "layer0"
};
ValueId encoder_block(TransformerBuilder& builder, ValueId x, ValueId mask, const EncoderBlock& block);

// The block's part after attention, whose result is `context`.
ValueId after_attention(TransformerBuilder& builder, ValueId x, ValueId context, const EncoderBlock& block);

}  // namespace hone

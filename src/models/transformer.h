// Parts of transformers that several families share, emitted into a graph. Weights are asked for as they are used,
// under the names that Hugging Face files give them: NAME.weight and NAME.bias.
#pragma once

#include <string>
#include <vector>

#include "models/registry.h"

namespace hone {

class TransformerBuilder {
 public:
  TransformerBuilder(Graph& graph, const ModelRequest& request) : graph_(graph), request_(request) {}

  Graph& graph() { return graph_; }
  bool has_weight(const std::string& name) const { return request_.has_weight && request_.has_weight(name); }
  ValueId weight(const std::string& name, const std::vector<int64_t>& shape);

  // x[...,inputs] → f32[...,outputs]
  ValueId linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs, const std::string& result = "");
  ValueId layer_norm(ValueId x, const std::string& name, int64_t columns, double epsilon,
                     const std::string& result = "");
  // Rows of table NAME.weight[rows,columns] as f32.
  ValueId embedding(ValueId ids, const std::string& name, int64_t rows, int64_t columns);
  ValueId as_f32(ValueId x);  // x itself when it is

  // Positions 0 .. length-1 (i64) of a model that knows `limit` positions: binding a longer length is an Error that
  // names both.
  ValueId positions(const Dim& length, int64_t limit);

  // What to add to attention scores so that keys whose mask (i64[B,S]) is 0 get no weight: f32[B,1,1,S], 0 or the
  // lowest f32.
  ValueId additive_mask(ValueId mask);

  // The activation that config.json calls `name`; Error for unknown names.
  ValueId activation(ValueId x, const std::string& name, const std::string& source);

 private:
  Graph& graph_;
  const ModelRequest& request_;
};

// One post-norm encoder block, as in BERT: y = norm(x + attention(x)), then norm(y + down(act(up(y)))).
struct EncoderBlock {
  int64_t hidden, heads, intermediate;
  double epsilon;
  std::string activation;
  std::string query, key, value, attention_output, attention_norm, up, down, output_norm;  // names of the weights
  std::string label;  // in names of values: "layer0"
};
ValueId encoder_block(TransformerBuilder& builder, ValueId x, ValueId mask, const EncoderBlock& block,
                      const std::string& source);

}  // namespace hone

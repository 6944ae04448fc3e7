#include "models/transformer.h"

#include <limits>

#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/cast.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"

namespace hone {

ValueId TransformerBuilder::layer_norm(ValueId x, const std::string& name, int64_t columns, double epsilon,
                                       const std::string& result) {
  const ValueId w = weight(name + ".weight", {columns}), b = weight(name + ".bias", {columns});
  return ops::layer_norm(graph(), {.x = x, .weight = as_f32(w), .bias = as_f32(b), .epsilon = epsilon}, result);
}

ValueId TransformerBuilder::unbiased_layer_norm(ValueId x, const std::string& name, int64_t columns, double epsilon,
                                                const std::string& result) {
  const ValueId w = weight(name + ".weight", {columns});
  return ops::layer_norm(graph(), {.x = x, .weight = as_f32(w), .epsilon = epsilon}, result);
}

ValueId TransformerBuilder::embedding(ValueId ids, const std::string& name, int64_t rows, int64_t columns) {
  const ValueId table = weight(name + ".weight", {rows, columns});
  return as_f32(ops::gather(graph(), {.table = table, .indices = ids}));
}

ValueId TransformerBuilder::positions(const Dim& length, int64_t limit) {
  const ValueId all = ops::iota(graph(), {.shape = Shape{limit}}, "all_positions");
  return ops::slice(graph(), {.x = all, .starts = Shape{0}, .ends = Shape{length}}, "positions");
}

ValueId TransformerBuilder::all_tokens() {
  const Shape shape{Dim::symbol("B"), Dim::symbol("S")};
  return ops::full(graph(), {.shape = shape, .value = 1.0, .dtype = DType::i64}, "all_ones");
}

ValueId TransformerBuilder::first_token(ValueId x) {
  const ValueId first =
      ops::slice(graph(), {.x = x, .starts = Shape{0}, .ends = Shape{1}, .axes = std::vector<int64_t>{1}});
  return ops::squeeze(graph(), {.x = first, .axes = std::vector<int64_t>{1}}, "first_token");
}

ValueId TransformerBuilder::additive_mask(ValueId mask) {
  const ValueId kept = ops::cast(graph(), {.x = mask, .dtype = DType::f32});
  const ValueId dropped = ops::sub(graph(), {graph().add_scalar(1.0f), kept});
  const ValueId lowest = graph().add_scalar(std::numeric_limits<float>::lowest());
  const ValueId added = ops::mul(graph(), {dropped, lowest});
  return ops::unsqueeze(graph(), {.x = added, .axes = std::vector<int64_t>{1, 2}}, "mask");
}

ValueId encoder_block(TransformerBuilder& builder, ValueId x, ValueId mask, const EncoderBlock& block) {
  const auto named = [&](const char* part) { return block.label + "_" + part; };
  const int64_t hidden = block.hidden;
  const ValueId q = builder.linear(x, block.query, hidden, hidden, named("query"));
  const ValueId k = builder.linear(x, block.key, hidden, hidden, named("key"));
  const ValueId v = builder.linear(x, block.value, hidden, hidden, named("value"));
  const ValueId context =
      ops::attention(builder.graph(), {.q = q, .k = k, .v = v, .mask = mask, .heads = block.heads}, named("context"));
  return after_attention(builder, x, context, block);
}

ValueId after_attention(TransformerBuilder& builder, ValueId x, ValueId context, const EncoderBlock& block) {
  Graph& graph = builder.graph();
  const auto named = [&](const char* part) { return block.label + "_" + part; };
  const int64_t hidden = block.hidden;
  const ValueId mixed = builder.linear(context, block.attention_output, hidden, hidden, named("mixed"));
  const ValueId attended =
      builder.layer_norm(ops::add(graph, {mixed, x}), block.attention_norm, hidden, block.epsilon, named("attended"));
  const ValueId up = builder.linear(attended, block.up, hidden, block.intermediate, named("up"));
  const ValueId active = builder.activation(up, block.activation);
  const ValueId down = builder.linear(active, block.down, block.intermediate, hidden, named("down"));
  return builder.layer_norm(ops::add(graph, {down, attended}), block.output_norm, hidden, block.epsilon,
                            named("output"));
}

}  // namespace hone

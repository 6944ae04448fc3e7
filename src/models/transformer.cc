#include "models/transformer.h"

#include <array>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "ops/registry.h"

namespace hone {

ValueId TransformerBuilder::weight(const std::string& name, const std::vector<int64_t>& shape) {
  const ValueId known = graph_.find_constant(name);
  if (known != kNone) return known;
  const Tensor tensor = request_.weights(name, shape);
  if (!is_float(tensor.dtype()))
    fail("{}: weight \"{}\" holds {}; accepted: f64, f32, f16, bf16", request_.source, name, to_string(tensor.dtype()));
  return graph_.add_constant(name, tensor);
}

ValueId TransformerBuilder::as_f32(ValueId x) {
  return graph_.type(x).dtype == DType::f32 ? x : graph_.emit(ops::get("cast"), {x}, {{"dtype", DType::f32}});
}

ValueId TransformerBuilder::linear(ValueId x, const std::string& name, int64_t inputs, int64_t outputs,
                                   const std::string& result) {
  const ValueId w = weight(name + ".weight", {outputs, inputs}), b = weight(name + ".bias", {outputs});
  return graph_.emit(ops::get("linear"), {x, w, b}, {}, result);
}

ValueId TransformerBuilder::layer_norm(ValueId x, const std::string& name, int64_t columns, double epsilon,
                                       const std::string& result) {
  const ValueId w = weight(name + ".weight", {columns}), b = weight(name + ".bias", {columns});
  return graph_.emit(ops::get("layer_norm"), {x, as_f32(w), as_f32(b)}, {{"epsilon", epsilon}}, result);
}

ValueId TransformerBuilder::embedding(ValueId ids, const std::string& name, int64_t rows, int64_t columns) {
  const ValueId table = weight(name + ".weight", {rows, columns});
  return as_f32(graph_.emit(ops::get("gather"), {table, ids}));
}

ValueId TransformerBuilder::positions(const Dim& length, int64_t limit) {
  const ValueId all = graph_.emit(ops::get("iota"), {}, {{"shape", Shape{limit}}}, "all_positions");
  return graph_.emit(ops::get("slice"), {all}, {{"starts", Shape{0}}, {"ends", Shape{length}}}, "positions");
}

ValueId TransformerBuilder::additive_mask(ValueId mask) {
  const ValueId kept = graph_.emit(ops::get("cast"), {mask}, {{"dtype", DType::f32}});
  const ValueId dropped = graph_.emit(ops::get("sub"), {graph_.add_scalar(1.0f), kept});
  const ValueId lowest = graph_.add_scalar(std::numeric_limits<float>::lowest());
  const ValueId added = graph_.emit(ops::get("mul"), {dropped, lowest});
  return graph_.emit(ops::get("unsqueeze"), {added}, {{"axes", std::vector<int64_t>{1, 2}}}, "mask");
}

ValueId TransformerBuilder::activation(ValueId x, const std::string& name, const std::string& source) {
  struct Known {
    const char *name, *op, *approximate;
  };
  static constexpr std::array<Known, 9> known{{{"gelu", "gelu", "none"},
                                               {"gelu_new", "gelu", "tanh"},
                                               {"gelu_fast", "gelu", "tanh"},
                                               {"gelu_pytorch_tanh", "gelu", "tanh"},
                                               {"relu", "relu", ""},
                                               {"silu", "silu", ""},
                                               {"swish", "silu", ""},
                                               {"tanh", "tanh", ""},
                                               {"sigmoid", "sigmoid", ""}}};
  std::vector<std::string> names;
  for (const Known& k : known) {
    names.emplace_back(k.name);
    if (name != k.name) continue;
    Attributes attributes;
    if (*k.approximate) attributes.set("approximate", std::string(k.approximate));
    return graph_.emit(ops::get(k.op), {x}, attributes);
  }
  std::string list;
  for (const std::string& each : names) list += (list.empty() ? "" : ", ") + each;
  fail("{}: activation \"{}\" is not known; accepted: {}{}", source, name, list, did_you_mean(name, names));
}

ValueId encoder_block(TransformerBuilder& builder, ValueId x, ValueId mask, const EncoderBlock& block,
                      const std::string& source) {
  Graph& graph = builder.graph();
  const auto named = [&](const char* part) { return block.label + "_" + part; };
  const int64_t hidden = block.hidden;
  const ValueId q = builder.linear(x, block.query, hidden, hidden, named("query"));
  const ValueId k = builder.linear(x, block.key, hidden, hidden, named("key"));
  const ValueId v = builder.linear(x, block.value, hidden, hidden, named("value"));
  const ValueId context =
      graph.emit(ops::get("attention"), {q, k, v, mask}, {{"heads", block.heads}}, named("context"));
  const ValueId mixed = builder.linear(context, block.attention_output, hidden, hidden, named("mixed"));
  const ValueId attended = builder.layer_norm(graph.emit(ops::get("add"), {mixed, x}), block.attention_norm, hidden,
                                              block.epsilon, named("attended"));
  const ValueId up = builder.linear(attended, block.up, hidden, block.intermediate, named("up"));
  const ValueId active = builder.activation(up, block.activation, source);
  const ValueId down = builder.linear(active, block.down, block.intermediate, hidden, named("down"));
  return builder.layer_norm(graph.emit(ops::get("add"), {down, attended}), block.output_norm, hidden, block.epsilon,
                            named("output"));
}

}  // namespace hone

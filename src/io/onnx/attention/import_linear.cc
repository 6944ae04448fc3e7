// Layers whose state is as large however long the sequence is: LinearAttention, CausalConvWithState.
#include "io/onnx/onnx_family.h"
#include "ops/calls/activations.h"
#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/full.h"
#include "ops/calls/linear_attention.h"
#include "ops/calls/slice.h"

namespace hone {
namespace {

struct UpdateRule {
  std::string_view name;
  bool decays, corrects;
};
constexpr UpdateRule kRules[] = {
    {"linear", false, false}, {"gated", true, false}, {"delta", false, true}, {"gated_delta", true, true}};

const UpdateRule& rule_of(const OnnxNode& n) {
  const std::string name = n.text("update_rule", "gated_delta");
  for (const UpdateRule& rule : kRules)
    if (rule.name == name) return rule;
  fail("update_rule is \"{}\"; accepted: linear, gated, delta, gated_delta", name);
}

std::vector<ValueId> import_linear_attention(OnnxNode& n) {
  const UpdateRule& rule = rule_of(n);
  if (n.has(4) != rule.decays) fail("update_rule \"{}\" {} decay", rule.name, rule.decays ? "needs" : "takes no");
  if (n.has(5) != rule.corrects) fail("update_rule \"{}\" {} beta", rule.name, rule.corrects ? "needs" : "takes no");
  Attributes attributes{{"heads", n.integer("q_num_heads")}, {"kv_heads", n.integer("kv_num_heads")}};
  if (n.number("scale", 0) != 0) attributes.set("scale", n.number("scale"));
  if (rule.corrects) attributes.set("delta", int64_t{1});
  return n.emit_all({&linear_attention_def,
                     {n.in(0), n.in(1), n.in(2), n.in_or_none(3), n.in_or_none(4), n.in_or_none(5)},
                     attributes});
}

// A depthwise convolution of what came before and x, [N,C,K-1+L].
std::vector<ValueId> import_causal_conv(OnnxNode& n) {
  const ValueId x = n.in(0), weights = n.in(1);
  if (n.rank(x) != 3 || n.rank(weights) != 3)
    fail("the input is {} and the weights are {}; expected [N,C,L] and [C,1,K]", to_string(n.type(x)),
         to_string(n.type(weights)));
  const Shape shape = n.type(x).shape;
  const Dim channels = n.type(weights).shape[0], before = n.type(weights).shape[2] - 1;
  if (!channels.is_constant()) n.unsupported("a number of channels that is known only when the model runs");
  const DType dtype = n.type(x).dtype;
  const ValueId past =
      n.has(3) ? n.in(3) : ops::full(n, {.shape = Shape{shape[0], shape[1], before}, .value = 0.0, .dtype = dtype});
  const ValueId all = ops::concat(n, {.inputs = {past, x}, .axis = 2});
  ValueId y = ops::conv(n, {.x = all, .w = weights, .b = n.in_or_none(2), .groups = channels.constant()});
  const std::string activation = n.text("activation", "none");
  if (activation == "silu" || activation == "swish") y = ops::silu(n, {y});
  else if (activation != "none") fail("activation is \"{}\"; accepted: none, silu, swish", activation);
  const Dim length = n.shape(all, 3)[2];
  const ValueId state = ops::slice(
      n, {.x = all, .starts = Shape{length - before}, .ends = Shape{length}, .axes = std::vector<int64_t>{2}});
  return {n.cast(y, dtype), state};
}

constexpr OnnxOperator kOperators[] = {
    {"CausalConvWithState", 27, import_causal_conv},
    {"LinearAttention", 27, import_linear_attention},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_linear_attention_def{.name = "linear_attention", .operators = kOperators};

}  // namespace hone

// Optionals: a tensor or a sequence, or nothing.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"dtype", AttributeKind::dtype, false, "of what could be inside where there is no operand"},
    {"sequence", AttributeKind::integer, false, "1: a sequence could be inside; default 0: a tensor"},
};

bool is_optional(Container container) {
  return container == Container::optional || container == Container::optional_sequence;
}

TensorType content_type(const InferArgs& a) {
  if (a.has(0)) return a[0];
  if (!a.attributes.has("dtype")) fail("there is neither an operand nor a dtype");
  const DType dtype = a.attributes.get<DType>("dtype");
  const bool of_sequence = a.attributes.get_or<int64_t>("sequence", 0) != 0;
  return of_sequence ? TensorType::of(Container::sequence, dtype) : TensorType::unranked(dtype);
}

std::vector<TensorType> infer_optional(const InferArgs& a) {
  const TensorType content = content_type(a);
  if (is_optional(content.container)) fail("operand 0 is {}; accepted: a tensor or a sequence", to_string(content));
  const bool of_sequence = content.container == Container::sequence;
  const int rank = !a.has(0) ? TensorType::kNoItems : of_sequence ? content.item_rank : content.rank_or_unknown();
  return {TensorType::of(of_sequence ? Container::optional_sequence : Container::optional, content.dtype, rank)};
}

std::vector<Tensor> eval_optional(const EvalArgs& a) {
  const bool of_sequence = a.results[0].container == Container::optional_sequence;
  const TensorType content = TensorType::of(of_sequence ? Container::sequence : Container::none, a.results[0].dtype);
  return {Tensor::optional(content, a.has(0) ? std::optional(plain(a[0])) : std::nullopt)};
}

std::vector<TensorType> infer_get(const InferArgs& a) {
  if (a[0].container == Container::optional) return {a[0].item()};
  if (a[0].container == Container::optional_sequence)
    return {TensorType::of(Container::sequence, a[0].dtype, a[0].item_rank)};
  return {a[0]};
}

std::vector<Tensor> eval_get(const EvalArgs& a) {
  if (!is_optional(a[0].container())) return {plain(a[0])};
  if (a[0].items().empty()) fail("the optional is empty; accepted: one with an element");
  return {a[0].items()[0]};
}

std::vector<Tensor> eval_has(const EvalArgs& a) {
  return {Tensor::scalar<bool>(a.has(0) && (!is_optional(a[0].container()) || !a[0].items().empty()))};
}

// Of anything but an optional it is known before it is there.
std::optional<Tensor> has_from_types(const InferArgs& a) {
  if (a.has(0) && is_optional(a[0].container)) return std::nullopt;
  return Tensor::scalar<bool>(a.has(0));
}

}  // namespace

extern constinit const OpDef optional_def{.name = "optional",
                                          .doc = "An optional that holds the operand?, or nothing.",
                                          .operands = {optional("x")},
                                          .attributes = kAttributes,
                                          .infer = infer_optional,
                                          .eval = eval_optional,
                                          .containers = true,
                                          .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef optional_get_element_def{
    .name = "optional_get_element",
    .doc = "What an optional holds; a tensor or a sequence as it is.",
    .infer = infer_get,
    .eval = eval_get,
    .containers = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef optional_has_element_def{
    .name = "optional_has_element",
    .doc = "Whether there is an operand and, if it is an optional, whether that holds something (bool).",
    .operands = {optional("x")},
    .infer = [](const InferArgs&) { return std::vector{plain_type(DType::boolean, {})}; },
    .eval = eval_has,
    .containers = true,
    .from_types = has_from_types,
    .no_gradient = "gradients are not followed through sequences and optionals"};

}  // namespace hone

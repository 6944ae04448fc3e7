// sequence_map: a body applied to each item of a sequence.
#include "ir/graph.h"
#include "ops/evaluate.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"inputs", AttributeKind::integer, true,
     "operands that are taken item by item where they are sequences; the others, captures, are taken whole"}};

const Graph& body_of(const std::vector<Graph>* subgraphs) {
  CHECK(subgraphs && subgraphs->size() == 1, "the body is missing");
  return subgraphs->front();
}

std::vector<TensorType> infer_map(const InferArgs& a) {
  const Graph& body = body_of(a.subgraphs);
  const auto inputs = a.attributes.get<int64_t>("inputs");
  if (inputs < 1 || inputs > std::ssize(a.operands))
    fail("inputs is {}; accepted: 1 to {}, the number of operands", inputs, a.operands.size());
  if (a[0].container != Container::sequence) fail("operand 0 is {}; accepted: a sequence", to_string(a[0]));
  if (body.inputs().size() != a.operands.size())
    fail("the body takes {} inputs; expected {}", body.inputs().size(), a.operands.size());
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!a.has(i)) fail("operand {} is absent", i);
    const bool is_mapped = static_cast<int64_t>(i) < inputs && a[i].container == Container::sequence;
    expect_body_input(body, i, is_mapped ? a[i].item() : a[i]);
  }
  std::vector<TensorType> types;
  for (const Output& output : body.outputs()) {
    const TensorType& type = body.type(output.value);
    if (type.container != Container::none) fail("the body gives {}; accepted: tensors", to_string(type));
    types.push_back(TensorType::of(Container::sequence, type.dtype, type.rank_or_unknown()));
  }
  return types;
}

std::vector<Tensor> eval_map(const EvalArgs& a) {
  const Graph& body = body_of(a.subgraphs);
  const auto inputs = static_cast<size_t>(a.attributes.get<int64_t>("inputs"));
  const auto is_mapped = [&](size_t i) { return i < inputs && a[i].container() == Container::sequence; };
  const size_t length = a[0].items().size();
  for (size_t i = 0; i < inputs; ++i)
    if (is_mapped(i) && a[i].items().size() != length)
      fail("operand {} has {} items; operand 0 has {}", i, a[i].items().size(), length);
  std::vector<std::vector<Tensor>> collected(a.results.size());
  for (size_t item = 0; item < length; ++item) {
    std::vector<Tensor> values;
    for (size_t i = 0; i < a.operands.size(); ++i) values.push_back(is_mapped(i) ? a[i].items()[item] : a[i]);
    std::vector<Tensor> results = evaluate_body(body, std::move(values), *a.bindings);
    for (size_t i = 0; i < results.size(); ++i) collected[i].push_back(std::move(results[i]));
  }
  std::vector<Tensor> sequences;
  for (size_t i = 0; i < collected.size(); ++i)
    sequences.push_back(Tensor::sequence(a.results[i].dtype, std::move(collected[i])));
  return sequences;
}

}  // namespace

extern constinit const OpDef sequence_map_def{
    .name = "sequence_map",
    .doc =
        "The body's results for each item, a sequence for each output. Operands: inputs of the body, of which the "
        "first is a sequence, then captures.",
    .operands = {"sequence", any_number("others")},
    .attributes = kAttributes,
    .results = -1,
    .infer = infer_map,
    .eval = eval_map,
    .bodies = 1,
    .containers = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};

}  // namespace hone

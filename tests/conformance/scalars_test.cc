// Every op on scalars, which have no last axis: what its shape rule accepts is computed as the reference does.
#include "base/error.h"
#include "ops/registry.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_cases.h"

namespace hone::test {
namespace {

Tensor first_element(const Tensor& tensor) {
  const auto bytes = static_cast<size_t>(size_bytes(tensor.dtype()));
  return Tensor(tensor.dtype(), {}, Buffer::copy_of(tensor.data().bytes().first(bytes)));
}

struct ScalarCall {
  Graph graph;
  NamedTensors inputs;
};

// The call with its first `count` operands as scalars; none where it is refused.
std::optional<ScalarCall> with_scalars(const OpDef& op, const OpCase& one, size_t count,
                                       const Attributes& attributes) try {
  ScalarCall call;
  std::vector<ValueId> operands;
  for (const std::optional<Tensor>& operand : one.operands) {
    if (!operand || operand->is_packed() || operand->container() != Container::none ||
        operand->dtype() == DType::string) {
      operands.push_back(operand ? call.graph.add_constant("", *operand) : kNone);
      continue;
    }
    const bool is_scalar = operands.size() < count && operand->elements() > 0;
    const std::string label = fmt::format("{}", operands.size());
    call.inputs[label] = is_scalar ? first_element(*operand) : *operand;
    operands.push_back(call.graph.add_input(label, call.inputs[label].type()));
  }
  const NodeId node = call.graph.add_node(op, operands, attributes);
  for (ValueId v : call.graph.node(node).results) call.graph.add_output(v, fmt::format("result {}", v));
  return call;
} catch (const Error&) {
  return std::nullopt;
}

class ScalarOp : public testing::TestWithParam<const OpDef*> {};

void expect_as_the_reference(const ScalarCall& call) {
  std::optional<std::vector<Bounded>> want;
  try {
    want = bounded_outputs(call.graph, call.inputs);
  } catch (const Error&) {
    EXPECT_THROW(run_session(call.graph, call.inputs, {}), Error);
    return;
  }
  const Ran ran = run_session(call.graph, call.inputs, {});
  for (size_t i = 0; i < want->size(); ++i) EXPECT_EQ(element_fault_of(ran.outputs[i], (*want)[i]), "");
}

TEST_P(ScalarOp, IsComputedOrRefusedAsTheReferenceDoes) {
  constexpr size_t kCalls = 4;
  Philox rng(1);
  const OpCases cases = cases_for(*GetParam(), rng);
  for (size_t i = 0; i < cases.size(); i += std::max<size_t>(1, cases.size() / kCalls))
    for (const Attributes& attributes : {cases[i].attributes, Attributes{}})
      for (size_t count : {size_t{1}, cases[i].operands.size()}) {
        SCOPED_TRACE(fmt::format("{}, {} scalars", cases[i].text(), count));
        if (const std::optional<ScalarCall> call = with_scalars(*GetParam(), cases[i], count, attributes))
          expect_as_the_reference(*call);
      }
}

INSTANTIATE_TEST_SUITE_P(Registry, ScalarOp, testing::ValuesIn(ops::all().begin(), ops::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace hone::test

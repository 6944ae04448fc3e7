// Every registered op on operands whose number of dimensions is known only as it runs: passes, exporters and sessions
// look at no axis of them, and give what the evaluation of the plain graph gives.
#include "io/onnx/export_model.h"
#include "io/onnx/onnx.pb.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_cases.h"

namespace hone::test {
namespace {

constexpr size_t kAll = 99;

struct Calls {
  Graph graph;
  NamedTensors inputs;
};

// The sample calls that the op accepts with operand `open` (or all) of unknown rank, side by side.
Calls calls_of(const OpDef& op, size_t open) {
  Calls calls;
  Philox rng(1);
  int number = 0;
  for (const OpCase& one : cases_for(op, rng)) {
    ++number;
    if (open != kAll && (open >= one.operands.size() || !one.operands[open])) continue;
    Calls tried = calls;
    std::vector<ValueId> operands;
    for (size_t i = 0; i < one.operands.size(); ++i) {
      const std::string label = fmt::format("{}.{}", number, i);
      if (!one.operands[i]) {
        operands.push_back(kNone);
        continue;
      }
      TensorType type = one.operands[i]->type();
      if (type.is_packed()) {
        operands.push_back(tried.graph.add_constant(label, *one.operands[i]));
        continue;
      }
      if ((open == kAll || open == i) && type.container == Container::none) type.ranked = false, type.shape.clear();
      operands.push_back(tried.graph.add_input(label, type));
      tried.inputs[label] = *one.operands[i];
    }
    try {
      const NodeId node = tried.graph.add_node(op, operands, one.attributes);
      for (size_t r = 0; r < tried.graph.node(node).results.size(); ++r)
        tried.graph.add_output(tried.graph.result(node, static_cast<int>(r)), fmt::format("{}.{}", number, r));
      calls = std::move(tried);
    } catch (const Error&) {  // the op needs the rank
    }
  }
  return calls;
}

void expect_close(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.container(), want.container()) << what;
  if (want.container() != Container::none || want.dtype() == DType::string) return;
  ASSERT_EQ(to_string(got.type()), to_string(want.type())) << what;
  const std::vector<double> a = got.to_doubles(), b = want.to_doubles();
  double largest = 0;
  for (double x : b)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), 1e-2 * largest) << what << " at " << i;  // in bf16 and f16 too
  }
}

class UnknownRank : public testing::TestWithParam<const OpDef*> {};

TEST_P(UnknownRank, ChangesNoResult) {
  size_t most = 0;
  Philox rng(1);
  for (const OpCase& one : cases_for(*GetParam(), rng)) most = std::max(most, one.operands.size());
  std::vector<size_t> places{kAll};
  for (size_t i = 0; i < most && most > 1; ++i) places.push_back(i);
  for (size_t open : places) {
    const Calls calls = calls_of(*GetParam(), open);
    if (calls.graph.outputs().empty()) continue;
    SCOPED_TRACE(open == kAll ? "all operands" : fmt::format("operand {}", open));
    const std::vector<Tensor> want = evaluate(calls.graph, calls.inputs);
    const Ran ran = run_session(calls.graph, calls.inputs, {});
    ASSERT_EQ(ran.outputs.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) expect_close(ran.outputs[i], want[i], ran.names[i]);
    try {
      OnnxExport made;
      onnx_model(calls.graph, {}, made);
    } catch (const Error&) {  // what ONNX can't hold
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, UnknownRank, testing::ValuesIn(ops::all().begin(), ops::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace hone::test

// Every rule, and every derivative of a pointwise op's expression, against differences; samples are those of
// tests/support/op_cases.h.
#include <gtest/gtest.h>

#include <set>

#include "gradients/registry.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/fake_quant.h"
#include "ops/calls/full.h"
#include "ops/registry.h"
#include "tests/support/gradient_check.h"
#include "tests/support/op_cases.h"

namespace hone {
namespace {

// Straight-through rules, which promise something else than the derivative, and have tests of their own.
bool is_straight_through(const OpDef& op) { return &op == &fake_quant_def || &op == &round_to_def; }

// A sample that its rule refuses.
bool is_refused(const OpCase& one) { return one.attributes.has("round_state"); }

std::vector<const OpDef*> ops_with_gradients() {
  std::vector<const OpDef*> found;
  for (const OpDef* op : ops::all())
    if (has_gradient(*op) && op->bodies == 0 && !is_straight_through(*op)) found.push_back(op);
  return found;
}

bool has_float(const OpCase& one, std::initializer_list<DType> dtypes) {
  return std::ranges::any_of(one.operands, [&](const std::optional<Tensor>& x) {
    return x && !x->is_packed() && std::ranges::count(dtypes, x->dtype()) > 0;
  });
}

// Samples with elements to differentiate by, those of small floats only where there are no others: all are made f64.
OpCases differentiable_cases(const OpDef& op, Philox& rng) {
  OpCases all = cases_for(op, rng);
  std::erase_if(all, is_refused);
  OpCases cases;
  const auto take = [&](std::initializer_list<DType> dtypes) {
    for (const OpCase& one : all)
      if (has_float(one, dtypes)) cases.push_back(one);
  };
  take({DType::f32, DType::f64});
  if (cases.empty()) take({DType::f16, DType::bf16});
  return cases;
}

class EveryRule : public testing::TestWithParam<const OpDef*> {};

TEST_P(EveryRule, GivesWhatDifferencesGive) {
  const OpDef& op = *GetParam();
  Philox rng(11);
  int checked = 0, skipped = 0;
  for (const OpCase& one : differentiable_cases(op, rng)) {
    SCOPED_TRACE(one.text());
    const test::GradientReport report = test::check_gradient(op, one, rng);
    EXPECT_EQ(report.fault, "");
    checked += report.checked, skipped += report.skipped;
  }
  EXPECT_GE(checked, 3 * skipped) << "most samples lie at kinks or ties";
}

// Types, shapes and order of what a rule emits, for operands of each type.
TEST_P(EveryRule, EmitsAVerifiedGraphForEverySample) {
  const OpDef& op = *GetParam();
  Philox rng(12);
  for (const OpCase& one : cases_for(op, rng)) {
    if (is_refused(one) || !has_float(one, {DType::f16, DType::bf16, DType::f32, DType::f64})) continue;
    SCOPED_TRACE(one.text());
    for (const std::optional<Tensor>& x : one.operands) {
      if (!x || !is_float(x->dtype()) || x->is_packed()) continue;
      const test::CallGraph call = test::call_graph(op, one, x->dtype(), rng);
      const test::Rule rule = gradients_of;
      Graph graph = call.graph;
      std::vector<ValueId> d_results;
      for (ValueId result : graph.node(call.node).results) {
        const TensorType type = graph.type(result);
        d_results.push_back(
            is_float(type.dtype) && type.container == Container::none
                ? ops::full(graph, {.shape = type.shape, .value = 1.0, .dtype = gradient_dtype(type.dtype)})
                : kNone);
      }
      test::emit_by(rule, call)(graph, d_results);
      verify(graph);
      break;
    }
  }
}

// The gradients by each input, with random ones of the results.
std::vector<Tensor> gradients_with(const OpDef& op, const OpCase& one, test::InputSizes sizes) {
  Philox rng(17);
  const test::CallGraph call = test::call_graph(op, one, DType::f32, rng, sizes);
  const std::vector<Tensor> results = evaluate(call.graph, call.inputs);
  Graph graph = call.graph;
  std::map<std::string, Tensor> inputs = call.inputs;
  std::vector<ValueId> d_results;
  for (size_t i = 0; i < results.size(); ++i) {
    TensorType type = graph.type(graph.outputs()[i].value);
    const bool counts = is_float(type.dtype) && type.container == Container::none;
    type.dtype = gradient_dtype(type.dtype);
    const std::string label = fmt::format("d {}", i);
    d_results.push_back(counts ? graph.add_input(label, type) : kNone);
    if (counts) inputs[label] = random_floats(rng, results[i].shape(), type.dtype);
  }
  const test::Rule rule = gradients_of;
  std::vector<Output> outputs;
  for (ValueId id : test::emit_by(rule, call)(graph, d_results))
    if (id != kNone) outputs.push_back({id, fmt::format("gradient {}", outputs.size())});
  graph.set_outputs(outputs);
  return evaluate(graph, inputs);
}

TEST_P(EveryRule, GivesTheSameForOpenSizes) {
  const OpDef& op = *GetParam();
  Philox rng(14);
  for (const OpCase& one : differentiable_cases(op, rng)) {
    std::vector<Tensor> open;
    try {
      open = gradients_with(op, one, test::InputSizes::open);
    } catch (const Error&) {
      continue;  // the op or its rule wants numbers
    }
    SCOPED_TRACE(one.text());
    const std::vector<Tensor> closed = gradients_with(op, one, test::InputSizes::constant);
    ASSERT_EQ(open.size(), closed.size());
    for (size_t i = 0; i < open.size(); ++i) EXPECT_TRUE(open[i].same_bits(closed[i])) << i;
  }
}

// By `gradients_of` but for one operand, whose gradient is a thousandth too large, or is left out.
test::Rule with_a_fault(size_t operand, bool left_out) {
  return [=](const GradientArgs& a) {
    std::vector<ValueId> gradients = gradients_of(a);
    if (gradients[operand] == kNone || left_out) return gradients[operand] = kNone, gradients;
    const bool wide = a.graph.type(gradients[operand]).dtype == DType::f64;
    const ValueId factor = wide ? a.graph.add_scalar(1.001) : a.graph.add_scalar(1.001f);
    gradients[operand] = ops::mul(a.graph, {gradients[operand], factor});
    return gradients;
  };
}

// Of each operand, in the first sample in which several of its gradients are large enough for a thousandth to show.
TEST_P(EveryRule, WithAFaultOfAThousandthIsFound) {
  const OpDef& op = *GetParam();
  Philox rng(13);
  std::set<size_t> done;
  for (const OpCase& one : differentiable_cases(op, rng)) {
    const test::GradientReport right = test::check_gradient(op, one, rng);
    SCOPED_TRACE(one.text());
    for (size_t operand = 0; operand < one.operands.size(); ++operand) {
      const auto count = right.non_zero.find(fmt::format("operand {}", operand));
      if (count == right.non_zero.end() || count->second < 6 || !done.insert(operand).second) continue;
      EXPECT_NE(test::check_gradient(op, one, rng, with_a_fault(operand, false)).fault, "") << "operand " << operand;
      EXPECT_NE(test::check_gradient(op, one, rng, with_a_fault(operand, true)).fault, "") << "operand " << operand;
    }
  }
  RecordProperty("operands", static_cast<int>(done.size()));
}

INSTANTIATE_TEST_SUITE_P(Gradients, EveryRule, testing::ValuesIn(ops_with_gradients()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(GradientTable, EachOpHasAGradientOrSaysWhyNot) {
  for (const OpDef* op : ops::all()) {
    SCOPED_TRACE(op->name);
    EXPECT_NE(has_gradient(*op), op->no_gradient != nullptr);
    const std::string_view why = op->no_gradient ? op->no_gradient : "that is not asked";
    EXPECT_TRUE(why.size() > 15 && !why.ends_with('.')) << "it ends a message, which goes on";
  }
}

TEST(GradientTable, HasAtMostOneRuleForEachOp) {
  std::set<const OpDef*> ops;
  for (const GradientDef* def : gradients::all()) EXPECT_TRUE(ops.insert(def->op).second) << def->op->name;
}

}  // namespace
}  // namespace hone

// if, loop and scan, by the gradients of their bodies.
#include <algorithm>

#include "base/error.h"
#include "gradients/accumulate.h"
#include "gradients/iteration.h"
#include "ir/inline_graph.h"
#include "ops/calls/cast.h"
#include "ops/calls/control.h"
#include "ops/calls/full.h"
#include "ops/rules.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;
using Values = std::vector<ValueId>;

// --- scan ------------------------------------------------------------------------------------------------------------

Iteration iteration_of(const Node& scan) {
  const auto states = scan.attributes.get<int64_t>("states"), scans = scan.attributes.get<int64_t>("scans");
  const auto collected = scan.results.size() - static_cast<size_t>(states);
  const auto first_sliced = scan.operands.begin() + states, first_capture = first_sliced + scans;
  const auto listed = [&](const char* name, size_t count) {
    return scan.attributes.get_or<List>(name, List(count, 0));
  };
  return {.body = scan.subgraphs[0],
          .states = {scan.operands.begin(), first_sliced},
          .sliced = {first_sliced, first_capture},
          .captures = {first_capture, scan.operands.end()},
          .axes = listed("scan_axes", static_cast<size_t>(scans)),
          .directions = listed("scan_directions", static_cast<size_t>(scans)),
          .result_axes = listed("result_axes", collected),
          .result_directions = listed("result_directions", collected)};
}

Values scan_gradient(const GradientArgs& a) {
  return iteration_gradient(a.graph, iteration_of(a.op()), a.d_results, a.wanted);
}

// --- loop ------------------------------------------------------------------------------------------------------------

bool is_true(const Graph& graph, ValueId v) {
  const Tensor* condition = graph.constant(v);
  return condition && condition->elements() == 1 && condition->as<bool>()[0];
}

// Whether the body hands its condition on, or says true.
bool goes_on(const Graph& body) {
  ValueId condition = body.outputs()[0].value;
  while (body.producer_op(condition) == &identity_def) condition = body.operand(body.producer(condition), 0);
  return condition == body.inputs()[1] || is_true(body, condition);
}

// A loop whose condition always holds is a scan over the numbers of its iterations.
Iteration iteration_of(Graph& g, const Node& loop) {
  const Tensor* trips = loop.operands[0] == kNone ? nullptr : g.constant(loop.operands[0]);
  if (!trips) fail("how often it runs is not known before; accepted: a constant trip count");
  if ((loop.operands[1] != kNone && !is_true(g, loop.operands[1])) || !goes_on(loop.subgraphs[0]))
    fail("it may end before its trip count; accepted: a condition that is always true");
  const Graph& body = loop.subgraphs[0];
  const auto carried = loop.attributes.get<int64_t>("carried");
  const auto first_capture = loop.operands.begin() + 2 + carried;
  Iteration iteration{.body = {},
                      .states = {loop.operands.begin() + 2, first_capture},
                      .sliced = {},
                      .captures = {first_capture, loop.operands.end()},
                      .axes = {0},
                      .directions = {0},
                      .result_axes = List(loop.results.size() - static_cast<size_t>(carried), 0),
                      .result_directions = {}};
  iteration.result_directions = iteration.result_axes;

  Graph& own = iteration.body;
  const TensorType number = body.type(body.inputs()[0]);
  const Shape one(number.ranked ? number.rank() : 0, Dim(1));
  Shape all{std::max<int64_t>(trips->to_integers()[0], 0)};
  all.insert(all.end(), one.begin(), one.end());
  iteration.sliced.push_back(ops::iota(g, {.shape = all}));
  const auto copied = [&](size_t i) { return own.add_input(fmt::format("input {}", i), body.type(body.inputs()[i])); };
  Values inputs{kNone, own.add_constant(
                           "", Tensor::scalar<bool>(true).reshaped(std::vector<int64_t>(
                                   body.type(body.inputs()[1]).ranked ? body.type(body.inputs()[1]).rank() : 0, 1)))};
  for (size_t i = 0; i < iteration.states.size(); ++i) inputs.push_back(copied(i + 2));
  inputs[0] = own.add_input("iteration", plain_type(DType::i64, one));
  for (size_t i = inputs.size(); i < loop.operands.size(); ++i) inputs.push_back(copied(i));
  const Values outputs = inline_graph(own, body, inputs);
  for (size_t i = 1; i < outputs.size(); ++i) own.add_output(outputs[i], fmt::format("output {}", i));
  return iteration;
}

Values loop_gradient(const GradientArgs& a) {
  const Iteration iteration = iteration_of(a.graph, a.op());
  const size_t carried = iteration.states.size(), operands = a.op().operands.size();
  const auto wanted = std::make_unique<bool[]>(operands);  // the scan has one operand, its slices, instead of two
  for (size_t i = 0; i < carried; ++i) wanted[i] = a.wants(i + 2);
  for (size_t i = carried + 2; i < operands; ++i) wanted[i - 1] = a.wants(i);
  Values gradients = iteration_gradient(a.graph, iteration, a.d_results, {wanted.get(), operands - 1});
  gradients.erase(gradients.begin() + static_cast<ptrdiff_t>(carried));
  gradients.insert(gradients.begin(), 2, kNone);
  return gradients;
}

// --- if --------------------------------------------------------------------------------------------------------------

// One body of the gradient: takes that body's captures and the gradients of the results, gives gradients of the
// captures of both bodies, zeros for the other's.
Graph branch_gradient(const GradientArgs& a, size_t branch, size_t first, size_t count,
                      const std::vector<size_t>& wanted) {
  const Graph& body = a.op().subgraphs[branch];
  Graph result;
  Values captures, seeded;
  for (size_t i = 0; i < count; ++i)
    captures.push_back(result.add_input(fmt::format("capture {}", i), body.type(body.inputs()[i])));
  const auto d_inputs = [&] {
    Values inputs;
    for (ValueId d : a.d_results)
      inputs.push_back(d == kNone ? kNone : result.add_input(fmt::format("d {}", inputs.size()), a.graph.type(d)));
    return inputs;
  }();
  const Values outputs = inline_graph(result, body, captures);
  std::vector<Seed> seeds;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (d_inputs[i] != kNone) seeds.push_back({outputs[i], d_inputs[i]});
  const Values gradients = accumulate_gradients(result, seeds, captures);
  for (size_t operand : wanted) {
    const bool own = operand >= first && operand < first + count;
    ValueId d = own ? gradients[operand - first] : kNone;
    const TensorType& type = own ? result.type(captures[operand - first]) : a.type(operand);
    if (d == kNone) d = zeros(result, gradient_dtype(type.dtype), type.shape);
    result.add_output(d, fmt::format("gradient {}", operand));
  }
  return result;
}

Values if_gradient(const GradientArgs& a) {
  const size_t operands = a.op().operands.size();
  const auto taken = static_cast<size_t>(a.op().attributes.get<int64_t>("then_captures"));
  std::vector<size_t> wanted;
  for (size_t i = 1; i < operands; ++i)
    if (a.wants(i)) wanted.push_back(i);
  Values gradients(operands, kNone), values{a.operand(0)};
  if (wanted.empty()) return gradients;
  const auto captures = a.op().operands.begin() + 1;
  const auto add_d = [&] {
    for (ValueId d : a.d_results)
      if (d != kNone) values.push_back(d);
  };
  values.insert(values.end(), captures, captures + static_cast<ptrdiff_t>(taken));
  add_d();
  const auto then_captures = std::ssize(values) - 1;
  values.insert(values.end(), captures + static_cast<ptrdiff_t>(taken), a.op().operands.end());
  add_d();
  const Values results = a.graph.emit_all(
      {&if_def,
       values,
       {{"then_captures", then_captures}},
       {branch_gradient(a, 0, 1, taken, wanted), branch_gradient(a, 1, 1 + taken, operands - 1 - taken, wanted)}});
  for (size_t i = 0; i < wanted.size(); ++i) gradients[wanted[i]] = results[i];
  return gradients;
}

}  // namespace

extern constinit const GradientDef if_rule_def{.op = &if_def, .rule = if_gradient};
extern constinit const GradientDef loop_rule_def{.op = &loop_def, .rule = loop_gradient};
extern constinit const GradientDef scan_rule_def{.op = &scan_def, .rule = scan_gradient};

}  // namespace hone

// Ops with bodies: if, loop, scan. A body is a graph of its own; values that it reads from around it are trailing
// operands and its last inputs.
#include "ops/control.h"

#include <algorithm>

#include "base/memory_limit.h"
#include "ir/graph.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kIfAttributes[] = {{"then_captures", AttributeKind::integer, true,
                                            "how many of the operands after the condition the first body takes"}};
constexpr AttributeSpec kLoopAttributes[] = {
    {"carried", AttributeKind::integer, true, "values that one iteration hands to the next"}};
constexpr AttributeSpec kScanAttributes[] = {
    {"states", AttributeKind::integer, true, "values that one iteration hands to the next"},
    {"scans", AttributeKind::integer, true, "operands that are taken slice by slice"},
    {"scan_axes", AttributeKind::integers, false, "of each such operand, the axis it is sliced along; default 0"},
    {"scan_directions", AttributeKind::integers, false, "1: from the last slice to the first; default 0"},
    {"result_axes", AttributeKind::integers, false, "of each collected result, the axis of the iterations; default 0"},
    {"result_directions", AttributeKind::integers, false, "1: the first iteration stands last; default 0"}};

using Types = std::vector<TensorType>;

const Graph& body_of(const InferArgs& a, size_t i = 0) { return (*a.subgraphs)[i]; }
const Graph& body_of(const EvalArgs& a, size_t i = 0) { return (*a.subgraphs)[i]; }

// The type of a body's output as seen from outside: symbols that only the body knows say nothing there.
TensorType outside(const InferArgs& a, const Graph& body, size_t output) {
  std::vector<std::string> known;
  for (const TensorType* type : a.operands)
    if (type)
      for (const Dim& dim : type->shape) dim.collect_symbols(known);
  TensorType type = body.type(body.outputs()[output].value);
  for (Dim& dim : type.shape) {
    std::vector<std::string> symbols;
    dim.collect_symbols(symbols);
    const auto is_known = [&](const std::string& s) { return std::find(known.begin(), known.end(), s) != known.end(); };
    if (!std::all_of(symbols.begin(), symbols.end(), is_known)) dim = Dim::unknown();
  }
  return type;
}

// What is true of either type.
TensorType join(const TensorType& a, const TensorType& b, const char* what) {
  if (a.dtype != b.dtype || a.container != b.container)
    fail("{} is {} in one case and {} in the other; they must have one type", what, to_string(a), to_string(b));
  if (a.container != Container::none)
    return TensorType::of(a.container, a.dtype, joined_item_rank(a.item_rank, b.item_rank));
  if (!a.ranked || !b.ranked || a.rank() != b.rank()) return TensorType::unranked(a.dtype);
  TensorType result = plain_type(a.dtype, a.shape);
  for (size_t i = 0; i < result.rank(); ++i)
    if (!(a.shape[i] == b.shape[i])) result.shape[i] = Dim::unknown();
  return result;
}

void expect_inputs(const Graph& body, size_t count) {
  if (body.inputs().size() != count)
    fail("body {} takes {} inputs; expected {}", body.name, body.inputs().size(), count);
}

// Of the operands from `first` on, which must be there.
void expect_given(const InferArgs& a, size_t first = 0) {
  for (size_t i = first; i < a.operands.size(); ++i)
    if (!a.has(i)) fail("operand {} is absent", i);
}

int64_t checked_count(const Attributes& attributes, const char* name, size_t most) {
  const auto count = attributes.get<int64_t>(name);
  if (count < 0 || count > static_cast<int64_t>(most)) fail("{} is {}; accepted: 0 to {}", name, count, most);
  return count;
}

// --- if --------------------------------------------------------------------------------------------------------------

Types infer_if(const InferArgs& a) {
  expect_given(a);
  if (a[0].dtype != DType::boolean || a[0].container != Container::none)
    fail("the condition is {}; accepted: bool", to_string(a[0]));
  const Graph &yes = body_of(a, 0), &no = body_of(a, 1);
  const auto taken = static_cast<size_t>(checked_count(a.attributes, "then_captures", a.operands.size() - 1));
  expect_inputs(yes, taken);
  expect_inputs(no, a.operands.size() - 1 - taken);
  for (size_t i = 1; i < a.operands.size(); ++i)
    expect_body_input(i <= taken ? yes : no, i <= taken ? i - 1 : i - 1 - taken, a[i]);
  if (yes.outputs().size() != no.outputs().size())
    fail("one body has {} outputs, the other {}", yes.outputs().size(), no.outputs().size());
  Types types;
  for (size_t i = 0; i < yes.outputs().size(); ++i) {
    const TensorType first = outside(a, yes, i), second = outside(a, no, i);
    types.push_back(join(first, second, "a result"));
  }
  return types;
}

std::vector<Tensor> eval_if(const EvalArgs& a, const BodyRunner& run_body) {
  if (a[0].elements() != 1) fail("the condition is {}; accepted: one element", to_string(a[0].type()));
  const bool yes = a[0].as<bool>()[0];
  const auto taken = static_cast<size_t>(a.attributes.get<int64_t>("then_captures"));
  std::vector<Tensor> inputs;
  for (size_t i = yes ? 1 : 1 + taken; i < (yes ? 1 + taken : a.operands.size()); ++i) inputs.push_back(a[i]);
  return run_body(body_of(a, yes ? 0 : 1), std::move(inputs), *a.bindings);
}

// --- loop ------------------------------------------------------------------------------------------------------------

constexpr size_t kLoopFormals =
    2;  // trip count and condition as operands; iteration and condition as the body's inputs

Types infer_loop(const InferArgs& a) {
  const Graph& body = body_of(a);
  if (a.operands.size() < kLoopFormals) fail("{} operands; expected trip count and condition", a.operands.size());
  expect_given(a, kLoopFormals);
  if (a.has(0) && (!is_integer(a[0].dtype) || a[0].container != Container::none))
    fail("the trip count is {}; accepted: an integer", to_string(a[0]));
  if (a.has(1) && (a[1].dtype != DType::boolean || a[1].container != Container::none))
    fail("the condition is {}; accepted: bool", to_string(a[1]));
  const auto carried = static_cast<size_t>(checked_count(a.attributes, "carried", a.operands.size() - kLoopFormals));
  expect_inputs(body, a.operands.size());
  expect_body_input(body, 0, TensorType::unranked(DType::i64));
  expect_body_input(body, 1, TensorType::unranked(DType::boolean));
  for (size_t i = kLoopFormals; i < a.operands.size(); ++i) expect_body_input(body, i, a[i]);
  if (body.outputs().size() < 1 + carried)
    fail("the body has {} outputs; expected a condition and {} carried values", body.outputs().size(), carried);
  Types types;
  for (size_t i = 0; i < carried; ++i)
    types.push_back(join(a[kLoopFormals + i], outside(a, body, 1 + i), "a carried value"));
  for (size_t i = 1 + carried; i < body.outputs().size(); ++i) {
    TensorType type = outside(a, body, i);
    if (type.container != Container::none) fail("a collected result is {}; accepted: a tensor", to_string(type));
    if (type.ranked) type.shape.insert(type.shape.begin(), Dim::unknown());
    types.push_back(std::move(type));
  }
  return types;
}

// Tensors of one shape along a new axis; `like` tells the type when there are none.
Tensor stacked(const std::vector<Tensor>& slices, const TensorType& like, size_t axis, bool reversed) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : like.shape) sizes.push_back(dim.is_constant() ? dim.constant() : 0);
  if (!slices.empty()) {
    sizes = slices[0].shape();
    sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(axis), static_cast<int64_t>(slices.size()));
  } else if (axis < sizes.size()) {
    sizes[axis] = 0;
  }
  Tensor result(like.dtype, sizes);
  if (slices.empty()) return result;
  if (like.dtype == DType::string) fail("strings can't be collected");
  const AxisView view = around_axis(sizes, axis);
  const auto run = static_cast<size_t>(view.inner * size_bytes(like.dtype));
  std::byte* to = result.mutable_data();
  for (int64_t o = 0; o < view.outer; ++o)
    for (size_t s = 0; s < slices.size(); ++s) {
      const Tensor& slice = slices[reversed ? slices.size() - 1 - s : s];
      if (slice.shape() != slices[0].shape())
        fail("a collected result changes its shape from {} to {}", to_string(slices[0].type()),
             to_string(slice.type()));
      if (run > 0) std::copy_n(slice.data().bytes().data() + static_cast<size_t>(o) * run, run, to);
      to += run;
    }
  return result;
}

// Elements are counted where they are made; a million tensors of one element are not few bytes either.
void collect(std::vector<Tensor>& slices, Tensor slice) {
  constexpr auto kBytes =
      static_cast<int64_t>(4 * sizeof(Tensor));  // with its buffer's owner, and while the list grows
  if (slices.size() == slices.capacity()) require_memory(kBytes * (std::ssize(slices) + 1), "what a loop collects");
  slices.push_back(std::move(slice));
}

Tensor one(Tensor scalar, const TensorType& type) {
  return type.ranked && type.rank() == 1 ? scalar.reshaped({1}) : scalar;
}

bool is_true(const Tensor& condition) {
  if (condition.dtype() != DType::boolean || condition.elements() != 1)
    fail("the condition is {}; accepted: one bool", to_string(condition.type()));
  return condition.as<bool>()[0];
}

std::vector<Tensor> eval_loop(const EvalArgs& a, const BodyRunner& run_body) {
  const Graph& body = body_of(a);
  const auto carried = static_cast<size_t>(a.attributes.get<int64_t>("carried"));
  if (a.has(0) && a[0].elements() != 1) fail("the trip count is {}; accepted: one element", to_string(a[0].type()));
  const int64_t most = a.has(0) ? a[0].to_integers().at(0) : INT64_MAX;
  bool condition = !a.has(1) || is_true(a[1]);
  std::vector<Tensor> state, captures;
  for (size_t i = 0; i < carried; ++i) state.push_back(a[kLoopFormals + i]);
  for (size_t i = kLoopFormals + carried; i < a.operands.size(); ++i) captures.push_back(a[i]);
  std::vector<std::vector<Tensor>> collected(body.outputs().size() - 1 - carried);
  for (int64_t iteration = 0; iteration < most && condition; ++iteration) {
    std::vector<Tensor> inputs{one(Tensor::scalar<int64_t>(iteration), body.type(body.inputs()[0])),
                               one(Tensor::scalar<bool>(condition), body.type(body.inputs()[1]))};
    inputs.insert(inputs.end(), state.begin(), state.end());
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    std::vector<Tensor> results = run_body(body, std::move(inputs), *a.bindings);
    condition = is_true(results[0]);
    for (size_t i = 0; i < carried; ++i) state[i] = std::move(results[1 + i]);
    for (size_t i = 0; i < collected.size(); ++i) collect(collected[i], std::move(results[1 + carried + i]));
  }
  for (size_t i = 0; i < collected.size(); ++i)
    state.push_back(stacked(collected[i], a.results[carried + i], 0, false));
  return state;
}

// --- scan ------------------------------------------------------------------------------------------------------------

struct ScanLayout {
  size_t states, scans;
  std::vector<int64_t> axes, directions, result_axes, result_directions;
};

ScanLayout scan_layout(const Attributes& attributes, size_t operands, size_t outputs) {
  ScanLayout layout{};
  layout.states = static_cast<size_t>(checked_count(attributes, "states", operands));
  layout.scans = static_cast<size_t>(checked_count(attributes, "scans", operands - layout.states));
  if (layout.scans == 0) fail("scans is 0; at least one operand is taken slice by slice");
  if (outputs < layout.states) fail("the body has {} outputs; expected at least {}", outputs, layout.states);
  const size_t results = outputs - layout.states;
  const auto listed = [&](const char* name, size_t count, int64_t least) {
    return integers_or(attributes, name, std::vector<int64_t>(count, 0), count, least);
  };
  layout.axes = listed("scan_axes", layout.scans, INT64_MIN);
  layout.directions = listed("scan_directions", layout.scans, 0);
  layout.result_axes = listed("result_axes", results, INT64_MIN);
  layout.result_directions = listed("result_directions", results, 0);
  return layout;
}

// What the body gets of operand i: a slice where it is one to slice.
TensorType handed_on(TensorType type, size_t i, const ScanLayout& layout) {
  if (i < layout.states || i >= layout.states + layout.scans || !type.ranked) return type;
  const size_t axis = checked_axis(layout.axes[i - layout.states], type.rank());
  type.shape.erase(type.shape.begin() + static_cast<ptrdiff_t>(axis));
  return type;
}

Types infer_scan(const InferArgs& a) {
  const Graph& body = body_of(a);
  const ScanLayout layout = scan_layout(a.attributes, a.operands.size(), body.outputs().size());
  expect_given(a);
  expect_inputs(body, a.operands.size());
  for (size_t i = 0; i < a.operands.size(); ++i) expect_body_input(body, i, handed_on(a[i], i, layout));
  const TensorType& scanned = a[layout.states];
  Dim length = Dim::unknown();
  if (scanned.ranked) length = scanned.shape[checked_axis(layout.axes[0], scanned.rank())];
  Types types;
  for (size_t i = 0; i < layout.states; ++i) types.push_back(join(a[i], outside(a, body, i), "a state"));
  for (size_t i = layout.states; i < body.outputs().size(); ++i) {
    TensorType type = outside(a, body, i);
    if (type.ranked) {
      const size_t axis = checked_axis(layout.result_axes[i - layout.states], type.rank() + 1);
      type.shape.insert(type.shape.begin() + static_cast<ptrdiff_t>(axis), length);
    }
    types.push_back(std::move(type));
  }
  return types;
}

Tensor slice_at(const Tensor& x, size_t axis, int64_t at) {
  std::vector<int64_t> sizes = x.shape(), strides = strides_of(x.shape());
  const int64_t offset = at * strides[axis];
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(axis));
  strides.erase(strides.begin() + static_cast<ptrdiff_t>(axis));
  return copy_strided(x, sizes, strides, offset);
}

std::vector<Tensor> eval_scan(const EvalArgs& a, const BodyRunner& run_body) {
  const Graph& body = body_of(a);
  const ScanLayout layout = scan_layout(a.attributes, a.operands.size(), body.outputs().size());
  std::vector<size_t> axes;
  for (size_t i = 0; i < layout.scans; ++i)
    axes.push_back(checked_axis(layout.axes[i], a[layout.states + i].shape().size()));
  const int64_t length = a[layout.states].shape()[axes[0]];
  for (size_t i = 0; i < layout.scans; ++i)
    if (const int64_t other = a[layout.states + i].shape()[axes[i]]; other != length)
      fail("one operand has {} slices, another {}", length, other);
  std::vector<Tensor> state, sliced;
  for (size_t i = 0; i < layout.states; ++i) state.push_back(a[i]);
  for (size_t i = 0; i < layout.scans; ++i) sliced.push_back(plain(a[layout.states + i]));
  std::vector<std::vector<Tensor>> collected(body.outputs().size() - layout.states);
  for (int64_t iteration = 0; iteration < length; ++iteration) {
    std::vector<Tensor> inputs = state;
    for (size_t i = 0; i < layout.scans; ++i)
      inputs.push_back(slice_at(sliced[i], axes[i], layout.directions[i] != 0 ? length - 1 - iteration : iteration));
    for (size_t i = layout.states + layout.scans; i < a.operands.size(); ++i) inputs.push_back(a[i]);
    std::vector<Tensor> results = run_body(body, std::move(inputs), *a.bindings);
    for (size_t i = 0; i < layout.states; ++i) state[i] = std::move(results[i]);
    for (size_t i = 0; i < collected.size(); ++i) collect(collected[i], std::move(results[layout.states + i]));
  }
  for (size_t i = 0; i < collected.size(); ++i) {
    const TensorType& type = a.results[layout.states + i];
    const size_t rank = collected[i].empty() ? type.rank() : collected[i][0].shape().size() + 1;
    state.push_back(
        stacked(collected[i], type, checked_axis(layout.result_axes[i], rank), layout.result_directions[i] != 0));
  }
  return state;
}

std::vector<Tensor> evaluated_body(const Graph& body, std::vector<Tensor> inputs, const Bindings& around) {
  return evaluate_body(body, std::move(inputs), around);
}

template <auto eval>
std::vector<Tensor> with_evaluated_bodies(const EvalArgs& a) {
  return eval(a, evaluated_body);
}

}  // namespace

extern constinit const OpDef if_def{.name = "if",
                                    .doc =
                                        "The results of the first body where the condition holds, else of the second. "
                                        "Operands: condition, captures of the first body, captures of the second.",
                                    .operands = {"condition", any_number("captures")},
                                    .attributes = kIfAttributes,
                                    .results = -1,
                                    .infer = infer_if,
                                    .eval = with_evaluated_bodies<eval_if>,
                                    .bodies = 2,
                                    .any_rank = true,
                                    .containers = true};
extern constinit const OpDef loop_def{
    .name = "loop",
    .doc =
        "Runs its body while fewer than trip_count iterations have run and the condition holds. Operands: "
        "trip_count, condition (either may be absent), carried values, captures. The body takes the iteration's "
        "number, the condition and these; it gives the next condition, the carried values and slices that are "
        "collected along a new first axis.",
    .operands = {optional("trip_count"), optional("condition"), any_number("others")},
    .attributes = kLoopAttributes,
    .results = -1,
    .infer = infer_loop,
    .eval = with_evaluated_bodies<eval_loop>,
    .bodies = 1,
    .any_rank = true,
    .containers = true};
extern constinit const OpDef scan_def{
    .name = "scan",
    .doc =
        "Runs its body for each slice. Operands: states, tensors to slice, captures. The body takes the states, one "
        "slice of each tensor and the captures; it gives the states and slices that are collected along an axis.",
    .operands = {several("others")},
    .attributes = kScanAttributes,
    .results = -1,
    .infer = infer_scan,
    .eval = with_evaluated_bodies<eval_scan>,
    .bodies = 1,
    .any_rank = true};

bool is_control(const OpDef& op) { return &op == &if_def || &op == &loop_def || &op == &scan_def; }

std::vector<Tensor> evaluate_control(const OpDef& op, const EvalArgs& args, const BodyRunner& run_body) {
  CHECK(is_control(op));
  return &op == &if_def     ? eval_if(args, run_body)
         : &op == &loop_def ? eval_loop(args, run_body)
                            : eval_scan(args, run_body);
}

}  // namespace hone

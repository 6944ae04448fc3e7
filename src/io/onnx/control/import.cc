// Control flow: If, Loop, Scan.
#include <algorithm>
#include <span>

#include "base/checked.h"
#include "io/onnx/onnx_family.h"
#include "ops/calls/control.h"

namespace hone {
namespace {

std::vector<ValueId> import_if(OnnxNode& n) {
  const Tensor* condition = n.constant(n.in(0));
  if (condition && condition->dtype() == DType::boolean && condition->elements() == 1)
    return n.inline_body(condition->as<bool>()[0] ? "then_branch" : "else_branch");
  std::vector<ValueId> operands{n.in(0)};
  Graph yes = n.body("then_branch", {}, operands);
  const auto captured = static_cast<int64_t>(operands.size()) - 1;
  Graph no = n.body("else_branch", {}, operands);
  return n.emit_all({&if_def, operands, {{"then_captures", captured}}, {std::move(yes), std::move(no)}});
}

// What a carried value is throughout, given what it is before and after one iteration.
TensorType throughout(const TensorType& before, const TensorType& after) {
  if (before.container != Container::none)
    return TensorType::of(before.container, before.dtype, joined_item_rank(before.item_rank, after.item_rank));
  if (!before.ranked || !after.ranked || before.rank() != after.rank()) return TensorType::unranked(before.dtype);
  TensorType type = before;
  for (size_t i = 0; i < type.rank(); ++i)
    if (!(before.shape[i] == after.shape[i])) type.shape[i] = Dim::unknown();
  return type;
}

// Imports the body anew until the types it takes hold for every iteration.
Graph body_of_all_iterations(const OnnxNode& n, std::vector<TensorType> inputs, size_t first_carried, size_t carried,
                             size_t first_result, std::vector<ValueId>& captures) {
  constexpr int kAttempts = 3;       // until a shape that changes is given up
  constexpr int kMostAttempts = 10;  // until all are: values that are handed on from one to the next change one by one
  for (int attempt = 1;; ++attempt) {
    std::vector<ValueId> found;
    Graph body = n.body("body", inputs, found);
    if (body.outputs().size() < first_result + carried)
      fail("the body has {} outputs; expected at least {}", body.outputs().size(), first_result + carried);
    bool holds = true;
    for (size_t i = 0; i < carried; ++i) {
      const TensorType& before = body.type(body.inputs()[first_carried + i]);
      const TensorType after = body.type(body.outputs()[first_result + i].value);
      if (before.dtype != after.dtype || before.container != after.container)
        n.unsupported(fmt::format("a carried value that is {} before an iteration and {} after it; supported: one type",
                                  to_string(before), to_string(after)));
      TensorType both = throughout(before, after);
      if (before.container != Container::none ? before.item_rank == both.item_rank : before == after || !before.ranked)
        continue;
      holds = false;
      if (attempt >= kAttempts && before.container == Container::none) both = TensorType::unranked(before.dtype);
      inputs[first_carried + i] = std::move(both);
    }
    if (!holds && attempt >= kMostAttempts)
      for (TensorType& type : std::span(inputs).subspan(first_carried, carried))
        if (type.container == Container::none) type = TensorType::unranked(type.dtype);
    if (!holds) continue;
    captures = std::move(found);
    return body;
  }
}

std::vector<ValueId> import_loop(OnnxNode& n) {
  const size_t carried = static_cast<size_t>(std::max(n.inputs() - 2, 0));
  if (n.body_inputs("body") != static_cast<int>(carried) + 2)
    fail("the body takes {} inputs; expected {}", n.body_inputs("body"), carried + 2);
  std::vector<ValueId> operands{n.in_or_none(0), n.in_or_none(1)};
  std::vector<TensorType> inputs{{.dtype = DType::i64, .shape = {}}, {.dtype = DType::boolean, .shape = {}}};
  for (size_t i = 0; i < carried; ++i) {
    operands.push_back(n.in(static_cast<int>(i) + 2));
    inputs.push_back(n.type(operands.back()));
  }
  std::vector<ValueId> captures;
  Graph body = body_of_all_iterations(n, inputs, 2, carried, 1, captures);
  operands.insert(operands.end(), captures.begin(), captures.end());
  return n.emit_all({&loop_def, operands, {{"carried", static_cast<int64_t>(carried)}}, {std::move(body)}});
}

std::vector<ValueId> import_scan(OnnxNode& n) {
  const auto scans = static_cast<int>(checked_range(n.integer("num_scan_inputs"), 1, n.inputs(), "num_scan_inputs"));
  const auto states = static_cast<size_t>(n.inputs() - scans);
  const std::vector<int64_t> axes = n.integers("scan_input_axes", std::vector<int64_t>(static_cast<size_t>(scans), 0));
  if (axes.size() != static_cast<size_t>(scans)) fail("scan_input_axes has {} values; expected {}", axes.size(), scans);
  std::vector<ValueId> operands = n.all_inputs();
  std::vector<TensorType> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorType type = n.type(n.in(static_cast<int>(i)));
    if (i >= states) {
      const size_t axis = checked_axis(axes[i - states], n.rank(operands[i]));
      type.shape.erase(type.shape.begin() + static_cast<ptrdiff_t>(axis));
    }
    inputs.push_back(std::move(type));
  }
  Attributes attributes{{"states", static_cast<int64_t>(states)}, {"scans", static_cast<int64_t>(scans)}};
  const std::pair<const char*, const char*> lists[] = {{"scan_input_axes", "scan_axes"},
                                                       {"scan_input_directions", "scan_directions"},
                                                       {"scan_output_axes", "result_axes"},
                                                       {"scan_output_directions", "result_directions"}};
  for (const auto& [from, to] : lists)
    if (n.has_attribute(from)) attributes.set(to, n.integers(from));
  std::vector<ValueId> captures;
  Graph body = body_of_all_iterations(n, inputs, 0, states, 0, captures);
  operands.insert(operands.end(), captures.begin(), captures.end());
  return n.emit_all({&scan_def, operands, attributes, {std::move(body)}});
}

std::vector<ValueId> import_scan_8(OnnxNode& n) {
  n.unsupported("the batched Scan of opset 8; supported: Scan of opset 9 and later");
}

constexpr OnnxOperator kOperators[] = {
    {"If", 1, import_if}, {"Loop", 1, import_loop}, {"Scan", 8, import_scan_8}, {"Scan", 9, import_scan}};

}  // namespace

extern constinit const OnnxFamilyDef onnx_control_def{.name = "control", .operators = kOperators};

}  // namespace hone

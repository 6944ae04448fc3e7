// Sequences: lists of tensors of one element type and any shapes. What an item's shape is shows when the graph runs.
#include <algorithm>

#include "base/memory_limit.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kEmptyAttributes[] = {{"dtype", AttributeKind::dtype, false, "of the items; default f32"}};
constexpr AttributeSpec kSplitAttributes[] = {
    {"axis", AttributeKind::integer, false, "default 0"},
    {"keepdims", AttributeKind::integer, false,
     "1 (default): items keep the axis; 0: without it, only where no lengths are given"},
};
constexpr AttributeSpec kConcatAttributes[] = {
    {"axis", AttributeKind::integer, true, "along which items lie behind one another"},
    {"new_axis", AttributeKind::integer, false, "1: a new axis, of which each item is one place; default 0"},
};

using Items = std::vector<Tensor>;

Items items_of(const Tensor& sequence) { return {sequence.items().begin(), sequence.items().end()}; }

TensorType sequence_of(DType dtype, int item_rank) { return TensorType::of(Container::sequence, dtype, item_rank); }

void expect_sequence(const TensorType& type) {
  if (type.container != Container::sequence) fail("operand 0 is {}; accepted: a sequence", to_string(type));
}

void expect_item(const TensorType& type, DType dtype) {
  if (type.container != Container::none || type.dtype != dtype)
    fail("an item is {}; accepted: tensors of {}", to_string(type), to_string(dtype));
}

void expect_position(const InferArgs& a, size_t operand) {
  if (a.has(operand)) expect_index(a[operand], "the position");
}

// The position in operand `operand`, counted from the front, or `fallback`; accepted: -items to last.
int64_t position_in(const EvalArgs& a, size_t operand, int64_t last, int64_t fallback) {
  const std::vector<int64_t> given = a.has(operand) ? a[operand].to_integers() : std::vector{fallback};
  const int64_t items = std::ssize(a[0].items());
  if (given.size() != 1) fail("the position has {} values; accepted: 1", given.size());
  if (given[0] < -items || given[0] > last)
    fail("position {} is out of range for {} items; accepted: {} to {}", given[0], items, -items, last);
  return given[0] < 0 ? given[0] + items : given[0];
}

std::vector<TensorType> infer_construct(const InferArgs& a) {
  int rank = TensorType::kNoItems;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!a.has(i)) fail("operand {} is absent", i);
    expect_item(a[i], a[0].dtype);
    rank = joined_item_rank(rank, a[i].rank_or_unknown());
  }
  return {sequence_of(a[0].dtype, rank)};
}

std::vector<Tensor> eval_construct(const EvalArgs& a) {
  Items items;
  for (const Tensor* item : a.operands) items.push_back(plain(*item));
  return {Tensor::sequence(a.results[0].dtype, std::move(items))};
}

std::vector<TensorType> infer_at(const InferArgs& a) {
  expect_sequence(a[0]);
  expect_position(a, 1);
  return {a[0].item()};
}

std::vector<Tensor> eval_at(const EvalArgs& a) {
  const int64_t last = std::ssize(a[0].items()) - 1;
  return {a[0].items()[static_cast<size_t>(position_in(a, 1, last, last))]};
}

std::vector<TensorType> infer_insert(const InferArgs& a) {
  expect_sequence(a[0]);
  expect_item(a[1], a[0].dtype);
  expect_position(a, 2);
  return {sequence_of(a[0].dtype, joined_item_rank(a[0].item_rank, a[1].rank_or_unknown()))};
}

std::vector<Tensor> eval_insert(const EvalArgs& a) {
  Items items = items_of(a[0]);
  items.insert(items.begin() + position_in(a, 2, std::ssize(items), std::ssize(items)), plain(a[1]));
  return {Tensor::sequence(a[0].dtype(), std::move(items))};
}

std::vector<TensorType> infer_erase(const InferArgs& a) {
  expect_sequence(a[0]);
  expect_position(a, 1);
  return {a[0]};
}

std::vector<Tensor> eval_erase(const EvalArgs& a) {
  Items items = items_of(a[0]);
  const int64_t last = std::ssize(items) - 1;
  items.erase(items.begin() + position_in(a, 1, last, last));
  return {Tensor::sequence(a[0].dtype(), std::move(items))};
}

std::vector<TensorType> infer_length(const InferArgs& a) {
  expect_sequence(a[0]);
  return {plain_type(DType::i64, {})};
}

bool drops_axis(const auto& a) { return !a.has(1) && a.attributes.template get_or<int64_t>("keepdims", 1) == 0; }

std::vector<TensorType> infer_split(const InferArgs& a) {
  expect_item(a[0], a[0].dtype);
  int rank = a[0].rank_or_unknown();
  if (a[0].ranked) {
    checked_axis(a.attributes.get_or<int64_t>("axis", 0), a[0].rank());
    if (drops_axis(a)) --rank;
  }
  if (a.has(1)) {
    expect_index(a[1], "the lengths");
    if (a[1].ranked) expect_rank(a[1], 0, 1, "the lengths");
  }
  return {sequence_of(a[0].dtype, rank)};
}

// Lengths of the parts: those given, or as many times the one given as there is, the last part maybe shorter.
std::vector<int64_t> part_lengths(const EvalArgs& a, int64_t length) {
  std::vector<int64_t> parts = a.has(1) ? a[1].to_integers() : std::vector<int64_t>{1};
  if (!a.has(1) || a[1].shape().empty()) {
    const int64_t each = parts[0];
    expect_positive(each, "the length of a part");
    constexpr int64_t kBytes = 1024;  // of a tensor without its elements, and while the list grows
    require_memory(checked_mul(length / each + 1, kBytes), "the parts of a sequence");
    parts.clear();
    for (int64_t begin = 0; begin < length; begin += each) parts.push_back(std::min(each, length - begin));
  }
  int64_t sum = 0;
  for (int64_t part : parts) {
    if (part < 0 || part > length - sum) fail("the lengths of the parts do not add up to {}", length);
    sum += part;
  }
  if (sum != length) fail("the lengths of the parts add up to {}; the axis has {}", sum, length);
  return parts;
}

Tensor apply(const char* op, const std::vector<const Tensor*>& operands, const Attributes& attributes) {
  return evaluate_node(ops::get(op), operands, attributes).front();
}

std::vector<Tensor> eval_split(const EvalArgs& a) {
  const Tensor x = plain(a[0]);
  const auto axis = static_cast<int64_t>(checked_axis(a.attributes.get_or<int64_t>("axis", 0), x.shape().size()));
  const std::vector<int64_t> axes{axis};
  Items items;
  int64_t begin = 0;
  for (int64_t part : part_lengths(a, x.shape()[static_cast<size_t>(axis)])) {
    const Tensor item = apply("slice", {&x}, {{"starts", Shape{begin}}, {"ends", Shape{begin + part}}, {"axes", axes}});
    items.push_back(drops_axis(a) ? apply("squeeze", {&item}, {{"axes", axes}}) : item);
    begin += part;
  }
  return {Tensor::sequence(x.dtype(), std::move(items))};
}

std::vector<TensorType> infer_concat(const InferArgs& a) {
  expect_sequence(a[0]);
  TensorType joined = a[0].item();
  if (joined.ranked && a.attributes.get_or<int64_t>("new_axis", 0) != 0) joined.shape.push_back(Dim::unknown());
  return {joined};
}

std::vector<Tensor> eval_concat(const EvalArgs& a) {
  Items items = items_of(a[0]);
  if (items.empty()) fail("the sequence is empty; accepted: at least one item");
  const int64_t axis = a.attributes.get<int64_t>("axis");
  if (a.attributes.get_or<int64_t>("new_axis", 0) != 0)
    for (Tensor& item : items) item = apply("unsqueeze", {&item}, {{"axes", std::vector<int64_t>{axis}}});
  std::vector<const Tensor*> operands;
  for (const Tensor& item : items) operands.push_back(&item);
  return {apply("concat", operands, {{"axis", axis}})};
}

}  // namespace

extern constinit const OpDef sequence_empty_def{
    .name = "sequence_empty",
    .doc = "A sequence without items.",
    .operands = {},
    .attributes = kEmptyAttributes,
    .infer =
        [](const InferArgs& a) {
          return std::vector{sequence_of(a.attributes.get_or<DType>("dtype", DType::f32), TensorType::kNoItems)};
        },
    .eval = [](const EvalArgs& a) { return std::vector{Tensor::sequence(a.results[0].dtype, {})}; },
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef sequence_construct_def{
    .name = "sequence_construct",
    .doc = "The sequence of the operands.",
    .operands = {several("items")},
    .infer = infer_construct,
    .eval = eval_construct,
    .any_rank = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef sequence_at_def{
    .name = "sequence_at",
    .doc = "The item of a sequence at a position; negative ones count from the end.",
    .operands = {"sequence", "position"},
    .infer = infer_at,
    .eval = eval_at,
    .containers = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef sequence_insert_def{
    .name = "sequence_insert",
    .doc = "A sequence with one more item, before the one at a position? or at the end.",
    .operands = {"sequence", "item", optional("position")},
    .infer = infer_insert,
    .eval = eval_insert,
    .containers = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef sequence_erase_def{
    .name = "sequence_erase",
    .doc = "A sequence without the item at a position?, by default the last.",
    .operands = {"sequence", optional("position")},
    .infer = infer_erase,
    .eval = eval_erase,
    .containers = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef sequence_length_def{
    .name = "sequence_length",
    .doc = "The number of items (i64).",
    .operands = {"sequence"},
    .infer = infer_length,
    .eval = [](const EvalArgs& a) { return std::vector{Tensor::scalar<int64_t>(std::ssize(a[0].items()))}; },
    .containers = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef sequence_split_def{
    .name = "sequence_split",
    .doc = "x cut along an axis into parts of one length (a scalar, default 1) or of the lengths in operand 1.",
    .operands = {"x", computed("computed_lengths")},
    .attributes = kSplitAttributes,
    .infer = infer_split,
    .eval = eval_split,
    .any_rank = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};
extern constinit const OpDef sequence_concat_def{
    .name = "sequence_concat",
    .doc = "The items of a sequence as one tensor.",
    .operands = {"sequence"},
    .attributes = kConcatAttributes,
    .infer = infer_concat,
    .eval = eval_concat,
    .containers = true,
    .no_gradient = "gradients are not followed through sequences and optionals"};

}  // namespace hone

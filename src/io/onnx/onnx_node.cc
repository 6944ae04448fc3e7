// What import functions see of a node (onnx_family.h).
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "io/onnx/data_type.h"
#include "io/onnx/onnx_scope.h"
#include "ir/node_rules.h"
#include "ops/calls/cast.h"
#include "ops/calls/range.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"
#include "ops/registry.h"

namespace hone {
namespace {

using onnx::AttributeProto;

constexpr int64_t kComputedAtOnce = 256;           // elements: shapes, axes, scales of resizing
constexpr int64_t kBytesComputedAtOnce = 1 << 14;  // more for strings only
constexpr size_t kListedDims = 1 << 16;

constexpr const char* kAttributeTypes[] = {"undefined", "float",           "integer",        "string",  "tensor",
                                           "graph",     "floats",          "integers",       "strings", "tensors",
                                           "graphs",    "a sparse tensor", "sparse tensors", "a type",  "types"};

std::string attribute_type_text(int type) {
  return type >= 0 && type < static_cast<int>(std::size(kAttributeTypes)) ? kAttributeTypes[type]
                                                                          : fmt::format("type {}", type);
}

// Before IR version 3 `type` may be missing.
int type_of(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

bool is_small(const Tensor& tensor) {
  return tensor.elements() <= kComputedAtOnce && tensor.bytes() <= kBytesComputedAtOnce;
}

// Sums of products take long, and windows may be far larger than what they slide over; no model computes shapes by
// them.
bool computes_shapes(const OpDef& op) {
  const std::string_view name = op.name;
  return !op.flops && name != "max_pool" && name != "avg_pool";
}

bool may_be_small(const OpDef& op, const std::vector<const Tensor*>& values, const std::vector<ValueId>& operands) {
  if (operands.empty() || !computes_shapes(op)) return false;
  if (op.from_types) return true;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] != kNone && !(values[i] && is_small(*values[i]))) return false;
  return true;
}

// What a node that is not in the graph yet computes from known values alone, when that is little.
std::optional<std::vector<Tensor>> small_results(const Graph& graph, const Call& call,
                                                 const std::vector<const Tensor*>& values, FoldBudget& budget) {
  std::vector<const TensorType*> types;
  for (ValueId v : call.operands) types.push_back(v == kNone ? nullptr : &graph.type(v));
  try {
    const Attributes attributes = normalised(*call.op, call.attributes);
    for (const TensorType& type : infer_results(*call.op, types, values, attributes))
      if (!type.is_static() || element_count(constant_shape(type.shape)) > kComputedAtOnce) return std::nullopt;
    return known_results(*call.op, types, values, attributes, budget);
  } catch (const Error&) {
    return std::nullopt;  // it is met again as the node is added
  }
}

bool is_plain_float(const Tensor& tensor) {
  return is_float(tensor.dtype()) && !tensor.is_packed() && tensor.container() == Container::none;
}

// Numbers that are computed from a tensor of the file: that may be a weight, which stays one.
bool stays_node(const Graph& graph, const Call& call, const std::vector<const Tensor*>& values,
                const std::vector<Tensor>& results) {
  if (!std::ranges::all_of(results, is_plain_float)) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i] || !is_plain_float(*values[i])) continue;
    const Value& value = graph.value(call.operands[i]);
    if (value.kind != ValueKind::constant || !value.label.empty()) return true;
  }
  return false;
}

}  // namespace

const std::string& OnnxNode::op_type() const { return proto_.op_type(); }
int OnnxNode::inputs() const { return proto_.input_size(); }
int OnnxNode::outputs() const { return proto_.output_size(); }
bool OnnxNode::has(int input) const { return in_or_none(input) != kNone; }
const std::string& OnnxNode::output_name(int output) const { return proto_.output(output); }
bool OnnxNode::wants(int output) const { return output < proto_.output_size() && !proto_.output(output).empty(); }

ValueId OnnxNode::in(int input) const {
  const ValueId value = in_or_none(input);
  if (value == kNone) fail("input {} is required but absent", input);
  return value;
}

ValueId OnnxNode::in_or_none(int input) const {
  if (input >= proto_.input_size() || proto_.input(input).empty()) return kNone;
  return scope_.find(proto_.input(input));
}

std::vector<ValueId> OnnxNode::all_inputs() const {
  std::vector<ValueId> values;
  for (int i = 0; i < inputs(); ++i) values.push_back(in_or_none(i));
  return values;
}

const AttributeProto* OnnxNode::find(std::string_view name, int type) const {
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() != name) continue;
    const int found = type_of(attribute);
    // An empty list may have lost its type.
    if (found != type && found != AttributeProto::UNDEFINED)
      fail("attribute {} is {}; expected {}", name, attribute_type_text(found), attribute_type_text(type));
    return &attribute;
  }
  return nullptr;
}

const AttributeProto& OnnxNode::required(std::string_view name, int type) const {
  if (const AttributeProto* attribute = find(name, type)) return *attribute;
  fail("attribute {} is missing; expected {}", name, attribute_type_text(type));
}

bool OnnxNode::has_attribute(std::string_view name) const {
  for (const AttributeProto& attribute : proto_.attribute())
    if (attribute.name() == name) return true;
  return false;
}

bool OnnxNode::is_one(std::string_view name, bool fallback) const { return integer(name, fallback) == 1; }
bool OnnxNode::is_not_zero(std::string_view name, bool fallback) const { return integer(name, fallback) != 0; }

bool OnnxNode::zero_or_one(std::string_view name, bool fallback) const {
  const int64_t given = integer(name, fallback);
  if (given != 0 && given != 1) fail("{} is {}; accepted: 0, 1", name, given);
  return given == 1;
}

int64_t OnnxNode::integer(std::string_view name, std::optional<int64_t> fallback) const {
  if (fallback && !has_attribute(name)) return *fallback;
  return required(name, AttributeProto::INT).i();
}

double OnnxNode::number(std::string_view name, std::optional<double> fallback) const {
  if (fallback && !has_attribute(name)) return *fallback;
  return static_cast<double>(required(name, AttributeProto::FLOAT).f());
}

std::string OnnxNode::text(std::string_view name, std::optional<std::string> fallback) const {
  if (fallback && !has_attribute(name)) return *fallback;
  return required(name, AttributeProto::STRING).s();
}

std::vector<int64_t> OnnxNode::integers(std::string_view name, std::optional<std::vector<int64_t>> fallback) const {
  if (fallback && !has_attribute(name)) return *fallback;
  const auto& values = required(name, AttributeProto::INTS).ints();
  return {values.begin(), values.end()};
}

int64_t OnnxNode::count(std::string_view name, std::optional<int64_t> fallback) const {
  return checked_range(integer(name, fallback), 1, int64_t{1} << 31, name);
}

Shape OnnxNode::sizes(std::string_view name) const {
  const auto& values = required(name, AttributeProto::INTS).ints();
  if (static_cast<size_t>(values.size()) > kListedDims)
    fail("attribute {} has {} values; accepted: at most {}", name, values.size(), kListedDims);
  return {values.begin(), values.end()};
}

std::vector<double> OnnxNode::numbers(std::string_view name, std::optional<std::vector<double>> fallback) const {
  if (fallback && !has_attribute(name)) return *fallback;
  const auto& values = required(name, AttributeProto::FLOATS).floats();
  return {values.begin(), values.end()};
}

std::vector<std::string> OnnxNode::texts(std::string_view name,
                                         std::optional<std::vector<std::string>> fallback) const {
  if (fallback && !has_attribute(name)) return *fallback;
  const auto& values = required(name, AttributeProto::STRINGS).strings();
  return {values.begin(), values.end()};
}

Tensor OnnxNode::tensor(std::string_view name) const {
  const std::string what = fmt::format("{}: {}: attribute {}", scope_.model().source, onnx_node_text(proto_), name);
  for (const AttributeProto& attribute : proto_.attribute())
    if (attribute.name() == name && attribute.has_sparse_tensor())
      return scope_.tensor(attribute.sparse_tensor(), what);
  return scope_.tensor(required(name, AttributeProto::TENSOR).t(), what);
}

DType OnnxNode::dtype(std::string_view name, std::optional<DType> fallback) const {
  if (fallback && !has_attribute(name)) return *fallback;
  const int64_t number = required(name, AttributeProto::INT).i();
  try {
    const bool is_number = std::in_range<int32_t>(number);
    return onnx::dtype_of(is_number ? static_cast<int32_t>(number) : -1, fmt::format("attribute {}", name));
  } catch (const Error& error) {
    unsupported(error.what());
  }
}

TensorType OnnxNode::type_attribute(std::string_view name) const {
  return scope_.type_of(required(name, AttributeProto::TYPE_PROTO).tp(), std::string(name));
}

const Graph& OnnxNode::graph() const { return scope_.graph(); }

const TensorType& OnnxNode::type(ValueId v) const {
  if (v == kNone) fail("an input is required but absent");
  return graph().type(v);
}

size_t OnnxNode::rank(ValueId v) const {
  const TensorType& known = type(v);
  if (known.container != Container::none) fail("%{} is {}; expected a tensor", graph().value(v).name, to_string(known));
  if (!known.ranked)
    unsupported(fmt::format("the number of dimensions of %{} is not known before it runs", graph().value(v).name));
  return known.rank();
}

Shape OnnxNode::shape(ValueId v) const {
  rank(v);
  return type(v).shape;
}

Shape OnnxNode::shape(ValueId v, size_t expected) const {
  if (rank(v) != expected)
    fail("%{} is {}; expected {} dimensions", graph().value(v).name, to_string(type(v)), expected);
  return type(v).shape;
}

const Tensor* OnnxNode::constant(ValueId v) const { return scope_.dims().value(graph(), v); }

const Tensor* OnnxNode::plain_constant(ValueId v) const {
  const Tensor* tensor = constant(v);
  if (tensor && (tensor->is_packed() || tensor->container() != Container::none || tensor->dtype() == DType::string))
    fail("%{} is {}; expected a tensor of numbers", graph().value(v).name, to_string(tensor->type()));
  return tensor;
}

std::optional<Shape> OnnxNode::dims(ValueId v) const { return scope_.dims().of(graph(), v); }

std::optional<std::vector<int64_t>> OnnxNode::known_integers(ValueId v) const {
  const std::optional<Shape> known = dims(v);
  if (!known || !is_constant(*known)) return std::nullopt;
  return constant_shape(*known);
}

std::vector<ValueId> OnnxNode::emit_all(Call call) const {
  while (call.subgraphs.empty() && !call.operands.empty() && call.operands.back() == kNone) call.operands.pop_back();
  Graph& graph = scope_.graph();
  // What says what an op does, as attributes do, is a constant wherever it is known.
  for (size_t i = 0; i < call.operands.size(); ++i) {
    ValueId& v = call.operands[i];
    const bool is_argument = call.op->operands.of(i).argument || call.op == &range_def;
    const Tensor* const value = v == kNone || !is_argument || graph.constant(v) ? nullptr : constant(v);
    if (value) v = graph.add_constant("", *value);
  }
  std::vector<const Tensor*> known;
  for (ValueId v : call.operands) known.push_back(v == kNone ? nullptr : constant(v));
  std::optional<std::vector<Tensor>> values;
  if (call.subgraphs.empty() && may_be_small(*call.op, known, call.operands))
    values = small_results(graph, call, known, scope_.model().folding);
  if (values && !stays_node(graph, call, known, *values)) {
    std::vector<ValueId> results;
    for (Tensor& value : *values) results.push_back(graph.add_constant("", std::move(value)));
    return results;
  }
  const NodeId id = graph.add_node(std::move(call));
  const std::vector<ValueId>& results = graph.node(id).results;
  if (results.empty()) fail("{} without results computes nothing", graph.node(id).op->name);
  scope_.dims().note(graph, id);
  for (size_t i = 0; values && i < results.size(); ++i) scope_.dims().hold(results[i], std::move((*values)[i]));
  return results;
}

ValueId OnnxNode::emit(Call call) const {
  const std::vector<ValueId> results = emit_all(std::move(call));
  CHECK(results.size() == 1, "an op of {} results", results.size());
  return results[0];
}

ValueId OnnxNode::constant(Tensor value, std::string label) const {
  return scope_.graph().add_constant(std::move(label), std::move(value));
}

ValueId OnnxNode::scalar(double value, DType dtype) const {
  return constant(Tensor::from_doubles(dtype, {}, std::vector{value}));
}

ValueId OnnxNode::constant_integers(std::vector<int64_t> values) const {
  return constant(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

ValueId OnnxNode::reshape(ValueId x, Shape shape) const {
  if (type(x).ranked && type(x).shape == shape) return x;
  return ops::reshape(*this, {.x = x, .shape = std::move(shape)});
}

ValueId OnnxNode::transpose(ValueId x, std::vector<int64_t> perm) const {
  bool changes = type(x).ranked && type(x).rank() != perm.size();  // which the op's rule refuses
  for (size_t i = 0; i < perm.size(); ++i) changes |= perm[i] != static_cast<int64_t>(i);
  return changes ? ops::transpose(*this, {.x = x, .perm = std::move(perm)}) : x;
}

ValueId OnnxNode::cast(ValueId x, DType dtype) const {
  return type(x).dtype == dtype && type(x).container == Container::none ? x
                                                                        : ops::cast(*this, {.x = x, .dtype = dtype});
}

int OnnxNode::body_inputs(std::string_view name) const {
  return required(name, AttributeProto::GRAPH).g().input_size();
}

Graph OnnxNode::body(std::string_view name, const std::vector<TensorType>& inputs,
                     std::vector<ValueId>& captures) const {
  const onnx::GraphProto& proto = required(name, AttributeProto::GRAPH).g();
  if (static_cast<size_t>(proto.input_size()) != inputs.size())
    fail("graph {} takes {} inputs; expected {}", name, proto.input_size(), inputs.size());
  const OnnxModelContext::Nested nested(scope_.model(), true);
  scope_.model().spend(proto.input_size() + proto.initializer_size() + proto.sparse_initializer_size());
  Graph graph;
  graph.name = std::string(name);
  graph.number_unbacked_after(scope_.graph().unbacked_symbols());
  KnownDims dims;
  OnnxScope scope(scope_.model(), scope_.opsets(), graph, dims, &scope_, &captures);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& input = proto.input(static_cast<int>(i)).name();
    scope.define(input, graph.add_input(input, inputs[i]));
  }
  scope.add_initializers(proto);
  scope.add_nodes(proto);
  const std::vector<ValueId> outputs = scope.outputs_of(proto);
  for (size_t i = 0; i < outputs.size(); ++i) graph.add_output(outputs[i], fmt::format("{}", i));
  graph.erase_unused_constants();
  return graph;
}

std::vector<ValueId> OnnxNode::inline_body(std::string_view name, std::span<const ValueId> inputs) const {
  const onnx::GraphProto& proto = required(name, AttributeProto::GRAPH).g();
  if (!inputs.empty() && static_cast<size_t>(proto.input_size()) != inputs.size())
    fail("graph {} takes {} inputs; expected {}", name, proto.input_size(), inputs.size());
  const OnnxModelContext::Nested nested(scope_.model());
  OnnxScope scope(scope_.model(), scope_.opsets(), scope_.graph(), scope_.dims(), &scope_);
  for (size_t i = 0; i < inputs.size(); ++i) scope.define(proto.input(static_cast<int>(i)).name(), inputs[i]);
  scope.add_initializers(proto);
  scope.add_nodes(proto);
  return scope.outputs_of(proto);
}

}  // namespace hone

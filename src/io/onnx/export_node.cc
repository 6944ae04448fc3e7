#include "io/onnx/export_node.h"

#include <algorithm>

#include "base/error.h"
#include "io/onnx/export_scope.h"
#include "ir/unbacked.h"

namespace hone::onnx {

ExportNode::ExportNode(ExportScope& scope, NodeId id) : scope_(scope), node_(scope.graph().node(id)) {}

const Graph& ExportNode::graph() const { return scope_.graph(); }
int ExportNode::opset() const { return scope_.context().opset; }
void ExportNode::needs(int opset, std::string_view what) const { scope_.context().need(opset, what); }

bool ExportNode::has(size_t operand) const {
  return operand < node_.operands.size() && node_.operands[operand] != kNone;
}
const TensorType& ExportNode::type(size_t operand) const { return graph().type(node_.operands.at(operand)); }
const TensorType& ExportNode::result_type(size_t result) const { return graph().type(node_.results.at(result)); }
const Tensor* ExportNode::constant(size_t operand) const {
  return has(operand) ? graph().constant(node_.operands[operand]) : nullptr;
}

bool ExportNode::keeps_layouts() const { return scope_.context().keep_layouts; }

size_t ExportNode::rank(size_t operand) const {
  if (!type(operand).ranked) not_in_onnx("operand {} has no known rank", operand);
  return type(operand).rank();
}

int64_t ExportNode::integer(std::string_view name, int64_t fallback) const {
  return attributes().get_or<int64_t>(name, fallback);
}

Attributes ExportNode::take(std::initializer_list<Renamed> names) const {
  Attributes taken;
  for (const auto& [ours, theirs] : names)
    if (const auto found = attributes().items().find(ours); found != attributes().items().end())
      taken.set(theirs, found->second);
  return taken;
}

std::string ExportNode::in(size_t operand) const { return has(operand) ? scope_.name_of(node_.operands[operand]) : ""; }

std::string ExportNode::in_as(size_t operand, DType dtype) const {
  return has(operand) ? cast(in(operand), type(operand).dtype, dtype) : "";
}

Names ExportNode::all_in() const {
  Names names;
  for (size_t i = 0; i < node_.operands.size(); ++i) names.push_back(in(i));
  return names;
}

std::string ExportNode::rearranged(size_t operand, DType dtype, const Shape& shape,
                                   const std::vector<int64_t>& perm) const {
  return cast(scope_.rearranged(node_.operands.at(operand), node_, shape, perm), type(operand).dtype, dtype);
}

std::string ExportNode::sizes_argument(const char* attribute, size_t operand) const {
  if (attributes().has(attribute)) return sizes(attributes().get<Shape>(attribute));
  return in_as(operand, DType::i64);
}

std::string ExportNode::size_argument(const char* attribute, size_t operand) const {
  const std::string sizes = sizes_argument(attribute, operand);
  return sizes.empty() ? sizes : emit("Squeeze", {sizes});
}

std::string ExportNode::emit(const char* op_type, const Names& inputs, const Attributes& attributes) const {
  return scope_.emit(op_type, inputs, attributes);
}

Names ExportNode::emit_all(const char* op_type, const Names& inputs, const Attributes& attributes, size_t results,
                           Bodies bodies) const {
  Names outputs;
  for (size_t i = 0; i < results; ++i) outputs.push_back(scope_.new_name(op_type));
  NodeProto& node = scope_.add_node(op_type, inputs, outputs, attributes);
  for (auto& [name, body] : bodies) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::GRAPH);
    *attribute.mutable_g() = std::move(body);
  }
  return outputs;
}

std::string ExportNode::cast(const std::string& value, DType from, DType to) const {
  if (from == to) return value;
  Attributes attributes{{"to", to}};
  if (to == DType::f8e8m0) attributes.set("round_mode", std::string("nearest"));  // as the op casts
  return emit("Cast", {value}, attributes);
}

std::string ExportNode::constant(const Tensor& value) const { return scope_.small_constant(value); }

std::string ExportNode::number(double value, DType dtype) const {
  return constant(Tensor::from_doubles(dtype, {}, std::vector<double>{value}));
}

std::string ExportNode::integers(const std::vector<int64_t>& values) const {
  return constant(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

std::string ExportNode::sizes(const Shape& shape) const { return scope_.sizes(shape); }

namespace {

// Whether a reader of `from` finds the size `open` of `to` that is left open to be that formula.
bool follows(const Shape& from, const Shape& to, size_t open) {
  try {
    Dim others = 1;
    for (size_t i = 0; i < to.size(); ++i)
      if (i != open) others = others * to[i];
    return floordiv(element_count(from), others) == to[open];
  } catch (const Error&) {  // of formulas beyond what a dimension may grow to
    return false;
  }
}

}  // namespace

// Sizes that stay where they are need not be computed: 0 stands for them; and one may be left open, which does not hide
// that it is known where the elements of `from` are not.
std::string ExportNode::reshape(const std::string& value, const Shape& from, const Shape& to) const {
  const bool empty = std::find(to.begin(), to.end(), Dim(0)) != to.end();
  std::vector<int64_t> known;
  int64_t open = 0;
  bool is_lost = false;
  for (size_t i = 0; i < to.size(); ++i) {
    const bool stays = i < from.size() && from[i] == to[i];
    known.push_back(to[i].is_constant() ? to[i].constant() : stays ? 0 : -1);
    open += known.back() == -1;
    is_lost = is_lost || (known.back() == -1 && !to[i].is_constant() && !depends_on_data(to) && !follows(from, to, i));
  }
  if (empty) return emit("Reshape", {value, sizes(to)}, {{"allowzero", int64_t{1}}});
  return emit("Reshape", {value, open <= 1 && !is_lost ? integers(known) : sizes(to)});
}

std::string ExportNode::transpose(const std::string& value, std::vector<int64_t> perm) const {
  return emit("Transpose", {value}, {{"perm", std::move(perm)}});
}

std::string ExportNode::reduce(const char* op_type, const std::string& value, const std::vector<int64_t>& axes) const {
  const int axes_are_operand_since = std::string_view(op_type) == "ReduceSum" ? 13 : 18;
  if (opset() < axes_are_operand_since) return emit(op_type, {value}, {{"axes", axes}});
  return emit(op_type, {value, integers(axes)});
}

std::string ExportNode::emit_of_type(const char* op_type, const TensorType& type) const {
  const std::string name = scope_.new_name(op_type);
  AttributeProto& attribute = *scope_.add_node(op_type, {}, {name}, {}).add_attribute();
  attribute.set_name("type");
  attribute.set_type(AttributeProto::TYPE_PROTO);
  *attribute.mutable_tp() = type_proto(type);
  return name;
}

GraphProto ExportNode::body(size_t index, size_t own, size_t captures) const {
  const Graph& body = node_.subgraphs.at(index);
  GraphProto proto;
  proto.set_name(scope_.context().unique(body.name));
  ExportScope inner(scope_.context(), body, proto, &scope_);
  for (size_t i = 0; i < body.inputs().size(); ++i)
    if (i < own) inner.declare_input(i, body.value(body.inputs()[i]).name);
    else inner.bind_input(i, in(captures + i - own));
  inner.write(false);
  return proto;
}

}  // namespace hone::onnx

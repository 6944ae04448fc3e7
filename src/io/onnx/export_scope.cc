#include "io/onnx/export_scope.h"

#include <algorithm>

#include "io/onnx/data_type.h"
#include "io/onnx/tensors.h"
#include "ops/evaluate.h"
#include "ops/registry.h"

namespace hone::onnx {
namespace {

constexpr auto kTables = {control_rules,      image_rules,  indexing_rules,  pointwise_rules, product_rules,
                          quantization_rules, random_rules, recurrent_rules, row_rules,       sequence_rules,
                          shape_rules,        signal_rules, string_rules,    window_rules};

const ExportRule* rule_of(const OpDef& op) {
  for (const auto table : kTables)
    for (const ExportRule& rule : table())
      if (std::string_view(rule.op) == op.name) return &rule;
  return nullptr;
}

void write_shape(const TensorType& type, TypeProto::Tensor& proto) {
  proto.set_elem_type(data_type_of(type.dtype));
  if (!type.ranked || type.container != Container::none) return;
  TensorShapeProto& shape = *proto.mutable_shape();
  for (const Dim& dim : type.shape) {
    TensorShapeProto::Dimension& d = *shape.add_dim();
    if (dim.is_constant()) d.set_dim_value(dim.constant());
    else d.set_dim_param(dim.to_string());
  }
}

void write_value_info(const std::string& name, const TensorType& type, ValueInfoProto& proto) {
  proto.set_name(name);
  *proto.mutable_type() = type_proto(type);
}

void write_attribute(const std::string& name, const Attribute& value, AttributeProto& proto) {
  proto.set_name(name);
  if (const auto* v = std::get_if<int64_t>(&value)) {
    proto.set_type(AttributeProto::INT), proto.set_i(*v);
  } else if (const auto* v = std::get_if<double>(&value)) {
    proto.set_type(AttributeProto::FLOAT), proto.set_f(static_cast<float>(*v));
  } else if (const auto* v = std::get_if<std::string>(&value)) {
    proto.set_type(AttributeProto::STRING), proto.set_s(*v);
  } else if (const auto* v = std::get_if<DType>(&value)) {
    proto.set_type(AttributeProto::INT), proto.set_i(data_type_of(*v));
  } else if (const auto* v = std::get_if<Tensor>(&value)) {
    proto.set_type(AttributeProto::TENSOR), *proto.mutable_t() = to_proto(*v, "");
  } else if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) {
    proto.set_type(AttributeProto::INTS), proto.mutable_ints()->Add(v->begin(), v->end());
  } else if (const auto* v = std::get_if<std::vector<double>>(&value)) {
    proto.set_type(AttributeProto::FLOATS), proto.mutable_floats()->Add(v->begin(), v->end());
  } else if (const auto* v = std::get_if<std::vector<std::string>>(&value)) {
    proto.set_type(AttributeProto::STRINGS), proto.mutable_strings()->Add(v->begin(), v->end());
  } else {
    CHECK(false, "attribute {} has no kind in ONNX", name);
  }
}

// The opset in which elements of a type can be stored, cast and handed on.
int opset_of(DType dtype) {
  if (dtype == DType::f6e2m3 || dtype == DType::f6e3m2) return 28;
  if (dtype == DType::i2 || dtype == DType::u2) return 25;
  if (dtype == DType::f8e8m0) return 24;
  if (dtype == DType::f4e2m1) return 23;
  if (dtype == DType::i4 || dtype == DType::u4) return 21;
  return is_small(dtype) ? 19 : 0;
}

}  // namespace

TypeProto type_proto(const TensorType& type) {
  TypeProto proto, *inner = &proto;
  if (type.container == Container::optional || type.container == Container::optional_sequence)
    inner = inner->mutable_optional_type()->mutable_elem_type();
  if (type.container == Container::sequence || type.container == Container::optional_sequence)
    inner = inner->mutable_sequence_type()->mutable_elem_type();
  write_shape(type, *inner->mutable_tensor_type());
  return proto;
}

void ExportContext::need(int version, std::string_view what) {
  if (version <= opset) return;
  if (fixed) not_in_onnx("{} needs opset {}; the model is written for {}. Leave out --opset", what, version, opset);
  needed = std::max(needed, version);
}

std::string ExportContext::unique(const std::string& wanted) {
  std::string name = wanted;
  while (!names.insert(name).second) name = fmt::format("{}_{}", wanted, ++next_suffix[wanted]);
  return name;
}

// --- inputs and outputs ----------------------------------------------------------------------------------------------

void ExportScope::need_type(ValueId value) {
  const DType dtype = graph_.type(value).dtype;
  context_.need(opset_of(dtype), to_string(dtype));
}

void ExportScope::declare_input(size_t index, const std::string& wanted) {
  const ValueId id = graph_.inputs()[index];
  const std::string name = context_.unique(wanted);
  try {
    need_type(id);
  } catch (const NotInOnnx& reason) {
    context_.refused.push_back({name, "input", reason.what()});
  }
  write_value_info(name, graph_.type(id), *proto_.add_input());
  bind_input(index, name);
}

void ExportScope::bind_input(size_t index, const std::string& name) {
  const ValueId id = graph_.inputs()[index];
  names_[id] = name;
  note_symbols(id);
}

// A result that is an output has its label.
void ExportScope::name_results(bool keep_labels) {
  for (const Output& output : graph_.outputs()) {
    const std::string label = context_.unique(output.label);
    output_names_.push_back(label);
    if (graph_.producer(output.value) != kNone) names_.emplace(output.value, label);
    else if (keep_labels && names_.contains(output.value) && names_.at(output.value) == output.label)
      output_names_.back() = output.label;  // an input that is handed on
  }
  for (NodeId n : graph_.nodes())
    for (ValueId v : graph_.node(n).results)
      if (!names_.contains(v)) names_[v] = context_.unique(graph_.value(v).name);
}

void ExportScope::write_outputs() {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const ValueId value = graph_.outputs()[i].value;
    current_ = output_names_[i];
    if (const std::string name = name_of(value); name != output_names_[i])
      add_node("Identity", {name}, {output_names_[i]}, {});
    TensorType type = graph_.type(value);
    type.format.reset();
    write_value_info(output_names_[i], type, *proto_.add_output());
  }
}

void ExportScope::write(bool keep_labels) {
  name_results(keep_labels);
  for (NodeId n : graph_.nodes()) write_node(n);
  write_outputs();
  for (NodeProto& node : *proto_.mutable_node()) node.set_name(node.output(0));
  context_.nodes += proto_.node_size();
}

// --- nodes -----------------------------------------------------------------------------------------------------------

Names ExportScope::results_by_rule(NodeId id) {
  const OpDef& op = *graph_.node(id).op;
  const ExportNode node(*this, id);
  for (ValueId v : graph_.node(id).results) need_type(v);
  if (const ExportRule* rule = rule_of(op)) return rule->write(node);
  if (op.pointwise) return write_expression(node);
  not_in_onnx("ONNX has no operator for it");
}

void ExportScope::write_node(NodeId id) {
  const Node& node = graph_.node(id);
  current_ = names_.at(node.results.at(0));
  const int first = proto_.node_size();
  try {
    rename_results(id, first, results_by_rule(id));
  } catch (const NotInOnnx& reason) {
    context_.refused.push_back({names_.at(node.results[0]), node.op->name, reason.what()});
  }
  for (ValueId v : node.results) note_symbols(v);
}

// Gives the values that a rule returned the names of the node's results; a value of another node is handed on.
void ExportScope::rename_results(NodeId id, int first_node, const Names& names) {
  const Node& node = graph_.node(id);
  CHECK(names.size() == node.results.size(), "{} exports {} of {} results", node.op->name, names.size(),
        node.results.size());
  std::map<std::string, std::string> renamed;
  std::set<std::string> produced;
  for (int i = first_node; i < proto_.node_size(); ++i)
    produced.insert(proto_.node(i).output().begin(), proto_.node(i).output().end());
  for (size_t i = 0; i < names.size(); ++i)
    if (const std::string& wanted = names_.at(node.results[i]);
        !produced.contains(names[i]) || !renamed.emplace(names[i], wanted).second)
      add_node("Identity", {names[i]}, {wanted}, {});
  for (int i = first_node; i < proto_.node_size(); ++i) {
    for (std::string& name : *proto_.mutable_node(i)->mutable_input())
      if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
    for (std::string& name : *proto_.mutable_node(i)->mutable_output())
      if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
  }
}

NodeProto& ExportScope::add_node(const char* op_type, const Names& inputs, const Names& outputs,
                                 const Attributes& attributes) {
  NodeProto& node = *proto_.add_node();
  node.set_op_type(op_type);
  node.mutable_input()->Add(inputs.begin(), inputs.end());
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
  node.mutable_output()->Add(outputs.begin(), outputs.end());
  for (const auto& [name, value] : attributes.items()) write_attribute(name, value, *node.add_attribute());
  return node;
}

std::string ExportScope::emit(const char* op_type, const Names& inputs, const Attributes& attributes) {
  const std::string name = new_name(op_type);
  add_node(op_type, inputs, {name}, attributes);
  return name;
}

// --- constants -------------------------------------------------------------------------------------------------------

std::string ExportScope::add_initializer(const Tensor& value, const std::string& wanted) {
  context_.need(opset_of(value.dtype()), to_string(value.dtype()));
  const std::string name = context_.unique(wanted);
  *proto_.add_initializer() = to_proto(value, name);
  return name;
}

std::string ExportScope::small_constant(const Tensor& value) {
  const auto bytes = value.data().bytes();
  std::string key = to_string(value.type()) + " ";
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto found = constants_.find(key);
  return found != constants_.end() ? found->second : constants_[key] = add_initializer(value, "constant");
}

std::string ExportScope::constant_name(ValueId id) {
  const Value& value = graph_.value(id);
  const std::string& label = value.label.empty() ? value.name : value.label;
  try {
    if (value.constant->is_packed()) return packed_constant(*this, *value.constant, label);
    return add_initializer(*value.constant, label);
  } catch (const NotInOnnx& reason) {
    context_.refused.push_back({label, "constant " + to_string(value.type), reason.what()});
    return label;
  }
}

namespace {

// Of a conv whose weights are a matrix; others have none.
std::vector<int64_t> window_of(const Node& node) {
  return node.attributes.get_or<std::vector<int64_t>>("kernel_shape", {});
}

}  // namespace

std::string ExportScope::name_of(ValueId value) {
  if (value == kNone) return "";
  const auto found = names_.find(value);
  if (found != names_.end()) return found->second;
  CHECK(graph_.constant(value), "%{} is used before it is written", graph_.value(value).name);
  return names_[value] = constant_name(value);
}

// A weight that all readers take in the same order is stored so, under its own name.
std::string ExportScope::rearranged(ValueId weight, const Node& reader, const Shape& shape,
                                    const std::vector<int64_t>& perm) {
  std::string& name = rearranged_[{weight, to_string(shape), perm}];
  if (!name.empty()) return name;
  const Tensor* tensor = graph_.constant(weight);
  const auto uses = graph_.uses(weight);
  const bool alike = std::all_of(uses.begin(), uses.end(), [&](const Graph::Use& use) {
    const Node& other = graph_.node(use.node);
    return use.operand == 1 && other.op == reader.op && window_of(other) == window_of(reader);
  });
  if (tensor && !tensor->is_packed() && alike && static_cast<int>(uses.size()) == graph_.use_count(weight)) {
    const Tensor reshaped = tensor->reshaped(constant_shape(shape));
    const Tensor* operand = &reshaped;
    const Value& value = graph_.value(weight);
    return name = add_initializer(evaluate_node(ops::get("transpose"), {&operand, 1}, {{"perm", perm}})[0],
                                  value.label.empty() ? value.name : value.label);
  }
  std::string value = name_of(weight);
  if (shape != graph_.type(weight).shape) value = emit("Reshape", {value, sizes(shape)});
  return name = emit("Transpose", {value}, {{"perm", perm}});
}

// --- sizes -----------------------------------------------------------------------------------------------------------

void ExportScope::note_symbols(ValueId value) {
  const TensorType& type = graph_.type(value);
  for (size_t i = 0; i < type.shape.size(); ++i)
    if (type.shape[i].is_symbol())
      symbols_.emplace(type.shape[i].to_string(), std::pair(value, static_cast<int64_t>(i)));
}

std::string ExportScope::symbol_value(const std::string& symbol) {
  const auto found = symbols_.find(symbol);
  if (found != symbols_.end()) {
    const auto [value, axis] = found->second;
    return emit("Shape", {name_of(value)}, {{"start", axis}, {"end", axis + 1}});
  }
  if (around_) return around_->size_of(Dim::symbol(symbol));
  not_in_onnx("the size {} is no dimension of an input or of a value before it. Give an input that dimension", symbol);
}

// Reads the text of a dimension, as Dim::parse does, and emits its arithmetic. Sizes are not negative, so that / may
// truncate.
class ExportScope::SizeFormula {
 public:
  SizeFormula(ExportScope& scope, std::string_view text) : scope_(scope), text_(text) {}

  std::string sum() {
    std::string value = text_.starts_with('-') ? scope_.size_of(0) : product();
    while (text_.starts_with('+') || text_.starts_with('-')) {
      const char* op = take() == '+' ? "Add" : "Sub";
      value = scope_.emit(op, {value, product()});
    }
    return value;
  }

 private:
  char take() {
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }
  std::string product() {
    std::string value = factor();
    while (text_.starts_with('*') || text_.starts_with('/')) {
      const char* op = take() == '*' ? "Mul" : "Div";
      value = scope_.emit(op, {value, factor()});
    }
    return value;
  }
  std::string factor() {
    if (text_.starts_with('(')) {
      take();
      std::string value = sum();
      take();  // the other parenthesis
      return value;
    }
    const std::string_view atom = text_.substr(0, text_.find_first_of("+-*/()"));
    text_.remove_prefix(atom.size());
    return scope_.size_of(Dim::parse(atom));
  }

  ExportScope& scope_;
  std::string_view text_;
};

std::string ExportScope::size_of(const Dim& dim) {
  if (dim.is_constant()) return small_constant(Tensor::of<int64_t>({1}, {dim.constant()}));
  const std::string text = dim.to_string();
  if (const auto found = sizes_.find(text); found != sizes_.end()) return found->second;
  if (dim.is_symbol()) return sizes_[text] = symbol_value(text);
  const std::string size = SizeFormula(*this, text).sum();
  return sizes_[text] = size;
}

std::string ExportScope::sizes(const Shape& shape) {
  if (is_constant(shape)) {
    const std::vector<int64_t> sizes = constant_shape(shape);
    return small_constant(Tensor::of<int64_t>({static_cast<int64_t>(sizes.size())}, sizes));
  }
  Names parts;
  for (const Dim& dim : shape) parts.push_back(size_of(dim));
  return parts.size() == 1 ? parts[0] : emit("Concat", parts, {{"axis", int64_t{0}}});
}

}  // namespace hone::onnx

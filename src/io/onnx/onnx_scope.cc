#include "io/onnx/onnx_scope.h"

#include <algorithm>
#include <stdexcept>

#include "base/checked.h"
#include "base/hash.h"
#include "base/stop.h"
#include "base/text.h"
#include "io/onnx/data_type.h"
#include "io/onnx/tensors.h"
#include "io/registry.h"

namespace hone {
namespace {

constexpr int64_t kNamedElements = 16;  // constants from here on can be told apart by a name, as weights are

// Numbers that may be weights: those have a name, however few they are.
bool may_be_weight(const Tensor& tensor) { return is_float(tensor.dtype()) && tensor.container() == Container::none; }

constexpr size_t kMaxFunctionDepth = 32;
constexpr int kMaxDepth = 64;                // of functions and bodies within each other
constexpr int kMaxBodies = 30;               // graph text, which artefacts have, nests 32
constexpr int kMaxRank = 64;                 // as in NumPy
constexpr int64_t kMostWork = 1'000'000;     // beyond the file's own nodes: 100 layers of 1,000 nodes, ten times over
constexpr int64_t kMostBytes = 256'000'000;  // of nodes that are copied to replace attributes of functions
constexpr size_t kSymbolLength = 64;

std::string function_key(const std::string& domain, const std::string& name, const std::string& overload) {
  return (domain == "ai.onnx" ? "" : domain) + ":" + name + ":" + overload;
}

std::string operator_name(const onnx::NodeProto& node) {
  const bool main = node.domain().empty() || node.domain() == "ai.onnx";
  return main ? node.op_type() : node.domain() + "." + node.op_type();
}

// The letters of a name as a symbol. Of a long one the beginning, and what tells it from others that begin like it.
Dim symbol_of(const std::string& name) {
  std::string symbol = std::isalpha(static_cast<unsigned char>(name[0])) ? "" : "d";
  for (char c : name.substr(0, kSymbolLength)) symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.size() > kSymbolLength) symbol += "_" + sha256_hex(name).substr(0, 16);
  return Dim::symbol(symbol);
}

// A name from elsewhere as a dimension: an expression ("past + seq"), or a symbol. Names without letters, such as "?",
// name nothing.
std::optional<Dim> dim_of(const std::string& name) {
  if (std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c); })) return std::nullopt;
  if (name.size() > kSymbolLength) return symbol_of(name);
  try {
    return Dim::parse(name);
  } catch (const Error&) {
    return symbol_of(name);
  }
}

// Numbers of a Constant are told apart by a name as an initializer's are, but for single ones, which are literals of a
// formula. What is computed is no tensor of the file.
bool is_named(const onnx::NodeProto& node, const Tensor& value) {
  if (!may_be_weight(value)) return value.elements() >= kNamedElements;
  return node.op_type() == "Constant" && !value.shape().empty();
}

bool refers(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(), [](const onnx::AttributeProto& attribute) {
    return !attribute.ref_attr_name().empty() ||
           (attribute.has_g() && std::any_of(attribute.g().node().begin(), attribute.g().node().end(), refers));
  });
}

// The attributes of a function's nodes that stand for those of the call.
void resolve(onnx::NodeProto& node, const GivenAttributes& given) {
  auto* attributes = node.mutable_attribute();
  int kept = 0;
  for (int i = 0; i < attributes->size(); ++i) {
    onnx::AttributeProto& attribute = *attributes->Mutable(i);
    if (!attribute.ref_attr_name().empty()) {
      const auto found = given.find(attribute.ref_attr_name());
      if (found == given.end()) continue;
      const std::string name = attribute.name();
      attribute = *found->second;
      attribute.set_name(name);
    }
    if (attribute.has_g())
      for (onnx::NodeProto& inner : *attribute.mutable_g()->mutable_node()) resolve(inner, given);
    attributes->SwapElements(kept++, i);
  }
  attributes->DeleteSubrange(kept, attributes->size() - kept);
}

// A function, as long as it is being inlined.
class OnStack {
 public:
  OnStack(std::vector<std::string>& stack, std::string key) : stack_(stack) { stack_.push_back(std::move(key)); }
  ~OnStack() { stack_.pop_back(); }
  OnStack(const OnStack&) = delete;

 private:
  std::vector<std::string>& stack_;
};

}  // namespace

std::string onnx_node_text(const onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty())
    for (const std::string& output : node.output())
      if (name.empty() && !output.empty()) name = output;
  return fmt::format("node \"{}\" ({})", name, operator_name(node));
}

void OnnxModelContext::spend(int64_t more_work, int64_t more_bytes) {
  work += more_work, bytes += more_bytes;
  if (work > kMostWork || bytes > kMostBytes)
    fail(
        "{}: its functions and bodies come to more than {} nodes and names, or {} bytes, when they are put in place of "
        "their calls",
        source, kMostWork, kMostBytes);
}

OnnxModelContext::Nested::Nested(OnnxModelContext& model, bool is_body) : model_(model), is_body_(is_body) {
  if (model_.depth >= kMaxDepth) fail("functions and bodies lie {} deep within each other", kMaxDepth);
  if (is_body && model_.bodies >= kMaxBodies) fail("bodies lie more than {} deep within each other", kMaxBodies);
  ++model_.depth, model_.bodies += is_body_;
}

void OnnxScope::define(const std::string& name, ValueId value) {
  if (!values_.emplace(name, value).second) fail("value \"{}\" is defined twice; names must be unique", name);
}

ValueId OnnxScope::lookup(const std::string& name) {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  if (missing_.contains(name)) throw Unsupported("");
  const ValueId outer = around_ ? around_->lookup(name) : kNone;
  if (outer == kNone || !captures_) return outer;
  return capture(name, outer);
}

// Small constants are copied, so that the body knows them; everything else becomes a further input, and so do weights.
ValueId OnnxScope::capture(const std::string& name, ValueId outer) {
  Graph& from = around_->graph();
  ValueId inner = kNone;
  const Tensor* constant = from.constant(outer);
  const bool is_weight = constant && may_be_weight(*constant) && !from.value(outer).label.empty();
  const bool is_small = constant && constant->elements() <= kNamedElements && constant->container() == Container::none;
  if (is_small && !(is_weight && !constant->shape().empty())) {
    inner = graph_.add_constant(is_weight ? from.value(outer).label : "", *constant);
  } else {
    inner = graph_.add_input(name, from.type(outer));
    if (const std::optional<Shape> dims = around_->dims().of(from, outer)) dims_.set(inner, *dims);
    const Tensor* const value = around_->dims().value(from, outer);
    if (value && value->elements() <= kNamedElements) dims_.hold(inner, *value);
    captures_->push_back(outer);
  }
  values_[name] = inner;
  return inner;
}

ValueId OnnxScope::find(const std::string& name) {
  const ValueId value = lookup(name);
  if (value == kNone && !values_.contains(name))  // an input that a function was called without is there as none
    fail("reads \"{}\", which no input, initializer or node before it defines; nodes must be in the order they run",
         name);
  return value;
}

const Tensor& OnnxScope::tensor(const onnx::TensorProto& proto, const std::string& what) {
  if (const auto found = model_.tensors.find(&proto); found != model_.tensors.end()) return found->second;
  // The model is ours alone, and each tensor of it is taken once.
  auto& taken = const_cast<onnx::TensorProto&>(proto);
  const auto in_file = model_.in_file.find(&proto);
  const onnx::TensorContext where{what, model_.external, in_file == model_.in_file.end() ? nullptr : &in_file->second};
  return model_.tensors.emplace(&proto, onnx::tensor_of(std::move(taken), where)).first->second;
}

const Tensor& OnnxScope::tensor(const onnx::SparseTensorProto& proto, const std::string& what) {
  if (const auto found = model_.sparse_tensors.find(&proto); found != model_.sparse_tensors.end()) return found->second;
  auto& taken = const_cast<onnx::SparseTensorProto&>(proto);
  return model_.sparse_tensors.emplace(&proto, onnx::tensor_of(std::move(taken), {what, model_.external}))
      .first->second;
}

TensorType OnnxScope::type_of(const onnx::TypeProto& proto, const std::string& name) const {
  const std::string what = fmt::format("{}: \"{}\"", model_.source, name);
  const auto inner = [&](const onnx::TypeProto& elem, Container outer) {
    const TensorType type = type_of(elem, name);
    if (outer == Container::optional && type.container == Container::sequence)
      return TensorType::of(Container::optional_sequence, type.dtype, type.item_rank);
    if (type.container != Container::none)
      throw Unsupported(fmt::format("{}: a container of {}", what, to_string(type)));
    // No dimensions are what some exporters write where they don't know them.
    return TensorType::of(outer, type.dtype, type.rank() > 0 ? type.rank_or_unknown() : TensorType::kUnknownRank);
  };
  if (proto.has_sequence_type()) return inner(proto.sequence_type().elem_type(), Container::sequence);
  if (proto.has_optional_type()) return inner(proto.optional_type().elem_type(), Container::optional);
  if (!proto.has_tensor_type())
    throw Unsupported(fmt::format("{}: is neither a tensor, a sequence nor an optional; supported: these", what));
  const auto& tensor = proto.tensor_type();
  if (tensor.shape().dim_size() > kMaxRank)
    fail("{} has {} dimensions; at most {} are accepted", what, tensor.shape().dim_size(), kMaxRank);
  TensorType type;
  try {
    type.dtype = onnx::dtype_of(tensor.elem_type(), what);
  } catch (const Error& error) {
    throw Unsupported(error.what());
  }
  type.ranked = tensor.has_shape();
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    const std::optional<Dim> named = dim_of(dim.dim_param());
    if (dim.has_dim_value() && dim.dim_value() >= 0) type.shape.emplace_back(dim.dim_value());
    else type.shape.push_back(named ? *named : *dim_of(fmt::format("{}_{}", name, i)));
  }
  return type;
}

void OnnxScope::add_initializers(const onnx::GraphProto& graph) {
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    const bool is_named = tensor.elements() >= kNamedElements || !captures_ || may_be_weight(tensor);
    const ValueId id = graph_.add_constant(is_named ? name : "", tensor);
    define(name, id);
  };
  for (const onnx::TensorProto& proto : graph.initializer()) {
    if (proto.name().empty()) fail("{}: an initializer has no name", model_.source);
    add(proto.name(), tensor(proto, model_.source));
  }
  for (const onnx::SparseTensorProto& proto : graph.sparse_initializer())
    add(proto.values().name(), tensor(proto, model_.source));
}

void OnnxScope::add_inputs(const onnx::GraphProto& graph) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (input.name().empty()) fail("{}: an input has no name", model_.source);
    if (values_.contains(input.name()) && graph_.constant(values_[input.name()])) continue;  // as before IR version 4
    define(input.name(), graph_.add_input(input.name(), type_of(input.type(), input.name())));
  }
}

const OnnxOperator* OnnxScope::find_operator(const onnx::NodeProto& node, int opset) const {
  if (model_.operators.empty())
    for (const OnnxFamilyDef* family : io::all())
      for (const OnnxOperator& entry : family->operators) model_.operators[entry.name].push_back(&entry);
  const auto named = model_.operators.find(node.op_type());
  if (named == model_.operators.end()) return nullptr;
  const std::string_view domain = node.domain() == "ai.onnx" ? std::string_view() : node.domain();
  const OnnxOperator* best = nullptr;
  for (const OnnxOperator* entry : named->second)
    if (domain == entry->domain && entry->since <= opset && (!best || entry->since > best->since)) best = entry;
  return best;
}

void OnnxScope::skip(const onnx::NodeProto& node, const std::string& reason) {
  for (const std::string& output : node.output()) missing_.insert(output);
  if (reason.empty()) return;  // it only reads what a node that is listed would give
  std::string name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  model_.unsupported.push_back({std::move(name), operator_name(node), reason});
}

std::vector<ValueId> OnnxScope::inline_function(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  const std::string key = function_key(function.domain(), function.name(), function.overload());
  if (std::find(model_.function_stack.begin(), model_.function_stack.end(), key) != model_.function_stack.end())
    fail("function {} calls itself", function.name());
  if (model_.function_stack.size() >= kMaxFunctionDepth) fail("functions call each other {} deep", kMaxFunctionDepth);
  const OnnxModelContext::Nested nested(model_);
  model_.spend(1 + function.input_size() + function.output_size() + function.attribute_proto_size() +
               function.opset_import_size() + static_cast<int64_t>(opsets_.size()));
  GivenAttributes attributes;
  for (const onnx::AttributeProto& attribute : function.attribute_proto()) attributes[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& attribute : call.attribute()) attributes[attribute.name()] = &attribute;
  OpsetVersions opsets = opsets_;
  for (const auto& opset : function.opset_import())
    opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = static_cast<int>(opset.version());

  const OnStack on_stack(model_.function_stack, key);
  OnnxScope scope(model_, opsets, graph_, dims_);
  for (int i = 0; i < function.input_size(); ++i)
    scope.define(function.input(i), i < call.input_size() && !call.input(i).empty() ? find(call.input(i)) : kNone);
  for (const onnx::NodeProto& original : function.node()) {
    model_.spend(1 + original.input_size() + original.output_size());
    scope.add_node(refers(original) ? resolved_copy(original, attributes) : original);
  }
  std::vector<ValueId> results;
  for (const std::string& output : function.output()) results.push_back(scope.find(output));
  return results;
}

const onnx::NodeProto& OnnxScope::resolved_copy(const onnx::NodeProto& node, const GivenAttributes& given) {
  model_.spend(0, static_cast<int64_t>(node.ByteSizeLong()));
  model_.resolved.push_back(node);
  resolve(model_.resolved.back(), given);
  model_.spend(0, static_cast<int64_t>(model_.resolved.back().ByteSizeLong()));
  return model_.resolved.back();
}

std::vector<ValueId> OnnxScope::import_node(const onnx::NodeProto& proto) {
  const auto opset = opsets_.find(proto.domain() == "ai.onnx" ? "" : proto.domain());
  if (!model_.functions.empty())
    if (const auto function = model_.functions.find(function_key(proto.domain(), proto.op_type(), proto.overload()));
        function != model_.functions.end())
      return inline_function(*function->second, proto);
  // Domains of fused operators have one version, and exporters forget to import them.
  const int version = opset == opsets_.end() ? 1 : opset->second;
  const OnnxOperator* found = find_operator(proto, version);
  if (!found) throw Unsupported(fmt::format("operator {} is not supported in opset {}", operator_name(proto), version));
  OnnxNode node(*this, proto, version);
  return found->import(node);
}

void OnnxScope::add_node(const onnx::NodeProto& proto) {
  check_stop();
  if (++model_.nodes > model_.nodes_in_file) model_.spend(1);
  std::vector<ValueId> results;
  try {
    results = import_node(proto);
  } catch (const Unsupported& unsupported) {
    return skip(proto, unsupported.what());
  } catch (const std::out_of_range&) {  // import functions look for dimensions with at()
    fail("{}: {}: has fewer dimensions or values than the operator needs", model_.source, onnx_node_text(proto));
  } catch (const std::length_error&) {
    fail("{}: {}: asks for a list longer than there can be", model_.source, onnx_node_text(proto));
  } catch (const Error& error) {
    const std::string place = fmt::format("{}: {}", model_.source, onnx_node_text(proto));
    const std::string what = error.what();
    if (what.starts_with(model_.source + ":")) throw;  // it names the inner node
    fail("{}: {}", place, what);
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    const std::string& name = proto.output(i);
    if (name.empty()) continue;
    if (static_cast<size_t>(i) >= results.size() || results[static_cast<size_t>(i)] == kNone) {
      skip(proto, fmt::format("output {} is not computed", i));
      continue;
    }
    const ValueId value = results[static_cast<size_t>(i)];
    if (values_.contains(name))
      fail("{}: {}: value \"{}\" is defined twice; names must be unique", model_.source, onnx_node_text(proto), name);
    values_[name] = value;
    if (graph_.value(value).kind == ValueKind::result) graph_.rename(value, name);
    else if (const Tensor* constant = graph_.constant(value);
             constant && graph_.value(value).label.empty() && is_named(proto, *constant))
      graph_.set_label(value, name);
  }
}

void OnnxScope::add_nodes(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) add_node(node);
}

std::vector<ValueId> OnnxScope::outputs_of(const onnx::GraphProto& graph) {
  std::vector<ValueId> values;
  for (const onnx::ValueInfoProto& output : graph.output()) values.push_back(find(output.name()));
  return values;
}

}  // namespace hone

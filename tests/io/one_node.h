// ONNX models of one node, imported from memory.
#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <map>
#include <string>
#include <vector>

#include "io/onnx/data_type.h"
#include "io/onnx/import_model.h"
#include "io/onnx/tensors.h"
#include "ops/evaluate.h"

namespace hone {

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

inline Tensor f32(Integers shape, const Floats& values) { return Tensor::of<float>(std::move(shape), values); }
inline Tensor i64(Integers shape, const Integers& values) { return Tensor::of<int64_t>(std::move(shape), values); }

// An input of a model; `type` as in a graph's text: f32[B,3].
inline void add_input(onnx::GraphProto& graph, const std::string& name, const std::string& type) {
  const TensorType parsed = parse_type(type);
  onnx::ValueInfoProto* info = graph.add_input();
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::data_type_of(parsed.dtype));
  tensor->mutable_shape();
  for (const Dim& dim : parsed.shape)
    if (dim.is_constant()) tensor->mutable_shape()->add_dim()->set_dim_value(dim.constant());
    else tensor->mutable_shape()->add_dim()->set_dim_param(dim.to_string());
}

// `inputs` in the order of the graph's.
inline std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> named;
  for (size_t i = 0; i < inputs.size(); ++i) named[graph.value(graph.inputs()[i]).label] = inputs[i];
  return evaluate(graph, named);
}

// Inputs and constants are x0, x1, ... in the order they are added in; outputs are y0, y1, ...
class OneNode {
 public:
  OneNode(const char* op, int opset, int outputs = 1) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    model_.mutable_graph()->add_node()->set_op_type(op);
    for (int i = 0; i < outputs; ++i) {
      node().add_output(fmt::format("y{}", i));
      model_.mutable_graph()->add_output()->set_name(node().output(i));
    }
  }
  OneNode& input(const std::string& type) {
    add_input(*model_.mutable_graph(), next_name(), type);
    return *this;
  }
  OneNode& constant(const Tensor& value) {
    *model_.mutable_graph()->add_initializer() = onnx::to_proto(value, next_name());
    return *this;
  }
  OneNode& domain(const char* name, int version) {
    auto* opset = model_.add_opset_import();
    opset->set_domain(name);
    opset->set_version(version);
    node().set_domain(name);
    return *this;
  }
  OneNode& absent() {
    node().add_input("");
    return *this;
  }
  OneNode& set(const char* name, int64_t value) {
    attribute(name, onnx::AttributeProto::INT)->set_i(value);
    return *this;
  }
  OneNode& set(const char* name, const char* value) {
    attribute(name, onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  OneNode& set(const char* name, std::same_as<float> auto value) {
    attribute(name, onnx::AttributeProto::FLOAT)->set_f(value);
    return *this;
  }
  OneNode& set(const char* name, const std::vector<std::string>& values) {
    auto* strings = attribute(name, onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) strings->add_strings(value);
    return *this;
  }
  OneNode& set(const char* name, const Integers& values) {
    auto* ints = attribute(name, onnx::AttributeProto::INTS);
    for (int64_t value : values) ints->add_ints(value);
    return *this;
  }
  OneNode& set(const char* name, const Floats& values) {
    auto* floats = attribute(name, onnx::AttributeProto::FLOATS);
    for (float value : values) floats->add_floats(value);
    return *this;
  }
  OnnxImport import() const { return import_onnx_bytes(model_.SerializeAsString(), "test.onnx"); }
  Graph graph() const {
    OnnxImport result = import();
    EXPECT_TRUE(result.unsupported.empty()) << unsupported_text("test.onnx", result.unsupported);
    return result.graph;
  }
  std::string type() const {  // of the first output
    const Graph g = graph();
    return to_string(g.type(g.outputs()[0].value));
  }
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const { return hone::run(graph(), inputs); }

 private:
  onnx::NodeProto& node() { return *model_.mutable_graph()->mutable_node(0); }
  std::string next_name() {
    node().add_input(fmt::format("x{}", node().input_size()));
    return node().input(node().input_size() - 1);
  }
  onnx::AttributeProto* attribute(const char* name, int type) {
    onnx::AttributeProto* added = node().add_attribute();
    added->set_name(name);
    added->set_type(type);
    return added;
  }

  onnx::ModelProto model_;
};

}  // namespace hone

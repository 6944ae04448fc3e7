#include "io/onnx/tensor_messages.h"

namespace hone::onnx {
namespace {

void collect(GraphProto& graph, TensorMessages& found);

void collect(AttributeProto& attribute, TensorMessages& found) {
  if (attribute.has_t()) found.dense.push_back(attribute.mutable_t());
  for (TensorProto& tensor : *attribute.mutable_tensors()) found.dense.push_back(&tensor);
  if (attribute.has_sparse_tensor()) found.sparse.push_back(attribute.mutable_sparse_tensor());
  for (SparseTensorProto& tensor : *attribute.mutable_sparse_tensors()) found.sparse.push_back(&tensor);
  if (attribute.has_g()) collect(*attribute.mutable_g(), found);
  for (GraphProto& graph : *attribute.mutable_graphs()) collect(graph, found);
}

void collect(GraphProto& graph, TensorMessages& found) {
  for (TensorProto& tensor : *graph.mutable_initializer()) found.dense.push_back(&tensor);
  for (SparseTensorProto& tensor : *graph.mutable_sparse_initializer()) found.sparse.push_back(&tensor);
  for (NodeProto& node : *graph.mutable_node())
    for (AttributeProto& attribute : *node.mutable_attribute()) collect(attribute, found);
}

}  // namespace

TensorMessages tensor_messages(ModelProto& model) {
  TensorMessages found;
  if (model.has_graph()) collect(*model.mutable_graph(), found);
  for (FunctionProto& function : *model.mutable_functions()) {
    for (AttributeProto& attribute : *function.mutable_attribute_proto()) collect(attribute, found);
    for (NodeProto& node : *function.mutable_node())
      for (AttributeProto& attribute : *node.mutable_attribute()) collect(attribute, found);
  }
  return found;
}

}  // namespace hone::onnx

#include "io/onnx/tensor_file.h"

#include "base/error.h"
#include "io/onnx/message_file.h"
#include "io/onnx/tensors.h"

namespace hone {
namespace {

Tensor tensor_in(onnx::TensorProto&& proto, const std::string& path) {
  return onnx::tensor_of(std::move(proto), {path, nullptr});
}

Tensor sequence_in(onnx::SequenceProto&& proto, DType dtype, const std::string& path) {
  std::vector<Tensor> items;
  for (onnx::TensorProto& item : *proto.mutable_tensor_values()) {
    items.push_back(tensor_in(std::move(item), path));
    if (items.back().dtype() != dtype)
      fail("{}: item {} is {}; expected {}", path, items.size() - 1, to_string(items.back().type()), to_string(dtype));
  }
  return Tensor::sequence(dtype, std::move(items));
}

Tensor optional_in(onnx::OptionalProto&& proto, const TensorType& like, const std::string& path) {
  const bool of_sequence = like.container == Container::optional_sequence;
  const TensorType inside =
      of_sequence ? TensorType::of(Container::sequence, like.dtype) : TensorType{.dtype = like.dtype};
  if (proto.has_sequence_value() && of_sequence)
    return Tensor::optional(inside, sequence_in(std::move(*proto.mutable_sequence_value()), like.dtype, path));
  if (proto.has_tensor_value() && !of_sequence)
    return Tensor::optional(inside, tensor_in(std::move(*proto.mutable_tensor_value()), path));
  return Tensor::optional(inside, std::nullopt);
}

}  // namespace

Tensor read_tensor_file(const std::string& path, const TensorType& like) {
  if (like.container == Container::none) {
    onnx::TensorProto proto;
    onnx::read_message(path, proto);
    return tensor_in(std::move(proto), path);
  }
  if (like.container == Container::sequence) {
    onnx::SequenceProto proto;
    onnx::read_message(path, proto);
    return sequence_in(std::move(proto), like.dtype, path);
  }
  onnx::OptionalProto proto;
  onnx::read_message(path, proto);
  return optional_in(std::move(proto), like, path);
}

}  // namespace hone

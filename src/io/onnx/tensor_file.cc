#include "io/onnx/tensor_file.h"

#include "base/error.h"
#include "base/mapped_file.h"
#include "io/onnx/message_file.h"
#include "io/onnx/tensors.h"

namespace hone {
namespace {

Tensor tensor_in(onnx::TensorProto&& proto, const std::string& source) {
  return onnx::tensor_of(std::move(proto), {source, nullptr});
}

Tensor sequence_in(onnx::SequenceProto&& proto, DType dtype, const std::string& source) {
  if (proto.sparse_tensor_values_size() + proto.sequence_values_size() + proto.map_values_size() +
          proto.optional_values_size() >
      0)
    fail("{}: a sequence with items that are no tensors is not supported", source);
  std::vector<Tensor> items;
  for (onnx::TensorProto& item : *proto.mutable_tensor_values()) {
    items.push_back(tensor_in(std::move(item), source));
    if (items.back().dtype() != dtype)
      fail("{}: item {} is {}; expected {}", source, items.size() - 1, to_string(items.back().type()),
           to_string(dtype));
  }
  return Tensor::sequence(dtype, std::move(items));
}

// What the optional holds, if it holds something.
std::optional<Tensor> value_in(onnx::OptionalProto&& proto, const TensorType& type, const std::string& source) {
  if (proto.has_tensor_value() && type.container == Container::none) {
    Tensor value = tensor_in(std::move(*proto.mutable_tensor_value()), source);
    if (value.dtype() != type.dtype)
      fail("{}: holds {}; expected {}", source, to_string(value.type()), to_string(type.dtype));
    return value;
  }
  if (proto.has_sequence_value() && type.container == Container::sequence)
    return sequence_in(std::move(*proto.mutable_sequence_value()), type.dtype, source);
  if (proto.has_tensor_value() || proto.has_sequence_value() || proto.has_sparse_tensor_value() ||
      proto.has_map_value() || proto.has_optional_value())
    fail("{}: holds a value of another kind; expected {} or nothing", source, to_string(type));
  return std::nullopt;
}

template <class Proto>
Proto parsed(std::string_view bytes, const std::string& source) {
  Proto proto;
  onnx::parse_message(bytes, source, proto);
  return proto;
}

}  // namespace

Tensor parse_tensor_file(std::string_view bytes, const std::string& source, const TensorType& like) {
  if (like.container == Container::none) return tensor_in(parsed<onnx::TensorProto>(bytes, source), source);
  if (like.container == Container::sequence)
    return sequence_in(parsed<onnx::SequenceProto>(bytes, source), like.dtype, source);
  const bool of_sequence = like.container == Container::optional_sequence;
  const TensorType inside =
      of_sequence ? TensorType::of(Container::sequence, like.dtype) : TensorType::unranked(like.dtype);
  return Tensor::optional(inside, value_in(parsed<onnx::OptionalProto>(bytes, source), inside, source));
}

Tensor read_tensor_file(const std::string& path, const TensorType& like) {
  const MappedFile file(path);
  return parse_tensor_file({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path, like);
}

}  // namespace hone

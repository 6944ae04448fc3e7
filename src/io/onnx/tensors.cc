#include "io/onnx/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/onnx/data_type.h"
#include "io/onnx/extent.h"
#include "io/onnx/external_data.h"
#include "io/onnx/packed_elements.h"

namespace hone::onnx {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and used as it is");

namespace {

using google::protobuf::RepeatedField;

std::string source_of(const TensorProto& proto, const TensorContext& where) {
  return proto.name().empty() ? where.source : fmt::format("{}: tensor {:?}", where.source, proto.name());
}

// The field for elements of a type where they are not in raw_data.
std::string_view typed_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float_data";
    case DType::f64:
      return "double_data";
    case DType::i64:
      return "int64_data";
    case DType::u32:
    case DType::u64:
      return "uint64_data";
    case DType::string:
      return "string_data";
    default:
      return "int32_data";
  }
}

// The one field that elements are in; "" when all are empty.
std::string_view field_of(const TensorProto& proto, DType dtype, bool in_file, const std::string& source) {
  if (proto.has_segment()) fail("{}: is a segment of a larger tensor, which is not supported", source);
  const bool external = proto.data_location() == TensorProto::EXTERNAL;
  if (!external && proto.data_location() != TensorProto::DEFAULT)
    fail("{}: data_location is {}; expected 0 (here) or 1 (external)", source, proto.data_location());
  const std::pair<std::string_view, bool> fields[] = {
      {"raw_data", in_file || !proto.raw_data().empty()}, {"float_data", proto.float_data_size() > 0},
      {"int32_data", proto.int32_data_size() > 0},        {"int64_data", proto.int64_data_size() > 0},
      {"double_data", proto.double_data_size() > 0},      {"uint64_data", proto.uint64_data_size() > 0},
      {"string_data", proto.string_data_size() > 0},      {"external_data", proto.external_data_size() > 0}};
  std::vector<std::string_view> accepted;
  if (dtype != DType::string) accepted.emplace_back(external ? "external_data" : "raw_data");
  if (!external || dtype == DType::string) accepted.push_back(typed_field(dtype));
  std::vector<std::string_view> found;
  for (const auto& [name, filled] : fields)
    if (filled) found.push_back(name);
  const bool fits = found.empty() || std::find(accepted.begin(), accepted.end(), found[0]) != accepted.end();
  if (found.size() > 1 || !fits)
    fail("{}: {} elements are in {}; expected them in {}", source, data_type_name(proto.data_type()),
         fmt::join(found, " and in "), fmt::join(accepted, " or in "));
  return found.empty() ? "" : found[0];
}

void check_count(size_t found, size_t expected, std::string_view what, const std::string& source) {
  if (found != expected) fail("{}: has {} {}; type and shape take {}", source, found, what, expected);
}

template <class T, class Stored>
Buffer converted(const RepeatedField<Stored>& numbers, const std::string& source) {
  Buffer data(static_cast<size_t>(numbers.size()) * sizeof(T));
  T* out = reinterpret_cast<T*>(data.mutable_bytes().data());
  for (const Stored number : numbers) {
    if (!std::in_range<T>(number))
      fail("{}: element {} is {}, which its type can't hold", source,
           out - reinterpret_cast<const T*>(data.bytes().data()), number);
    *out++ = static_cast<T>(number);
  }
  return data;
}

template <class T, class Stored>
Buffer from_numbers(RepeatedField<Stored>& numbers, int64_t count, const std::string& source) {
  check_count(static_cast<size_t>(numbers.size()), static_cast<size_t>(count), "numbers", source);
  if constexpr (std::is_same_v<T, Stored>) {
    const auto owner = std::make_shared<RepeatedField<Stored>>(std::move(numbers));
    return {owner, std::as_bytes(std::span(owner->data(), static_cast<size_t>(owner->size())))};
  } else {
    return converted<T>(numbers, source);
  }
}

Buffer from_typed_field(TensorProto& proto, DType dtype, int64_t count, const std::string& source) {
  auto& int32_data = *proto.mutable_int32_data();
  auto& uint64_data = *proto.mutable_uint64_data();
  switch (dtype) {
    case DType::f32:
      return from_numbers<float>(*proto.mutable_float_data(), count, source);
    case DType::f64:
      return from_numbers<double>(*proto.mutable_double_data(), count, source);
    case DType::i64:
      return from_numbers<int64_t>(*proto.mutable_int64_data(), count, source);
    case DType::u32:
      return from_numbers<uint32_t>(uint64_data, count, source);
    case DType::u64:
      return from_numbers<uint64_t>(uint64_data, count, source);
    case DType::i32:
      return from_numbers<int32_t>(int32_data, count, source);
    case DType::i16:
      return from_numbers<int16_t>(int32_data, count, source);
    case DType::i8:
      return from_numbers<int8_t>(int32_data, count, source);
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return from_numbers<uint16_t>(int32_data, count, source);
    default:  // codes of a byte, or of two elements
      return from_numbers<uint8_t>(int32_data, count, source);
  }
}

Buffer from_raw_data(TensorProto& proto, size_t bytes, const std::string& source) {
  check_count(proto.raw_data().size(), bytes, "bytes", source);
  const auto owner = std::make_shared<std::string>(std::move(*proto.mutable_raw_data()));
  return {owner, std::as_bytes(std::span(*owner))};  // of the heap, or a short string's own: aligned for 8 bytes
}

// Floats stay where they are on any byte, which readers of weights take; for others they are copied.
Buffer from_file(const DataInFile& data, DType dtype, size_t bytes, const std::string& source) {
  check_count(data.bytes.size(), bytes, "bytes", source);
  const std::span<const std::byte> view = std::as_bytes(std::span(data.bytes));
  const auto item = static_cast<size_t>(packed_bits(dtype) > 0 ? 1 : size_bytes(dtype));
  if (reinterpret_cast<uintptr_t>(view.data()) % item == 0) return {data.file, view, true};
  if (!is_float(dtype)) return Buffer::copy_of(view);
  return Buffer::of_source({.owner = data.file,
                            .bytes = view,
                            .columns = static_cast<int64_t>(view.size() / item),
                            .element_bytes = static_cast<int64_t>(item),
                            .mapped = true});
}

Buffer from_external_data(const TensorProto& proto, DType dtype, size_t bytes, const TensorContext& where,
                          const std::string& source) {
  if (!where.external)
    fail("{}: its data is in another file; external data is accepted for the tensors of a model file only", source);
  const bool converted = dtype == DType::boolean || packed_bits(dtype) > 0;
  const size_t alignment = converted ? 0 : static_cast<size_t>(size_bytes(dtype));
  return where.external->read(proto, bytes, alignment, source);
}

// Any byte but 0 is true, as NumPy reads it; a C++ bool may be 0 or 1 only.
Buffer as_booleans(Buffer data) {
  const auto bytes = data.bytes();
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; })) return data;
  for (std::byte& b : data.mutable_bytes()) b = std::byte{b != std::byte{0}};
  return data;
}

void expect_six_bits(const Buffer& codes, const std::string& source) {
  for (const std::byte& code : codes.bytes())
    if (code > std::byte{63})
      fail("{}: element {} is {}, which its type can't hold", source, &code - codes.bytes().data(),
           std::to_integer<int>(code));
}

Tensor strings_of(TensorProto& proto, Extent extent, const std::string& source) {
  check_count(static_cast<size_t>(proto.string_data_size()), static_cast<size_t>(extent.elements), "elements", source);
  std::vector<std::string> values(std::make_move_iterator(proto.mutable_string_data()->begin()),
                                  std::make_move_iterator(proto.mutable_string_data()->end()));
  return Tensor::strings(std::move(extent.shape), std::move(values));
}

}  // namespace

Tensor tensor_of(TensorProto&& proto, const TensorContext& where) {
  const std::string source = source_of(proto, where);
  const DType dtype = dtype_of(proto.data_type(), source);
  Extent extent = extent_of(proto.dims(), dtype, source);
  const std::string_view field = field_of(proto, dtype, where.in_file != nullptr, source);
  if (dtype == DType::string) return strings_of(proto, std::move(extent), source);
  const auto bytes = static_cast<size_t>(packed_bytes(dtype, extent.elements));
  // int32_data has a number for every byte of packed elements, but for every element of six bits.
  const bool is_packed = packed_bits(dtype) > 0 && !(packed_bits(dtype) == 6 && field == "int32_data");
  const int64_t numbers = is_packed ? static_cast<int64_t>(bytes) : extent.elements;
  Buffer data = proto.data_location() == TensorProto::EXTERNAL ? from_external_data(proto, dtype, bytes, where, source)
                : where.in_file                                ? from_file(*where.in_file, dtype, bytes, source)
                : field == "raw_data" || field.empty()         ? from_raw_data(proto, bytes, source)
                                                               : from_typed_field(proto, dtype, numbers, source);
  if (dtype == DType::boolean) data = as_booleans(std::move(data));
  if (is_packed) data = unpacked_elements(dtype, data.bytes(), extent.elements);
  else if (packed_bits(dtype) == 6) expect_six_bits(data, source);
  return {dtype, std::move(extent.shape), std::move(data)};
}

TensorProto to_proto(const Tensor& tensor, const std::string& name) {
  CHECK(!tensor.is_packed() && tensor.container() == Container::none, "{} is {}", name, to_string(tensor.type()));
  TensorProto proto;
  if (!name.empty()) proto.set_name(name);
  proto.set_data_type(data_type_of(tensor.dtype()));
  proto.mutable_dims()->Add(tensor.shape().begin(), tensor.shape().end());
  if (tensor.dtype() == DType::string) {
    for (const std::string& value : tensor.string_values()) proto.add_string_data(value);
  } else if (const auto bytes = tensor.data().bytes(); packed_bits(tensor.dtype()) > 0) {
    proto.set_raw_data(packed_elements(tensor.dtype(), bytes));
  } else {
    proto.set_raw_data(bytes.data(), bytes.size());
  }
  return proto;
}

}  // namespace hone::onnx

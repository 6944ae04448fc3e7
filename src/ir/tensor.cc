#include "ir/tensor.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/memory_limit.h"
#include "ir/lying_bytes.h"

namespace hone {
namespace {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::i8;
  else if constexpr (std::is_same_v<T, int16_t>) return DType::i16;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  else if constexpr (std::is_same_v<T, uint16_t>) return DType::u16;
  else if constexpr (std::is_same_v<T, uint32_t>) return DType::u32;
  else if constexpr (std::is_same_v<T, uint64_t>) return DType::u64;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else return DType::f64;
}

template <class T>
bool holds(DType dtype) {
  if (dtype == DType::f16 || dtype == DType::bf16) return std::is_same_v<T, uint16_t>;
  if (dtype == DType::i4 || dtype == DType::i2) return std::is_same_v<T, int8_t>;
  if (is_small(dtype)) return std::is_same_v<T, uint8_t>;
  return dtype == dtype_of<T>();
}

size_t plain_bytes(DType dtype, const std::vector<int64_t>& shape) {
  return static_cast<size_t>(element_count(shape) * size_bytes(dtype));  // of at most 2^56 elements
}

// Of tensors, and of what containers hold.
int item_rank_of(const std::vector<Tensor>& items) {
  int rank = TensorType::kNoItems;
  for (const Tensor& item : items)
    rank = joined_item_rank(
        rank, item.container() == Container::none ? static_cast<int>(item.shape().size()) : item.type().item_rank);
  return rank;
}

bool same_bytes(const Buffer& a, const Buffer& b) {
  if (a.size() != b.size()) return false;
  const auto left = lying_bytes(a), right = lying_bytes(b);
  return a.size() == 0 || left.data() == right.data() || std::memcmp(left.data(), right.data(), a.size()) == 0;
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  if (dtype == DType::string) {
    const int64_t count = element_count(shape_);
    require_memory(count * static_cast<int64_t>(sizeof(std::string)), hone::to_string(type()));
    strings_ = std::make_shared<std::vector<std::string>>(static_cast<size_t>(count));
  } else data_ = Buffer(plain_bytes(dtype, shape_));
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape, Buffer data)
    : dtype_(dtype), shape_(std::move(shape)), data_(std::move(data)) {
  CHECK(data_.size() == plain_bytes(dtype, shape_), "{} bytes for {}", data_.size(), to_string(type()));
}

Tensor Tensor::packed(Format format, std::vector<int64_t> shape, Buffer codes, Buffer scales, Buffer zero_points,
                      Buffer global) {
  const PlaneBytes bytes = plane_bytes(format, shape);
  auto fits = [](const Buffer& plane, int64_t wanted) { return plane.size() == static_cast<size_t>(wanted); };
  CHECK(fits(codes, bytes.codes) && fits(scales, bytes.scales) && fits(zero_points, bytes.zero_points) &&
            fits(global, bytes.global),
        "planes do not fit {}{}", to_string(format), to_string(to_shape(shape)));
  Tensor tensor;
  tensor.format_ = format;
  tensor.shape_ = std::move(shape);
  tensor.data_ = std::move(codes);
  tensor.scales_ = std::move(scales);
  tensor.zero_points_ = std::move(zero_points);
  tensor.global_ = std::move(global);
  return tensor;
}

Tensor Tensor::strings(std::vector<int64_t> shape, std::vector<std::string> values) {
  CHECK(element_count(shape) == static_cast<int64_t>(values.size()));
  Tensor tensor(DType::string, std::move(shape));
  tensor.strings_ = std::make_shared<const std::vector<std::string>>(std::move(values));
  return tensor;
}

Tensor Tensor::sequence(DType dtype, std::vector<Tensor> items) {
  for (const Tensor& item : items)
    CHECK(item.container() == Container::none && !item.is_packed() && item.dtype() == dtype, "{} in a sequence of {}",
          hone::to_string(item.type()), hone::to_string(dtype));
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.container_ = Container::sequence;
  tensor.items_ = std::make_shared<const std::vector<Tensor>>(std::move(items));
  return tensor;
}

Tensor Tensor::optional(const TensorType& type, std::optional<Tensor> value) {
  const bool of_sequence = type.container == Container::sequence;
  CHECK(of_sequence || type.container == Container::none);
  CHECK(!value || (value->dtype() == type.dtype && value->container() == type.container));
  Tensor tensor;
  tensor.dtype_ = type.dtype;
  tensor.container_ = of_sequence ? Container::optional_sequence : Container::optional;
  std::vector<Tensor> items;
  if (value) items.push_back(*std::move(value));
  tensor.items_ = std::make_shared<const std::vector<Tensor>>(std::move(items));
  return tensor;
}

Tensor Tensor::on_host() const {
  Tensor tensor = *this;
  for (Buffer* plane : tensor.buffers()) *plane = plane->on_host();
  return tensor;
}

std::span<const Tensor> Tensor::items() const {
  CHECK(container_ != Container::none, "{} has no items", hone::to_string(type()));
  return *items_;
}

template <class T>
Tensor Tensor::of(std::vector<int64_t> shape, const std::vector<T>& values) {
  Tensor tensor(dtype_of<T>(), std::move(shape));
  CHECK(tensor.elements() == static_cast<int64_t>(values.size()), "{} values for {}", values.size(),
        to_string(tensor.type()));
  std::copy(values.begin(), values.end(), tensor.mutable_as<T>().begin());
  return tensor;
}

int64_t Tensor::bytes() const {
  if (container_ != Container::none) {
    int64_t total = 0;
    for (const Tensor& item : items()) total += item.bytes();
    return total;
  }
  if (dtype_ != DType::string || is_packed())
    return static_cast<int64_t>(data_.size() + scales_.size() + zero_points_.size() + global_.size());
  int64_t total = 0;
  for (const std::string& value : string_values()) total += static_cast<int64_t>(value.size());
  return total;
}

TensorType Tensor::type() const {
  if (container_ != Container::none) return TensorType::of(container_, dtype_, item_rank_of(*items_));
  return {dtype_, to_shape(shape_), format_};
}

Tensor Tensor::reshaped(std::vector<int64_t> shape) const {
  CHECK(!is_packed(), "a packed tensor has no other shape");
  CHECK(element_count(shape) == elements(), "{} as {}", to_string(type()), to_string(to_shape(shape)));
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

PlaneView Tensor::planes() const { return {data_.bytes(), scales_.bytes(), zero_points_.bytes(), global_.bytes()}; }

template <class T>
std::span<const T> Tensor::as() const {
  CHECK(!is_packed() && holds<T>(dtype_), "{} read as another type", to_string(type()));
  return {reinterpret_cast<const T*>(data_.bytes().data()), data_.size() / sizeof(T)};
}

template <class T>
std::span<T> Tensor::mutable_as() {
  CHECK(!is_packed() && holds<T>(dtype_), "{} written as another type", to_string(type()));
  const std::span<std::byte> bytes = data_.mutable_bytes();
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

const std::vector<std::string>& Tensor::string_values() const {
  CHECK(dtype_ == DType::string && strings_);
  return *strings_;
}

bool Tensor::same_bits(const Tensor& other) const {
  if (container_ != other.container_ || dtype_ != other.dtype_ || format_ != other.format_ || shape_ != other.shape_)
    return false;
  if (container_ != Container::none)
    return std::equal(items().begin(), items().end(), other.items().begin(), other.items().end(),
                      [](const Tensor& a, const Tensor& b) { return a.same_bits(b); });
  if (dtype_ == DType::string) return string_values() == other.string_values();
  return same_bytes(data_, other.data_) && same_bytes(scales_, other.scales_) &&
         same_bytes(zero_points_, other.zero_points_) && same_bytes(global_, other.global_);
}

#define HONE_TENSOR_ACCESS(T)                                                 \
  template Tensor Tensor::of<T>(std::vector<int64_t>, const std::vector<T>&); \
  template std::span<const T> Tensor::as<T>() const;                          \
  template std::span<T> Tensor::mutable_as<T>();
HONE_TENSOR_ACCESS(bool)
HONE_TENSOR_ACCESS(int8_t)
HONE_TENSOR_ACCESS(int16_t)
HONE_TENSOR_ACCESS(int32_t)
HONE_TENSOR_ACCESS(int64_t)
HONE_TENSOR_ACCESS(uint8_t)
HONE_TENSOR_ACCESS(uint16_t)
HONE_TENSOR_ACCESS(uint32_t)
HONE_TENSOR_ACCESS(uint64_t)
HONE_TENSOR_ACCESS(float)
HONE_TENSOR_ACCESS(double)
#undef HONE_TENSOR_ACCESS

bool fits(const Tensor& tensor, const TensorType& type) {
  if (tensor.container() != type.container || tensor.dtype() != type.dtype) return false;
  if (type.container != Container::none) return may_be_same(tensor.type(), type);
  if (!type.ranked) return true;
  return std::ranges::equal(tensor.shape(), type.shape,
                            [](int64_t size, const Dim& dim) { return !dim.is_constant() || dim.constant() == size; });
}

}  // namespace hone

// Conversions between element types, packed formats included.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"
#include "ir/compute_column.h"
#include "ir/packer.h"
#include "ir/tensor.h"

namespace hone {
namespace {

constexpr int64_t kPiece = 1 << 16;  // elements: they stay in the second-level cache

template <class T>
std::vector<T> values_as(const Tensor& tensor, DType dtype) {
  require_memory(tensor.elements() * static_cast<int64_t>(sizeof(T)), "a copy of a tensor's values");
  const Tensor converted = tensor.converted(dtype);
  const std::span<const T> values = converted.as<T>();
  return {values.begin(), values.end()};
}

// Some at a time, so that beside what is given and the result there is no third copy.
template <class T>
Tensor from_values(DType dtype, std::vector<int64_t> shape, std::span<const T> values) {
  constexpr DType kOwn = sizeof(T) == sizeof(float) ? DType::f32 : DType::f64;
  CHECK(element_count(shape) == std::ssize(values));
  Tensor result(dtype, std::move(shape));
  if (values.empty()) return result;
  std::byte* to = result.mutable_data();
  for (int64_t first = 0; first < std::ssize(values); first += kPiece) {
    const auto piece = values.subspan(static_cast<size_t>(first))
                           .first(static_cast<size_t>(std::min(kPiece, std::ssize(values) - first)));
    const Tensor converted = Tensor(kOwn, {std::ssize(piece)}, Buffer::copy_of(std::as_bytes(piece))).converted(dtype);
    to = std::ranges::copy(converted.data().bytes(), to).out;
  }
  return result;
}

// In the order in which the elements lie, some at a time: what is converted need not be put in order.
Buffer converted_as_it_lies(const Buffer::Source& from, DType dtype, DType to) {
  const int64_t count = from.rows * from.columns, size = size_bytes(to);
  Buffer buffer = Buffer::uninitialised(static_cast<size_t>(count * size));
  std::byte* const out = buffer.mutable_bytes().data();
  for (int64_t first = 0; first < count; first += kPiece) {
    const int64_t elements = std::min(kPiece, count - first);
    const auto piece = from.bytes.subspan(static_cast<size_t>(first * from.element_bytes),
                                          static_cast<size_t>(elements * from.element_bytes));
    const Tensor converted = Tensor(dtype, {elements}, Buffer::copy_of(piece)).converted(to);
    std::memcpy(out + first * size, converted.data().bytes().data(), static_cast<size_t>(elements * size));
    if (from.mapped) drop_pages(piece);
  }
  return buffer;
}

}  // namespace

std::vector<float> Tensor::to_floats() const { return values_as<float>(*this, DType::f32); }
std::vector<double> Tensor::to_doubles() const { return values_as<double>(*this, DType::f64); }

std::vector<int64_t> Tensor::to_integers() const {
  if (is_packed() || !(is_integer(dtype_) || dtype_ == DType::boolean))
    fail("expected a tensor of integers, found {}", to_string(type()));
  return values_as<int64_t>(*this, DType::i64);
}

Tensor Tensor::from_floats(DType dtype, std::vector<int64_t> shape, std::span<const float> values) {
  return from_values<float>(dtype, std::move(shape), values);
}

Tensor Tensor::from_doubles(DType dtype, std::vector<int64_t> shape, std::span<const double> values) {
  return from_values<double>(dtype, std::move(shape), values);
}

Tensor Tensor::converted(DType dtype) const {
  if (container_ != Container::none) fail("expected a tensor, found {}", hone::to_string(type()));
  if (!is_packed() && dtype == dtype_) return *this;
  if (dtype == DType::string || dtype_ == DType::string)
    fail("{} can't be converted to {}: strings have no numeric value", to_string(type()), to_string(dtype));
  if (const auto from = data_.source(); from && !is_packed()) {
    const Buffer lying = converted_as_it_lies(*from, dtype_, dtype);
    const Buffer result = from->by_columns ? lying.transposed(from->columns, from->rows, size_bytes(dtype)) : lying;
    return {dtype, shape_, result};
  }
  const ComputeColumn column(*this);
  if (column.scalar() == compute_scalar(dtype)) return store_column(dtype, column.tensor());  // a cast to it is nothing
  const Program program = flatten(cast_element(dtype, Expr::arg(0, column.scalar())));
  Tensor scalars(dtype_of(compute_scalar(dtype)), shape_);
  const ConstColumn in{column.data()};
  const MutableColumn out{scalars.mutable_data()};
  interpret(program, {&in, 1}, 0, elements(), {&out, 1});
  return store_column(dtype, scalars);
}

Tensor pack(const Format& format, const Tensor& plain, EncodeCounts* counts) {
  return Packer().pack(format, plain, counts);
}

Tensor unpack(const Tensor& tensor) { return Packer().unpack(tensor); }

}  // namespace hone

#include "ir/compute_column.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/float_bits.h"

namespace hone {
namespace {

template <class From, class To, class Fn>
Tensor mapped(const Tensor& from, DType to, Fn fn) {
  Tensor result(to, from.shape());
  const std::span<const From> src = from.as<From>();
  const std::span<To> dst = result.mutable_as<To>();
  std::transform(src.begin(), src.end(), dst.begin(), fn);
  return result;
}

template <class From, class To>
Tensor widened(const Tensor& from, DType to) {
  return mapped<From, To>(from, to, [](From x) { return static_cast<To>(x); });
}

Tensor as_scalars(const Tensor& tensor) {
  if (tensor.is_packed()) return unpack(tensor);
  switch (tensor.dtype()) {
    case DType::f16:
      return mapped<uint16_t, float>(tensor, DType::f32, f16_to_f32);
    case DType::bf16:
      return mapped<uint16_t, float>(tensor, DType::f32, bf16_to_f32);
    case DType::i8:
      return widened<int8_t, int32_t>(tensor, DType::i32);
    case DType::i16:
      return widened<int16_t, int32_t>(tensor, DType::i32);
    case DType::u8:
      return widened<uint8_t, uint32_t>(tensor, DType::u32);
    case DType::u16:
      return widened<uint16_t, uint32_t>(tensor, DType::u32);
    case DType::string:
      fail("strings have no numeric value");
    default:
      return tensor;
  }
}

}  // namespace

ComputeColumn::ComputeColumn(const Tensor& tensor) : tensor_(as_scalars(tensor)) {}

Tensor store_column(DType dtype, const Tensor& scalars) {
  CHECK(scalars.dtype() == dtype_of(compute_scalar(dtype)));
  switch (dtype) {
    case DType::f16:
      return mapped<float, uint16_t>(scalars, dtype, f32_to_f16);
    case DType::bf16:
      return mapped<float, uint16_t>(scalars, dtype, f32_to_bf16);
    case DType::i8:
      return widened<int32_t, int8_t>(scalars, dtype);
    case DType::i16:
      return widened<int32_t, int16_t>(scalars, dtype);
    case DType::u8:
      return widened<uint32_t, uint8_t>(scalars, dtype);
    case DType::u16:
      return widened<uint32_t, uint16_t>(scalars, dtype);
    default:
      return scalars;
  }
}

DType dtype_of(Scalar scalar) {
  constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean};
  return kDTypes[static_cast<size_t>(scalar)];
}

Expr cast_element(DType dtype, Expr x) {
  const Scalar to = compute_scalar(dtype);
  const bool narrow = size_bytes(dtype) < 4 && is_integer(dtype);
  const Expr element = cast(to, x);
  if (!narrow || !is_float(x.type())) return element;
  const int bits = 8 * size_bytes(dtype);
  if (!is_signed(to)) return min(element, Expr::number(to, (1 << bits) - 1));
  const int limit = 1 << (bits - 1);
  return max(min(element, Expr::number(to, limit - 1)), Expr::number(to, -limit));
}

}  // namespace hone

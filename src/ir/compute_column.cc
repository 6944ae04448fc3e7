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
  if (tensor.container() != Container::none) fail("expected a tensor, found {}", to_string(tensor.type()));
  if (tensor.is_packed()) return unpack(tensor);
  if (const SmallFloat* type = small_float(tensor.dtype()))
    return mapped<uint8_t, float>(tensor, DType::f32, [type](uint8_t code) { return decode_small_float(*type, code); });
  switch (tensor.dtype()) {
    case DType::f16:
      return mapped<uint16_t, float>(tensor, DType::f32, f16_to_f32);
    case DType::bf16:
      return mapped<uint16_t, float>(tensor, DType::f32, [](uint16_t x) { return bf16_to_f32(x); });
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return widened<int8_t, int32_t>(tensor, DType::i32);
    case DType::i16:
      return widened<int16_t, int32_t>(tensor, DType::i32);
    case DType::u8:
    case DType::u4:
    case DType::u2:
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
  if (const SmallFloat* type = small_float(dtype))
    return mapped<float, uint8_t>(scalars, dtype, [type](float x) { return encode_small_float(*type, x); });
  switch (dtype) {
    case DType::f16:
      return mapped<float, uint16_t>(scalars, dtype, f32_to_f16);
    case DType::bf16:
      return mapped<float, uint16_t>(scalars, dtype, [](float x) { return f32_to_bf16(x); });  // inlined
    case DType::i8:
      return widened<int32_t, int8_t>(scalars, dtype);
    case DType::i16:
      return widened<int32_t, int16_t>(scalars, dtype);
    case DType::u8:
      return widened<uint32_t, uint8_t>(scalars, dtype);
    case DType::u16:
      return widened<uint32_t, uint16_t>(scalars, dtype);
    case DType::i4:  // the low four bits, sign extended
      return mapped<int32_t, int8_t>(scalars, dtype, [](int32_t x) { return static_cast<int8_t>(((x & 15) ^ 8) - 8); });
    case DType::u4:
      return mapped<uint32_t, uint8_t>(scalars, dtype, [](uint32_t x) { return static_cast<uint8_t>(x & 15); });
    case DType::i2:
      return mapped<int32_t, int8_t>(scalars, dtype, [](int32_t x) { return static_cast<int8_t>(((x & 3) ^ 2) - 2); });
    case DType::u2:
      return mapped<uint32_t, uint8_t>(scalars, dtype, [](uint32_t x) { return static_cast<uint8_t>(x & 3); });
    default:
      return scalars;
  }
}

DType dtype_of(Scalar scalar) {
  constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean};
  return kDTypes[static_cast<size_t>(scalar)];
}

// Floats come into the range of a narrow type before they are converted: conversions of what is far outside raise the
// invalid exception, which costs some CPUs a hundred times the conversion. NaN passes the comparisons and becomes 0.
Expr cast_element(DType dtype, Expr x) {
  const Scalar to = compute_scalar(dtype);
  if (!is_integer(dtype) || integer_bits(dtype) >= 32 || !is_float(x.type())) return cast(to, x);
  const int bits = integer_bits(dtype), limit = is_signed(to) ? 1 << (bits - 1) : 1 << bits;
  const Expr low = Expr::number(x.type(), is_signed(to) ? -limit : 0), high = Expr::number(x.type(), limit - 1);
  x = select(x < low, low, x);
  return cast(to, cast(Scalar::i32, select(high < x, high, x)));
}

}  // namespace hone

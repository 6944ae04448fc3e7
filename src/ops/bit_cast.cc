// bit_cast: the bits of elements read as another type of the same width.
#include <algorithm>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"dtype", AttributeKind::dtype, true, "element type of the result, as wide as that of x"}};

int bits_of(DType dtype) {
  if (is_integer(dtype)) return integer_bits(dtype);
  if (dtype == DType::f8e8m0) return 8;
  if (const SmallFloat* type = small_float(dtype)) return 1 + type->exponent_bits + type->mantissa_bits;
  return 8 * size_bytes(dtype);
}

std::vector<TensorType> infer_bit_cast(const InferArgs& a) {
  expect_not_string(a[0], "x");
  const DType to = a.attributes.get<DType>("dtype");
  if (to == DType::string || bits_of(to) != bits_of(a[0].dtype))
    fail("dtype is {}, but elements of x have {} bits; accepted: types of as many", to_string(to), bits_of(a[0].dtype));
  return {plain_type(to, a[0].shape)};
}

// Codes of less than a byte stand in the low bits, those of signed integers with their sign extended.
void fit(std::span<std::byte> bytes, DType dtype) {
  if (dtype == DType::boolean) {
    for (std::byte& b : bytes) b = std::byte{b != std::byte{0}};
    return;
  }
  const int bits = bits_of(dtype);
  if (bits >= 8) return;
  const int mask = (1 << bits) - 1, sign = is_integer(dtype) && is_signed(compute_scalar(dtype)) ? 1 << (bits - 1) : 0;
  for (std::byte& b : bytes) b = static_cast<std::byte>(((std::to_integer<int>(b) & mask) ^ sign) - sign);
}

std::vector<Tensor> eval_bit_cast(const EvalArgs& a) {
  const Tensor x = plain(a[0]);
  Tensor result(a.results[0].dtype, x.shape());
  const std::span<std::byte> bytes{result.mutable_data(), static_cast<size_t>(result.bytes())};
  std::ranges::copy(x.data().bytes(), bytes.begin());
  fit(bytes, result.dtype());
  return {result};
}

}  // namespace

extern constinit const OpDef bit_cast_def{
    .name = "bit_cast",
    .doc = "The bits of x as elements of another type of the same width; as bool, any bit set is true.",
    .attributes = kAttributes,
    .infer = infer_bit_cast,
    .eval = eval_bit_cast,
    .no_gradient = "the bits of a number, read as another type, do not change smoothly with it"};

}  // namespace hone

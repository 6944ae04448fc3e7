// Bit operations on integer elements.
#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kShiftAttributes[] = {{"direction", AttributeKind::string, true, "left or right"}};

const Expr& integer_operand(Args a, size_t i) {
  if (!is_integer(a.dtypes[i]))
    fail("operand {} has elements of type {}; accepted: integers. Insert a cast", i, to_string(a.dtypes[i]));
  return a[i];
}

// Expressions take counts modulo the width of their own type; here every bit of the element may leave it.
Expr bit_shift(Args a) {
  const Expr &x = integer_operand(a, 0), &count = integer_operand(a, 1);
  const std::string direction = a.attributes.get<std::string>("direction");
  if (direction != "left" && direction != "right") fail("direction is \"{}\"; accepted: left, right", direction);
  const int bits = integer_bits(a.dtypes[0]);
  const Expr inside = (count >= 0) & (count < bits);
  if (direction == "left") return select(inside, x << count, 0);
  return is_unsigned(a.dtypes[0]) ? select(inside, x >> count, 0) : x >> select(inside, count, bits - 1);
}

}  // namespace

extern constinit const OpDef bitwise_and_def{
    .name = "bitwise_and", .doc = "a and b, bit by bit", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return integer_operand(a, 0) & integer_operand(a, 1);
    }};
extern constinit const OpDef bitwise_or_def{
    .name = "bitwise_or", .doc = "a or b, bit by bit", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return integer_operand(a, 0) | integer_operand(a, 1);
    }};
extern constinit const OpDef bitwise_xor_def{
    .name = "bitwise_xor", .doc = "a or b but not both, bit by bit", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return integer_operand(a, 0) ^ integer_operand(a, 1);
    }};
extern constinit const OpDef bitwise_not_def{.name = "bitwise_not",
                                             .doc = "Every bit of x inverted.",
                                             .pointwise = [](Args a) { return ~integer_operand(a, 0); }};
extern constinit const OpDef bit_shift_def{
    .name = "bit_shift",
    .doc =
        "a shifted by b bits: left, or right with the sign bit filled in. A negative b, or one of at least the "
        "width of a, shifts every bit out.",
    .operands = {"a", "b"},
    .attributes = kShiftAttributes,
    .pointwise = bit_shift};

}  // namespace hone

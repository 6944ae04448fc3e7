// Comparisons, which give bool, logic on bool, and the choice between two operands.
#include <limits>

#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kInfAttributes[] = {
    {"detect_negative", AttributeKind::integer, false, "0: -inf does not count; default 1"},
    {"detect_positive", AttributeKind::integer, false, "0: +inf does not count; default 1"},
};

Expr is_inf(Args a) {
  const Expr& x = real_operand(a, 0);
  const Expr infinity = Expr::number(x.type(), std::numeric_limits<double>::infinity());
  const bool negative = a.attributes.get_or<int64_t>("detect_negative", 1) != 0,
             positive = a.attributes.get_or<int64_t>("detect_positive", 1) != 0;
  if (negative && positive) return abs(x) == infinity;
  if (!negative && !positive) return Expr::constant(Scalar::boolean, 0);
  return x == (negative ? -infinity : infinity);
}

}  // namespace

extern constinit const OpDef equal_def{
    .name = "equal", .doc = "a == b; false where either is NaN.", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return a[0] == a[1];
    }};
extern constinit const OpDef not_equal_def{
    .name = "not_equal", .doc = "a != b; true where either is NaN.", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return a[0] != a[1];
    }};
extern constinit const OpDef greater_def{
    .name = "greater", .doc = "a > b", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return number_operand(a, 0) > number_operand(a, 1);
    }};
extern constinit const OpDef greater_or_equal_def{
    .name = "greater_or_equal", .doc = "a >= b", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return number_operand(a, 0) >= number_operand(a, 1);
    }};
extern constinit const OpDef less_def{.name = "less", .doc = "a < b", .operands = {"a", "b"}, .pointwise = [](Args a) {
                                        return number_operand(a, 0) < number_operand(a, 1);
                                      }};
extern constinit const OpDef less_or_equal_def{
    .name = "less_or_equal", .doc = "a <= b", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return number_operand(a, 0) <= number_operand(a, 1);
    }};
extern constinit const OpDef logical_and_def{
    .name = "logical_and", .doc = "a and b, on bool", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return boolean_operand(a, 0) & boolean_operand(a, 1);
    }};
extern constinit const OpDef logical_or_def{
    .name = "logical_or", .doc = "a or b, on bool", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return boolean_operand(a, 0) | boolean_operand(a, 1);
    }};
extern constinit const OpDef logical_xor_def{
    .name = "logical_xor", .doc = "a or b but not both, on bool", .operands = {"a", "b"}, .pointwise = [](Args a) {
      return boolean_operand(a, 0) ^ boolean_operand(a, 1);
    }};
extern constinit const OpDef logical_not_def{
    .name = "logical_not", .doc = "not x, on bool", .pointwise = [](Args a) { return ~boolean_operand(a, 0); }};
extern constinit const OpDef is_nan_def{
    .name = "is_nan", .doc = "Whether x is NaN.", .pointwise = [](Args a) { return real_operand(a, 0) != a[0]; }};
extern constinit const OpDef is_inf_def{.name = "is_inf",
                                        .doc = "Whether x is infinite, of a sign that is detected.",
                                        .attributes = kInfAttributes,
                                        .pointwise = is_inf};
extern constinit const OpDef where_def{
    .name = "where",
    .doc = "a where the condition (bool) holds, otherwise b; both have one element type.",
    .operands = {"condition", "a", "b"},
    .pointwise = [](Args a) { return select(boolean_operand(a, 0), a[1], a[2]); }};

}  // namespace hone

// Arithmetic on elements, with NumPy broadcasting. Operands have one element type; integers wrap, and divide toward
// zero.
#include "ops/pointwise_args.h"

namespace hone {

extern constinit const OpDef add_def{
    .name = "add", .doc = "a + b", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return number_operand(a, 0) + number_operand(a, 1);
    }};
extern constinit const OpDef sub_def{
    .name = "sub", .doc = "a - b", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return number_operand(a, 0) - number_operand(a, 1);
    }};
extern constinit const OpDef mul_def{
    .name = "mul", .doc = "a * b", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return number_operand(a, 0) * number_operand(a, 1);
    }};
extern constinit const OpDef div_def{.name = "div",
                                     .doc = "a / b; integers truncate toward zero, and x / 0 is 0 for them.",
                                     .min_operands = 2,
                                     .max_operands = 2,
                                     .pointwise = [](Args a) { return number_operand(a, 0) / number_operand(a, 1); }};
extern constinit const OpDef min_def{
    .name = "min",
    .doc = "The smaller of a and b; NaN if either is.",
    .min_operands = 2,
    .max_operands = 2,
    .pointwise = [](Args a) { return min(number_operand(a, 0), number_operand(a, 1)); }};
extern constinit const OpDef max_def{
    .name = "max",
    .doc = "The larger of a and b; NaN if either is.",
    .min_operands = 2,
    .max_operands = 2,
    .pointwise = [](Args a) { return max(number_operand(a, 0), number_operand(a, 1)); }};
extern constinit const OpDef pow_def{.name = "pow",
                                     .doc = "a to the power b, as C's pow; floats only.",
                                     .min_operands = 2,
                                     .max_operands = 2,
                                     .pointwise = [](Args a) { return pow(real_operand(a, 0), real_operand(a, 1)); }};
extern constinit const OpDef neg_def{
    .name = "neg", .doc = "-x", .pointwise = [](Args a) { return -number_operand(a, 0); }};
extern constinit const OpDef abs_def{.name = "abs", .doc = "|x|", .pointwise = [](Args a) {
                                       return is_unsigned(a.dtypes[0]) ? a[0] : abs(number_operand(a, 0));
                                     }};
extern constinit const OpDef reciprocal_def{
    .name = "reciprocal", .doc = "1 / x; floats only.", .pointwise = [](Args a) { return 1 / real_operand(a, 0); }};
extern constinit const OpDef sign_def{
    .name = "sign", .doc = "-1, 0 or 1 with the sign of x; NaN and -0 stay what they are.", .pointwise = [](Args a) {
      const Expr& x = number_operand(a, 0);
      if (is_unsigned(a.dtypes[0])) return min(x, 1);
      return select(x > 0, typed(x.type(), 1), select(x < 0, typed(x.type(), -1), x));
    }};

}  // namespace hone

// Comparisons, which give bool, logic on bool, and the choice between two operands.
#include "ops/pointwise_args.h"

namespace hone {

extern constinit const OpDef equal_def{.name = "equal",
                                       .doc = "a == b; false where either is NaN.",
                                       .min_operands = 2,
                                       .max_operands = 2,
                                       .pointwise = [](Args a) { return a[0] == a[1]; }};
extern constinit const OpDef not_equal_def{.name = "not_equal",
                                           .doc = "a != b; true where either is NaN.",
                                           .min_operands = 2,
                                           .max_operands = 2,
                                           .pointwise = [](Args a) { return a[0] != a[1]; }};
extern constinit const OpDef greater_def{
    .name = "greater", .doc = "a > b", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return number_operand(a, 0) > number_operand(a, 1);
    }};
extern constinit const OpDef greater_or_equal_def{
    .name = "greater_or_equal", .doc = "a >= b", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return number_operand(a, 0) >= number_operand(a, 1);
    }};
extern constinit const OpDef less_def{
    .name = "less", .doc = "a < b", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return number_operand(a, 0) < number_operand(a, 1);
    }};
extern constinit const OpDef less_or_equal_def{
    .name = "less_or_equal", .doc = "a <= b", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return number_operand(a, 0) <= number_operand(a, 1);
    }};
extern constinit const OpDef logical_and_def{
    .name = "logical_and", .doc = "a and b, on bool", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return boolean_operand(a, 0) & boolean_operand(a, 1);
    }};
extern constinit const OpDef logical_or_def{
    .name = "logical_or", .doc = "a or b, on bool", .min_operands = 2, .max_operands = 2, .pointwise = [](Args a) {
      return boolean_operand(a, 0) | boolean_operand(a, 1);
    }};
extern constinit const OpDef logical_xor_def{
    .name = "logical_xor",
    .doc = "a or b but not both, on bool",
    .min_operands = 2,
    .max_operands = 2,
    .pointwise = [](Args a) { return boolean_operand(a, 0) ^ boolean_operand(a, 1); }};
extern constinit const OpDef logical_not_def{
    .name = "logical_not", .doc = "not x, on bool", .pointwise = [](Args a) { return ~boolean_operand(a, 0); }};
extern constinit const OpDef where_def{
    .name = "where",
    .doc = "a where the condition (bool) holds, otherwise b; both have one element type.",
    .min_operands = 3,
    .max_operands = 3,
    .pointwise = [](Args a) { return select(boolean_operand(a, 0), a[1], a[2]); }};

}  // namespace hone

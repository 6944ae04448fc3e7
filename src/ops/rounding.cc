// Rounding and clamping of elements.
#include <cmath>

#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kClipAttributes[] = {
    {"min", AttributeKind::number, false, "lower bound; none when absent"},
    {"max", AttributeKind::number, false, "upper bound; none when absent"},
};

// A bound as a constant of the operand's type: integers take whole numbers only.
Expr bound(Args a, const char* name) {
  const double value = a.attributes.get<double>(name);
  if (!is_float(a.dtypes[0]) && value != std::trunc(value))
    fail("{}={} is not a whole number but the elements are {}", name, value, to_string(a.dtypes[0]));
  if (is_unsigned(a.dtypes[0]) && value < 0)
    fail("{}={} is negative but the elements are {}", name, value, to_string(a.dtypes[0]));
  return Expr::number(a[0].type(), value);
}

Expr clip(Args a) {
  Expr x = number_operand(a, 0);
  if (a.attributes.has("min")) x = max(x, bound(a, "min"));
  if (a.attributes.has("max")) x = min(x, bound(a, "max"));
  return x;
}

}  // namespace

extern constinit const OpDef floor_def{.name = "floor",
                                       .doc = "The largest whole number not above x.",
                                       .pointwise = [](Args a) { return floor(real_operand(a, 0)); }};
extern constinit const OpDef ceil_def{.name = "ceil",
                                      .doc = "The smallest whole number not below x.",
                                      .pointwise = [](Args a) { return ceil(real_operand(a, 0)); }};
extern constinit const OpDef round_def{.name = "round",
                                       .doc = "The nearest whole number, ties to even.",
                                       .pointwise = [](Args a) { return rint(real_operand(a, 0)); }};
extern constinit const OpDef clip_def{
    .name = "clip", .doc = "min(max(x, min), max); NaN stays NaN.", .attributes = kClipAttributes, .pointwise = clip};

}  // namespace hone

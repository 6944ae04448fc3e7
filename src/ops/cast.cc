// Ops that hand elements on: cast to another type, identity, and dropout, which does nothing in inference.
#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kCastAttributes[] = {{"dtype", AttributeKind::dtype, true, "element type of the result"}};
constexpr AttributeSpec kDropoutAttributes[] = {{"ratio", AttributeKind::number, false, "share of elements dropped in training"}};

struct IntegerRange {
  double low, high;
};
constexpr IntegerRange range_of(DType dtype) {
  switch (dtype) {
    case DType::i8: return {-128, 127};
    case DType::i16: return {-32768, 32767};
    case DType::u8: return {0, 255};
    case DType::u16: return {0, 65535};
    default: return {0, 0};  // computed in its own width: the expression language saturates
  }
}

// Types narrower than 32 bits are computed in 32 bits, so floats are clamped to their range first; integers wrap when stored.
Expr cast_elements(Args a) {
  const DType to = a.attributes.get<DType>("dtype");
  if (to == DType::string) fail("a cast to string is not supported; accepted: bool, integers and floats");
  const Expr& x = a[0];
  const Scalar scalar = compute_scalar(to);
  const IntegerRange range = range_of(to);
  if (!is_float(a.dtypes[0]) || range.high == 0) return cast(scalar, x);
  return min(max(cast(scalar, x), Expr::number(scalar, range.low)), Expr::number(scalar, range.high));
}

}  // namespace

extern constinit const OpDef cast_def{
    .name = "cast",
    .doc = "x in another element type: floats round to nearest even; float to integer truncates and saturates, NaN gives 0; integers wrap.",
    .attributes = kCastAttributes,
    .pointwise = cast_elements};
extern constinit const OpDef identity_def{.name = "identity", .doc = "x", .pointwise = [](Args a) { return a[0]; }};
extern constinit const OpDef dropout_def{.name = "dropout",
                                         .doc = "x: in inference nothing is dropped.",
                                         .attributes = kDropoutAttributes,
                                         .pointwise = [](Args a) { return a[0]; }};

}  // namespace hone

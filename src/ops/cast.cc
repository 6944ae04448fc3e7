// Ops that hand elements on: cast to another type, identity, and dropout, which does nothing in inference.
#include "ir/compute_column.h"
#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kCastAttributes[] = {{"dtype", AttributeKind::dtype, true, "element type of the result"}};
constexpr AttributeSpec kDropoutAttributes[] = {
    {"ratio", AttributeKind::number, false, "share of elements dropped in training"}};

Expr cast_elements(Args a) {
  const DType to = a.attributes.get<DType>("dtype");
  if (to == DType::string) fail("a cast to string is not supported; accepted: bool, integers and floats");
  return cast_element(to, a[0]);
}

}  // namespace

extern constinit const OpDef cast_def{.name = "cast",
                                      .doc =
                                          "x in another element type: floats round to nearest even; float to integer "
                                          "truncates and saturates, NaN gives 0; integers wrap.",
                                      .attributes = kCastAttributes,
                                      .pointwise = cast_elements};
extern constinit const OpDef identity_def{.name = "identity", .doc = "x", .pointwise = [](Args a) { return a[0]; }};
extern constinit const OpDef dropout_def{.name = "dropout",
                                         .doc = "x: in inference nothing is dropped.",
                                         .attributes = kDropoutAttributes,
                                         .pointwise = [](Args a) { return a[0]; }};

}  // namespace hone

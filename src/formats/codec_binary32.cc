// f32 as it is: 32 bits, nothing rounded, NaN and infinity kept.
#include <limits>

#include "formats/codecs.h"

namespace hone {

extern constinit const ElementCodec binary32_codec{
    .name = "binary32",
    .encode = [](const ElementParams&, Expr x) { return bitcast(Scalar::u32, cast(Scalar::f32, x)); },
    .decode = [](const ElementParams&, Expr code) { return cast(Scalar::f64, bitcast(Scalar::f32, code)); },
    .max = [](const ElementParams&) -> double { return std::numeric_limits<float>::max(); },
    .fraction_bits_on_top = [](const ElementParams&) { return 23; }};

}  // namespace hone

// One sign bit: 0 = +1, 1 = -1. Zero, -0 and NaN are +1 (docs/FORMATS.md, section 5.11).
#include "formats/codecs.h"

namespace hone {

extern constinit const ElementCodec sign_codec{
    .name = "sign",
    .encode = [](const ElementParams&, Expr x) { return cast(Scalar::u32, x < 0); },
    .decode = [](const ElementParams&, Expr code) { return 1 - 2 * cast(Scalar::f64, code); },
    .max = [](const ElementParams&) { return 1.0; },
    .fraction_bits_on_top = [](const ElementParams&) { return -1; }};  // -1 and 1 are 2 apart

}  // namespace hone

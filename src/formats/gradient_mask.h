// Where the gradient passes quantization (straight-through; docs/FORMATS.md, section 3.7).
#pragma once

#include "formats/format.h"

namespace hone {

// dL/dx = dL/dy * m(x): m of an element x (f32), boolean. Nothing passes at NaN and infinity.
Expr gradient_mask(const Format& format, Expr x);

}  // namespace hone

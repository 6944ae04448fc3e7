#include "formats/gradient_mask.h"

#include <cmath>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {

// A scale that follows the data passes every finite element: masking what saturates would cut off exactly the largest
// of each group. A fixed range passes what lies in it, both ends included. MASE never clips.
Expr gradient_mask(const Format& format, Expr x) {
  const Expr is_finite = abs(x) < HUGE_VAL;
  if (format.scale_kind->code || is_fake_only(format)) return is_finite;
  const Expr value = cast(Scalar::f64, x);
  return is_finite & (value >= lowest_value(format)) & (value <= format.codec->max(format.element));
}

}  // namespace hone

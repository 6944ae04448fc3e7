#include "formats/element_rounding.h"

#include "formats/group_scales.h"
#include "formats/scale.h"

namespace hone {

bool rounds_elements(const Format& format) { return format.scale_kind->reductions.empty() && !format.scale_kind->code; }

Expr rounded_element(const Format& format, Expr x) {
  CHECK(rounds_elements(format), "{} has scales", to_string(format));
  return fake(format, x, group_args(format));
}

}  // namespace hone

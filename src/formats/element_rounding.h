// Formats in which an element's neighbours have no say: without scales, or thresholds that follow from the data.
#pragma once

#include "formats/format.h"

namespace hone {

bool rounds_elements(const Format& format);

// What fake_quantize() leaves of an element x (f32); only for such formats.
Expr rounded_element(const Format& format, Expr x);

}  // namespace hone

// Squares of lanes in registers.
#pragma once

#include "device/x86/emitter.h"

namespace hone {

// `lanes` vectors of `lanes` elements, rows and columns exchanged: butterflies, at each step of which blocks off the
// diagonal of 2*step x 2*step squares change places.
Values transpose_square(X86Emitter& e, Values rows);

}  // namespace hone

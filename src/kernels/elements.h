// Element types as kernels see them.
#pragma once

#include "ir/type.h"

namespace hone {

bool has_machine_type(DType dtype);  // generated code can read and write its elements: no strings, nothing below a byte
bool is_loadable(DType dtype);       // and kernels are made for them: not i16 and u16

// Whether an in-register value of this dtype equals the stored one, so that a chain may go on without a store: false
// for the dtypes that are computed in a wider scalar.
bool passes_unrounded(DType dtype);

}  // namespace hone

// Element types as kernels see them.
#pragma once

#include "ir/type.h"

namespace hone {

bool is_loadable(DType dtype);  // kernels read and write elements of this dtype

// Whether an in-register value of this dtype equals the stored one, so that a chain may go on without a store: false
// for the dtypes that are computed in a wider scalar.
bool passes_unrounded(DType dtype);

}  // namespace hone

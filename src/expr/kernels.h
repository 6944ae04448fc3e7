// One loop per operation and type, chosen once and then called for a block of elements. Internal to this layer.
#pragma once

#include <cstdint>
#include <span>

#include "expr/expr.h"

namespace hone {

// Elements that a kernel handles in its unrolled form; registers of the interpreter have this many. 256 f64 are 2 KiB,
// so that a dozen live registers stay in a first-level cache of 32 KiB.
constexpr int64_t kBlockElems = 256;

struct LookupTable {
  const uint64_t* entries;
  uint64_t size;
};

// dst[i] = op(a[i], b[i], c[i]) for i < n <= kBlockElems; unused operands are null. dst overlaps no operand.
// The second operand of a lookup is a `const LookupTable*`.
using Kernel = void (*)(void* dst, const void* a, const void* b, const void* c, int64_t n);

// The loop for `op` with a result of `type` and operands of `operand` (of select: its values; of lookup: the entries).
// Null when the operation is not defined for these types, which makes this the one table of type rules.
Kernel find_kernel(ExprOp op, Scalar type, Scalar operand);

int operand_count(ExprOp op);  // 0 to 3

// The operation applied to constants, each given by its bit pattern; the table is a lookup's.
uint64_t fold(ExprOp op, Scalar type, Scalar operand, std::span<const uint64_t> operands,
              std::span<const uint64_t> table = {});

}  // namespace hone

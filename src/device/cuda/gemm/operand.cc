#include "device/cuda/gemm/operand.h"

namespace hone {

using llvm::Value;

StridedOperand::StridedOperand(CudaEmitter& e, DType type, bool columns, Value* base, Value* stride, Value* rows,
                               Value* k)
    : e_(e), stride_bytes_(e.times(stride, size_bytes(type))), rows_(rows), k_(k) {
  dtype = type, by_columns = columns, safe = base;
  // The address, the stride and the bytes of a line are multiples of 16.
  Value* along = e.times(e.wide(columns ? rows : k), size_bytes(type));
  Value* bits = e.b.CreateOr(e.b.CreateOr(e.b.CreatePtrToInt(base, e.i64), stride_bytes_), along);
  const auto odd = [&](Value* bytes) {
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(bytes);
    return known && known->getZExtValue() % 16 != 0;
  };
  if (odd(along) || odd(stride_bytes_)) return;
  whole = e.b.CreateICmpEQ(e.b.CreateAnd(bits, e.num(15)), e.num(0));
}

Operand::Place StridedOperand::place(Value* row, Value* k) {
  Value *line = by_columns ? k : row, *along = by_columns ? row : k;
  Value* offset = e_.b.CreateAdd(e_.times(e_.wide(line), stride_bytes_), e_.times(e_.wide(along), size_bytes(dtype)));
  return {e_.at(safe, offset), e_.b.CreateAnd(e_.b.CreateICmpSLT(row, rows_), e_.b.CreateICmpSLT(k, k_))};
}

}  // namespace hone

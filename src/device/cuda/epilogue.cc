#include "device/cuda/epilogue.h"

#include <algorithm>

#include "device/llvm/expr_emit.h"
#include "kernels/program_uses.h"

namespace hone {

using llvm::Value;
using A = GemmArgs;
using Access = GemmPlan::Access;

CudaEpilogue::CudaEpilogue(CudaEmitter& e, const GemmPlan& plan, const KernelFrame& frame, int count,
                           Value* result_offset, Value* batch)
    : e_(e), plan_(plan), count_(count) {
  auto& b = e.b;
  n_ = plan.n ? e.num(plan.n) : e.size<&A::n>(frame);
  first_row_ = b.CreateMul(batch, e.size<&A::m>(frame));
  Value* result_stride = plan.result_row_stride ? e.num(plan.result_row_stride) : n_;
  if (plan.result_row_stride == GemmPlan::kAnyStride)
    result_stride = e.size<&A::full_strides>(
        frame, static_cast<int>(std::ranges::count(plan.operands, Access::full, &GemmPlan::Operand::access)));
  Value* misplaced = e.num(0);
  const auto note = [&](const Placed& placed) {
    const int64_t bytes = int64_t{count} * size_bytes(placed.dtype);
    Value* places = b.CreatePtrToInt(placed.base, e.i64);
    if (placed.stride) places = b.CreateOr(places, e.times(placed.stride, size_bytes(placed.dtype)));
    misplaced = b.CreateOr(misplaced, b.CreateAnd(places, e.num(std::min<int64_t>(16, bytes) - 1)));
  };
  int place = 0, full = 0;
  for (const GemmPlan::Operand& o : plan.operands) {
    Placed placed{e.pointer<&A::epilogue>(frame, place++), nullptr, o.dtype};
    if (o.access == Access::full) {
      Value* stride = e.size<&A::full_strides>(frame, full++);
      placed.stride = b.CreateSelect(b.CreateICmpEQ(stride, e.num(0)), result_stride, stride);
      placed.base = e.at(placed.base, e.times(result_offset, size_bytes(o.dtype)));
    }
    if (o.access == Access::row) placed.base = e.at(placed.base, e.times(first_row_, size_bytes(o.dtype)));
    if (o.access == Access::full || o.access == Access::column) note(placed);
    operands_.push_back(placed);
  }
  for (const DType dtype : plan.results) {
    Value* base = e.pointer<&A::epilogue>(frame, place++);
    results_.push_back({e.at(base, e.times(result_offset, size_bytes(dtype))), result_stride, dtype});
    note(results_.back());
  }
  aligned_ = b.CreateICmpEQ(misplaced, e.num(0));
}

void CudaEpilogue::write(Value* row, Value* column, Value* sums) {
  e_.with_lanes(count_, [&](CudaEmitter& e) { write_with(e, row, column, sums); });
}

Value* CudaEpilogue::at(CudaEmitter& e, const Placed& placed, Value* row, Value* column) {
  Value* element = placed.stride ? e.b.CreateAdd(e.b.CreateMul(row, placed.stride), column) : column;
  return e.at(placed.base, e.times(element, size_bytes(placed.dtype)));
}

void CudaEpilogue::write_with(CudaEmitter& e, Value* row, Value* column, Value* sums) {
  auto& b = e.b;
  Value* left = b.CreateSub(n_, column);
  Value* whole = b.CreateAnd(aligned_, b.CreateICmpSGE(left, e.num(count_)));
  Value* mask = e.tail_mask(left);
  // What lies along columns is read in one access or element by element; the program is there once.
  const auto load = [&](Value* of) {
    e.aligned_vectors = !of;
    Values raw;
    for (size_t i = 0; i < operands_.size(); ++i)
      if (plan_.operands[i].access == Access::full || plan_.operands[i].access == Access::column)
        raw.push_back(e.masked_load(e.vec(e.memory_type(operands_[i].dtype)), at(e, operands_[i], row, column), of));
    return raw;
  };
  const Values raw = e.choose(
      whole, [&] { return load(nullptr); }, [&] { return load(mask); });
  Values args{sums};
  for (size_t i = 0, next = 0; i < operands_.size(); ++i) {
    const Placed& o = operands_[i];
    switch (plan_.operands[i].access) {
      case Access::full:
      case Access::column:
        args.push_back(e.widen(o.dtype, raw[next++]));
        break;
      case Access::row:
        args.push_back(e.load_broadcast(o.dtype, e.at(o.base, e.times(row, size_bytes(o.dtype)))));
        break;
      case Access::scalar:
        args.push_back(e.load_broadcast(o.dtype, o.base));
    }
  }
  args.resize(plan_.program.args.size());
  Value* index =
      uses_index(plan_.program) ? b.CreateAdd(b.CreateMul(b.CreateAdd(first_row_, row), n_), column) : nullptr;
  const Values values = emit_program(e, plan_.program, args, index);
  Values stored;
  for (size_t j = 0; j < results_.size(); ++j) stored.push_back(e.narrow(results_[j].dtype, values[j]));
  const auto store = [&](Value* of) {
    e.aligned_vectors = !of;
    for (size_t j = 0; j < results_.size(); ++j) e.masked_store(stored[j], at(e, results_[j], row, column), of);
    return Values{};
  };
  e.choose(
      whole, [&] { return store(nullptr); }, [&] { return store(mask); });
}

}  // namespace hone

#include "device/cuda/gemm/emit.h"

#include "device/cuda/gemm/store_results.h"

namespace hone {
namespace {

using llvm::Value;
using A = GemmArgs;

class GemmBody {
 public:
  GemmBody(CudaEmitter& e, const CudaGemmPlan& plan, const std::string& symbol)
      : e_(e), plan_(plan), s_(cuda_gemm_shape(plan, e.target)), frame_(e.begin_kernel(symbol)) {}

  void run() {
    auto& b = e_.b;
    Value *m = e_.size<&A::m>(frame_), *n = plan_.n ? e_.num(plan_.n) : e_.size<&A::n>(frame_);
    Value *k = plan_.k ? e_.num(plan_.k) : e_.size<&A::k>(frame_), *m32 = e_.low32(m), *n32 = e_.low32(n),
          *k32 = e_.low32(k);
    auto take = [&, rest = e_.low32(frame_.begin)](Value* count) mutable {  // the fastest of what is left
      Value* number = b.CreateURem(rest, count);
      rest = b.CreateUDiv(rest, count);
      return std::pair(number, rest);
    };
    Value* row = b.CreateMul(take(blocks(m32, s_.tile.rows())).first, e_.n32(s_.tile.rows()));
    const auto [block, batch] = take(blocks(n32, s_.tile.columns()));
    Value* column = b.CreateMul(block, e_.n32(s_.tile.columns()));
    batch_ = e_.wide(batch);
    const bool has_rows = !plan_.a_by_columns;
    Value* a_stride = has_rows && plan_.a_row_stride ? e_.num(plan_.a_row_stride) : e_.size<&A::a_row>(frame_);
    StridedOperand a(e_, plan_.a, plan_.a_by_columns, start(e_.pointer<&A::a>(frame_), kOfA, plan_.a), a_stride, m32,
                     k32);
    std::unique_ptr<StridedOperand> w;
    std::unique_ptr<TileReader> reader;
    if (plan_.weights == GemmPlan::Weights::prepacked)
      reader = std::make_unique<TileReader>(e_, s_.weights, plan_.w_format, e_.pointer<&A::w>(frame_));
    else
      w = std::make_unique<StridedOperand>(e_, plan_.w, plan_.weights == GemmPlan::Weights::activation_kn,
                                           start(e_.pointer<&A::w>(frame_), kOfW, plan_.w), e_.size<&A::w_row>(frame_),
                                           n32, k32);
    ProductLoop loop(e_, s_, a, w.get(), reader.get(), {row, column}, k32);
    const Values sums = loop.run();
    CudaEpilogue epilogue(e_, plan_, frame_, 4, batch_offset(kOfResult), batch_);
    store_results(e_, s_, loop, sums, {.row = row, .column = column, .rows = m, .n = n}, epilogue);
    e_.end_function();
  }

 private:
  enum Strided : int { kOfA, kOfW, kOfResult };  // in the arrays of strides

  Value* blocks(Value* extent, int size) {
    return e_.b.CreateUDiv(e_.b.CreateAdd(extent, e_.n32(size - 1)), e_.n32(size));
  }

  Value* start(Value* pointer, Strided of, DType type) {
    return e_.at(pointer, e_.times(batch_offset(of), size_bytes(type)));
  }

  // Elements before the batch: inner loops of batches first.
  Value* batch_offset(Strided of) {
    auto& b = e_.b;
    Value* inner = e_.size<&A::inner_batches>(frame_);
    Value *h = b.CreateURem(batch_, inner), *outer = b.CreateUDiv(batch_, inner);
    Value* offset = b.CreateMul(h, e_.size<&A::inner_strides>(frame_, of));
    for (int64_t loop = plan_.middle_loops; loop-- > 0;) {
      const int at = 4 * static_cast<int>(loop);
      Value* count = e_.size<&A::middle_loops>(frame_, at);
      Value* stride = e_.size<&A::middle_loops>(frame_, at + 1 + of);
      offset = b.CreateAdd(offset, b.CreateMul(b.CreateURem(outer, count), stride));
      outer = b.CreateUDiv(outer, count);
    }
    return b.CreateAdd(offset, b.CreateMul(outer, e_.size<&A::batch_strides>(frame_, of)));
  }

  CudaEmitter& e_;
  const CudaGemmPlan& plan_;
  const CudaGemmShape s_;
  const KernelFrame frame_;
  Value* batch_ = nullptr;
};

}  // namespace

void emit_cuda_gemm(CudaEmitter& e, const CudaGemmPlan& plan, const std::string& symbol, int) {
  GemmBody(e, plan, symbol).run();
}

}  // namespace hone

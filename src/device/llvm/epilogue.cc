#include "device/llvm/epilogue.h"

#include <algorithm>

#include "device/llvm/expr_emit.h"
#include "kernels/program_uses.h"

namespace hone {
namespace {

using llvm::Value;

using A = GemmArgs;  // those of other classes agree with it in what is read here (shares_epilogue())

class EpilogueBody {
 public:
  EpilogueBody(Emitter& e, const GemmPlan& plan, SumTile tile, llvm::Function* f)
      : e_(e),
        plan_(plan),
        tile_(tile),
        sums_(f->getArg(1)),
        row_(f->getArg(2)),
        column_(f->getArg(3)),
        rows_(f->getArg(4)) {
    Value *args = f->getArg(0), *offset = f->getArg(5), *batch = f->getArg(6);
    const KernelFrame frame{f, args, nullptr, nullptr, nullptr};
    Value* m = e.size<&A::m>(frame);
    batch_row_ = e.b.CreateAdd(e.b.CreateMul(batch, m), row_);
    n_ = plan.n ? e.num(plan.n) : e.size<&A::n>(frame);
    result_stride_ = plan.result_row_stride ? e.num(plan.result_row_stride) : n_;
    const int operands = static_cast<int>(plan.operands.size());
    int full = 0;
    if (plan.result_row_stride == GemmPlan::kAnyStride)
      result_stride_ = e.size<&A::full_strides>(
          frame,
          static_cast<int>(std::ranges::count(plan.operands, GemmPlan::Access::full, &GemmPlan::Operand::access)));
    for (int i = 0; i < operands; ++i) {
      const GemmPlan::Operand& o = plan.operands[static_cast<size_t>(i)];
      Value* stride = nullptr;
      if (o.access == GemmPlan::Access::full) {
        stride = e.size<&A::full_strides>(frame, full++);
        stride = e.b.CreateSelect(e.b.CreateICmpEQ(stride, e.num(0)), result_stride_, stride);
      }
      bases_.push_back(base(o, e.pointer<&A::epilogue>(frame, i), stride, offset));
      strides_.push_back(stride ? e.times(stride, size_bytes(o.dtype)) : nullptr);
    }
    for (size_t j = 0; j < plan.results.size(); ++j) {
      Value* start = e.b.CreateAdd(offset, e.b.CreateAdd(e.b.CreateMul(row_, result_stride_), column_));
      Value* pointer = e.pointer<&A::epilogue>(frame, operands + static_cast<int>(j));
      results_.push_back(e.at(pointer, e.times(start, size_bytes(plan.results[j]))));
    }
  }

  void run() {
    const bool ragged = plan_.n == 0 || plan_.n % e_.lanes != 0;
    Value* vectors = e_.num(tile_.vectors);
    Value* left = e_.b.CreateSub(n_, column_);
    if (plan_.n == 0 || plan_.n % tile_columns() != 0)
      vectors = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, vectors, e_.b.CreateSDiv(left, e_.num(e_.lanes)));
    e_.loop(e_.num(0), vectors, 1, {}, [&](Value* v, const Values&) {
      vector_of_rows(v, nullptr);
      return Values{};
    });
    if (!ragged) return;
    e_.when(e_.b.CreateICmpSLT(vectors, e_.num(tile_.vectors)), [&] {
      Value* rest = e_.b.CreateSub(left, e_.times(vectors, e_.lanes));
      e_.when(e_.b.CreateICmpSGT(rest, e_.num(0)), [&] { vector_of_rows(vectors, e_.tail_mask(rest)); });
    });
  }

 private:
  int64_t tile_columns() const { return int64_t{tile_.vectors} * e_.lanes; }

  Value* base(const GemmPlan::Operand& o, Value* pointer, Value* stride, Value* offset) {
    const int64_t size = size_bytes(o.dtype);
    switch (o.access) {
      case GemmPlan::Access::full:
        return e_.at(pointer,
                     e_.times(e_.b.CreateAdd(offset, e_.b.CreateAdd(e_.b.CreateMul(row_, stride), column_)), size));
      case GemmPlan::Access::column:
        return e_.at(pointer, e_.times(column_, size));
      case GemmPlan::Access::row:
        return e_.at(pointer, e_.times(batch_row_, size));
      case GemmPlan::Access::scalar:
        return pointer;
    }
    CHECK(false);
  }

  // The v-th vector of columns in every row of the tile.
  void vector_of_rows(Value* v, Value* mask) {
    Value* columns = e_.times(v, e_.lanes);
    Values fixed(plan_.operands.size(), nullptr);  // operands that are the same in every row
    for (size_t i = 0; i < fixed.size(); ++i) {
      const GemmPlan::Operand& o = plan_.operands[i];
      if (o.access == GemmPlan::Access::column)
        fixed[i] = e_.load_elements(o.dtype, e_.at(bases_[i], e_.times(columns, size_bytes(o.dtype))), mask);
      if (o.access == GemmPlan::Access::scalar) fixed[i] = e_.load_broadcast(o.dtype, bases_[i]);
    }
    e_.loop(
        e_.num(0), rows_, 1, {},
        [&](Value* r, const Values&) {
          one_row(r, v, columns, fixed, mask);
          return Values{};
        },
        true);
  }

  void one_row(Value* r, Value* v, Value* columns, const Values& fixed, Value* mask) {
    const int64_t vector_bytes = int64_t{e_.lanes} * 4;
    Value* sums = e_.at(e_.at(sums_, e_.times(r, tile_columns() * 4)), e_.times(v, vector_bytes));
    Values args{e_.load(tile_.integers ? e_.v_i32 : e_.v_f32, sums, 4)};
    for (size_t i = 0; i < plan_.operands.size(); ++i) {
      const GemmPlan::Operand& o = plan_.operands[i];
      const int64_t size = size_bytes(o.dtype);
      if (o.access == GemmPlan::Access::full) {
        Value* start = e_.at(e_.at(bases_[i], e_.b.CreateMul(r, strides_[i])), e_.times(columns, size));
        args.push_back(e_.load_elements(o.dtype, start, mask));
      } else if (o.access == GemmPlan::Access::row) {
        args.push_back(e_.load_broadcast(o.dtype, e_.at(bases_[i], e_.times(r, size))));
      } else {
        args.push_back(fixed[i]);
      }
    }
    Value* index = nullptr;
    if (uses_index(plan_.program))
      index = e_.b.CreateAdd(e_.b.CreateMul(e_.b.CreateAdd(batch_row_, r), n_), e_.b.CreateAdd(column_, columns));
    args.resize(plan_.program.args.size());
    const Values out = emit_program(e_, plan_.program, args, index);
    for (size_t j = 0; j < plan_.results.size(); ++j) {
      const int64_t size = size_bytes(plan_.results[j]);
      Value* row = e_.at(results_[j], e_.times(e_.b.CreateMul(r, result_stride_), size));
      e_.store_elements(out[j], plan_.results[j], e_.at(row, e_.times(columns, size)), mask);
    }
  }

  Emitter& e_;
  const GemmPlan& plan_;
  const SumTile tile_;
  Value *sums_, *row_, *column_, *rows_, *batch_row_, *n_, *result_stride_;
  Values bases_, strides_, results_;
};

}  // namespace

llvm::Function* emit_epilogue(Emitter& e, const std::string& symbol, const GemmPlan& plan, SumTile tile) {
  llvm::Type* const params[] = {e.ptr, e.ptr, e.i64, e.i64, e.i64, e.i64, e.i64};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  EpilogueBody(e, plan, tile, f).run();
  e.end_function();
  return f;
}

}  // namespace hone

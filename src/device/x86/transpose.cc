// Transposes: squares of lanes x lanes elements change rows and columns in registers.
//
// An item is one square high and a run of squares wide. Where x has fewer rows or columns than a square, their number
// is part of the plan: what lies beyond is neither loaded nor shuffled nor stored.
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/emitter.h"
#include "device/x86/square.h"
#include "device/x86/tile.h"
#include "device/x86/x86_kernel.h"
#include "kernels/lowering.h"
#include "kernels/transpose/plan.h"

namespace hone {
namespace {

using llvm::Value;

constexpr int64_t kTransposeSquares = 64;  // of an item: about 4 us

class TransposeEmitter {
 public:
  TransposeEmitter(X86Emitter& e, const TransposePlan& plan)
      : e_(e),
        plan_(plan),
        dtype_(plan.element_bytes == 4   ? DType::u32
               : plan.element_bytes == 2 ? DType::u16
                                         : DType::u8) {}

  void run(const std::string& symbol) {
    llvm::Function* square = square_function(symbol + "_square");
    const KernelFrame frame = e_.begin_kernel(symbol);
    allow_spills(frame.function);
    using A = TransposeKernelArgs;
    Value *x = e_.pointer<&A::x>(frame), *out = e_.pointer<&A::out>(frame);
    Value* rows = plan_.rows ? e_.num(plan_.rows) : e_.size<&A::rows>(frame);
    Value* columns = plan_.columns ? e_.num(plan_.columns) : e_.size<&A::columns>(frame);
    const auto bytes = [&](Value* elements) { return e_.times(elements, plan_.element_bytes); };
    Value *x_plane = bytes(e_.size<&A::x_plane>(frame)), *out_plane = bytes(e_.size<&A::out_plane>(frame)),
          *x_row = bytes(e_.size<&A::x_row>(frame)), *out_row = bytes(e_.size<&A::out_row>(frame));
    const auto pieces = [&](Value* count, int64_t piece) {
      return e_.b.CreateUDiv(e_.b.CreateAdd(count, e_.num(piece - 1)), e_.num(piece));
    };
    Value *down = pieces(rows, kTransposeSquares * e_.lanes), *across = pieces(columns, e_.lanes);
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* item, const Values&) {
      Value* first_row = e_.times(e_.b.CreateURem(item, down), kTransposeSquares * e_.lanes);
      Value* rest = e_.b.CreateUDiv(item, down);
      Value* column = e_.times(e_.b.CreateURem(rest, across), e_.lanes);
      Value* plane = e_.b.CreateUDiv(rest, across);
      Value* from = e_.at(e_.at(x, e_.b.CreateMul(plane, x_plane)), e_.times(column, plan_.element_bytes));
      Value* to = e_.at(e_.at(out, e_.b.CreateMul(plane, out_plane)), e_.b.CreateMul(column, out_row));
      Value* end = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rows,
                                              e_.b.CreateAdd(first_row, e_.num(kTransposeSquares * e_.lanes)));
      e_.loop(first_row, end, e_.lanes, {}, [&](Value* row, const Values&) {
        e_.b.CreateCall(square, {e_.at(from, e_.b.CreateMul(row, x_row)), e_.at(to, e_.times(row, plan_.element_bytes)),
                                 x_row, out_row, e_.b.CreateSub(rows, row), e_.b.CreateSub(columns, column)});
        return Values{};
      });
      return Values{};
    });
    e_.end_function();
  }

 private:
  // void(x, out, row bytes of x, of out, rows left, columns left): one square, or what is left of it.
  llvm::Function* square_function(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.i64, e_.i64, e_.i64, e_.i64};
    llvm::Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    allow_spills(f);
    Value *rows = plan_.rows ? e_.num(plan_.rows) : f->getArg(4),
          *columns = plan_.columns ? e_.num(plan_.columns) : f->getArg(5), *lanes = e_.num(e_.lanes);
    Value* plain = e_.b.CreateAnd(plan_.rows ? e_.b.getTrue() : e_.b.CreateICmpSGE(rows, lanes),
                                  plan_.columns ? e_.b.getTrue() : e_.b.CreateICmpSGE(columns, lanes));
    e_.when(plain, [&] { square(f, plan_.rows ? rows : lanes, plan_.columns ? columns : lanes); });
    e_.when(e_.b.CreateNot(plain), [&] { square(f, rows, columns); });
    e_.end_function();
    return f;
  }

  // The first `rows` and `columns` of a square; constants leave out what they rule out.
  void square(llvm::Function* f, Value* rows, Value* columns) {
    const auto lies_in = [&](int i, Value* count) { return e_.b.CreateICmpSGT(count, e_.num(i)); };
    const auto mask_of = [&](Value* count, Value* condition) -> Value* {  // null: all lanes
      auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
      if (known && known->getSExtValue() >= e_.lanes && llvm::isa<llvm::Constant>(condition)) return nullptr;
      return e_.b.CreateAnd(e_.tail_mask(count), e_.splat(condition));
    };
    const auto never = [](Value* condition) {
      auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition);
      return known && known->isZero();
    };
    Values values;
    for (int r = 0; r < e_.lanes; ++r) {
      Value* inside = lies_in(r, rows);
      if (never(inside)) values.push_back(e_.c_i32(0));
      else
        values.push_back(
            e_.load_elements(dtype_, e_.at(f->getArg(0), e_.times(f->getArg(2), r)), mask_of(columns, inside)));
    }
    values = transpose_square(e_, std::move(values));
    for (int c = 0; c < e_.lanes; ++c) {
      Value* inside = lies_in(c, columns);
      if (never(inside)) continue;
      e_.store_elements(values[static_cast<size_t>(c)], dtype_, e_.at(f->getArg(1), e_.times(f->getArg(3), c)),
                        mask_of(rows, inside));
    }
  }

  X86Emitter& e_;
  const TransposePlan& plan_;
  const DType dtype_;
};

void emit(X86Emitter& e, const TransposePlan& plan, const std::string& symbol, int) {
  TransposeEmitter(e, plan).run(symbol);
}

// Only rows or columns that are fewer than fill a square are of use to the code.
Support adapt(const X86Device& device, const Lowering&, Prepared& prepared) {
  StepDraft& step = prepared.step();
  TransposePlan plan = step.plan->get<TransposePlan>();
  for (int64_t* extent : {&plan.rows, &plan.columns})
    if (*extent >= device.target().lanes()) *extent = 0;
  if (plan.element_bytes > 4 || (plan.rows && plan.columns)) return {"squares would be mostly empty"};
  step.plan = plan;
  return {};
}

Support supports(const TransposePlan& plan, const X86Target&) {
  if (plan.element_bytes != 1 && plan.element_bytes != 2 && plan.element_bytes != 4)
    return {fmt::format("squares of elements of {} bytes", plan.element_bytes)};
  return {};
}

Launch launch(const TransposePlan&, const X86Target& target, TransposeKernelArgs& args) {
  const int64_t lanes = target.lanes();
  return {.items = args.planes * ceil_div(args.rows, kTransposeSquares * lanes) * ceil_div(args.columns, lanes),
          .items_per_chunk = 4};
}

std::string describe(const TransposePlan& plan, const X86Target&) {
  return fmt::format("squares of {}-byte elements in registers", plan.element_bytes);
}

constexpr X86KernelClass<TransposePlan, TransposeKernelArgs> kTranspose{
    .adapt = adapt, .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef transpose_on_x86_def = x86_kernel<kTranspose>();

}  // namespace hone

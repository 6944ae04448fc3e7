// Rows added up at their numbers. A block of the result's rows begins as zeros in scratch; all numbers are compared
// with its range, a vector at a time, and the rows of those in it are added in their order. What is complete goes
// through the epilogue of products, row by row, so that the result is written once.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "base/multiples.h"
#include "device/llvm/epilogue.h"
#include "device/x86/element_cost.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "ir/pointwise.h"
#include "kernels/add_rows/plan.h"
#include "kernels/elements.h"

namespace hone {
namespace {

using llvm::Value;

// With what launch() derives from the sizes.
struct X86AddRowsArgs : AddRowsArgs {
  int64_t block_rows = 0;  // of an item
  static constexpr auto places() {
    return std::tuple_cat(AddRowsArgs::places(), std::tuple(&X86AddRowsArgs::block_rows));
  }
};
using A = X86AddRowsArgs;
static_assert(place_of<&A::block_rows> == 3);  // that code in caches and bundles reads
static_assert(shares_epilogue<&A::rows, &A::epilogue>());

class AddRowsEmitter {
 public:
  AddRowsEmitter(X86Emitter& e, const AddRowsPlan& plan) : e_(e), plan_(plan), columns_(plan.product.n) {}

  void run(const std::string& symbol) {
    add_ = emit_add(symbol + "_add");
    epilogue_ = emit_epilogue(e_, symbol + "_epilogue", plan_.product, SumTile{.vectors = vectors()});
    frame_ = e_.begin_kernel(symbol);
    Value *rows = e_.size<&A::rows>(frame_), *each = e_.size<&A::block_rows>(frame_);
    Value* blocks = e_.b.CreateUDiv(e_.b.CreateAdd(rows, e_.b.CreateSub(each, e_.num(1))), each);
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      Value* table = e_.b.CreateUDiv(item, blocks);
      Value* first = e_.b.CreateMul(e_.b.CreateURem(item, blocks), each);
      block(table, first, e_.smaller(each, e_.b.CreateSub(rows, first)));
      return Values{};
    });
    e_.end_function();
  }

 private:
  int vectors() const { return static_cast<int>(ceil_div(columns_, int64_t{e_.lanes})); }  // of a row
  int64_t pitch() const { return int64_t{vectors()} * e_.lanes * 4; }

  void block(Value* table, Value* first, Value* count) {
    e_.loop(e_.num(0), e_.times(count, pitch()), int64_t{e_.lanes} * 4, {}, [&](Value* at, const Values&) {
      e_.store(e_.c_f32(0), e_.at(frame_.scratch, at), e_.lanes * 4);
      return Values{};
    });
    add_rows_in(table, first, count);
    Value *rows = e_.size<&A::rows>(frame_), *offset = e_.times(e_.b.CreateMul(table, rows), columns_);
    e_.loop(e_.num(0), count, 1, {}, [&](Value* r, const Values&) {
      e_.b.CreateCall(epilogue_, {frame_.args, e_.at(frame_.scratch, e_.times(r, pitch())), e_.b.CreateAdd(first, r),
                                  e_.num(0), e_.num(1), offset, table});
      return Values{};
    });
  }

  // Those whose numbers lie in [first, first + count).
  void add_rows_in(Value* table, Value* first, Value* count) {
    Value *ids = e_.pointer<&A::ids>(frame_), *id_count = e_.size<&A::id_count>(frame_);
    Value* d = e_.at(e_.pointer<&A::d>(frame_), e_.times(e_.b.CreateMul(table, id_count), row_bytes()));
    llvm::Type* mask_type = e_.b.getIntNTy(static_cast<unsigned>(e_.lanes));
    const auto look = [&](Value* i, Value* mask) {
      Value* numbers = numbered(e_.masked_load(e_.vec(e_.memory_type(plan_.ids)), id_at(ids, i), mask));
      Value* inside = e_.b.CreateICmpULT(e_.b.CreateSub(numbers, e_.splat(first)), e_.splat(count));
      if (mask) inside = e_.b.CreateAnd(inside, mask);
      Value* bits = e_.b.CreateZExt(e_.b.CreateBitCast(inside, mask_type), e_.i64);
      e_.when(e_.b.CreateICmpNE(bits, e_.num(0)), [&] { add_each(bits, i, ids, d, first); });
    };
    Value* full = e_.b.CreateAnd(id_count, e_.num(-e_.lanes));
    e_.loop(e_.num(0), full, e_.lanes, {}, [&](Value* i, const Values&) {
      look(i, nullptr);
      return Values{};
    });
    e_.when(e_.b.CreateICmpSLT(full, id_count), [&] { look(full, e_.tail_mask(e_.b.CreateSub(id_count, full))); });
  }

  // The rows i + k for the bits k that are set, the lowest first.
  void add_each(Value* bits, Value* i, Value* ids, Value* d, Value* first) {
    Value* set = e_.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    e_.loop(e_.num(0), set, 1, {bits}, [&](Value*, const Values& left) {
      Value* lane = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left[0], e_.b.getTrue());
      Value* at = e_.b.CreateAdd(i, lane);
      Value* row = e_.b.CreateSub(numbered(e_.load(e_.memory_type(plan_.ids), id_at(ids, at))), first);
      e_.b.CreateCall(add_, {e_.at(frame_.scratch, e_.times(row, pitch())), e_.at(d, e_.times(at, row_bytes()))});
      return Values{e_.b.CreateAnd(left[0], e_.b.CreateSub(left[0], e_.num(1)))};
    });
  }

  int64_t row_bytes() const { return columns_ * size_bytes(plan_.d); }
  Value* id_at(Value* ids, Value* i) { return e_.at(ids, e_.times(i, size_bytes(plan_.ids))); }

  // i64, counted from the front; of vectors or single ones.
  Value* numbered(Value* id) {
    llvm::Type* type = id->getType()->getWithNewType(e_.i64);
    if (id->getType() != type) id = e_.b.CreateSExt(id, type);
    Value* rows = e_.size<&A::rows>(frame_);
    if (type->isVectorTy()) rows = e_.splat(rows);
    return e_.b.CreateSelect(e_.b.CreateICmpSLT(id, llvm::Constant::getNullValue(type)), e_.b.CreateAdd(id, rows), id);
  }

  // void(sums, row): sums += row.
  llvm::Function* emit_add(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.ptr};
    llvm::Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    const auto add = [&](Value* c, Value* mask) {
      Value* sums = e_.at(f->getArg(0), e_.times(c, 4));
      Value* row = e_.load_elements(plan_.d, e_.at(f->getArg(1), e_.times(c, size_bytes(plan_.d))), mask);
      e_.store(e_.b.CreateFAdd(e_.load(e_.v_f32, sums, e_.lanes * 4), row), sums, e_.lanes * 4);
    };
    const int64_t full = columns_ / e_.lanes * e_.lanes;
    e_.loop(e_.num(0), e_.num(full), e_.lanes, {}, [&](Value* c, const Values&) {
      add(c, nullptr);
      return Values{};
    });
    if (full < columns_) add(e_.num(full), e_.tail_mask(e_.num(columns_ - full)));
    e_.end_function();
    return f;
  }

  X86Emitter& e_;
  const AddRowsPlan& plan_;
  const int64_t columns_;
  KernelFrame frame_{};
  llvm::Function *add_ = nullptr, *epilogue_ = nullptr;
};

void emit(X86Emitter& e, const AddRowsPlan& plan, const std::string& symbol, int) {
  AddRowsEmitter(e, plan).run(symbol);
}

Support supports(const AddRowsPlan& plan, const X86Target&) {
  const GemmPlan& product = plan.product;
  if (product.operands.size() + product.results.size() > A().epilogue.size())
    return {fmt::format("{} operands and {} results do not fit the arguments of a kernel", product.operands.size(),
                        product.results.size())};
  if (plan.ids != DType::i64 && plan.ids != DType::i32) return {fmt::format("row numbers of {}", to_string(plan.ids))};
  if (compute_scalar(plan.d) != Scalar::f32) return {fmt::format("rows of {}", to_string(plan.d))};
  if (product.n < 1) return {fmt::format("rows of {} elements", product.n)};
  for (const Epilogue::Operand& operand : product.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  CHECK(product.program.results.size() == product.results.size());
  return {};
}

// Bytes from row to row in scratch.
int64_t sums_pitch(const AddRowsPlan& plan, const X86Target& target) {
  return round_up(plan.product.n, target.lanes()) * 4;
}

// Each item looks at all numbers, some eight a nanosecond: blocks are larger where there are many.
Launch launch(const AddRowsPlan& plan, const X86Target& target, X86AddRowsArgs& args) {
  const int64_t pitch = sums_pitch(plan, target), block_bytes = int64_t{1} << (args.id_count > 8192 ? 18 : 16);
  args.block_rows = std::clamp<int64_t>(block_bytes / pitch, 1, args.rows);
  const auto streams = static_cast<int>(plan.product.operands.size() + plan.product.results.size());
  const double ns = static_cast<double>(args.id_count) / 8 + static_cast<double>(args.block_rows * plan.product.n) *
                                                                 element_ns(plan.product.program, 1 + streams, target);
  return {.items = args.tables * ceil_div(args.rows, args.block_rows),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / ns)),
          .scratch_bytes = args.block_rows * pitch};
}

std::string describe(const AddRowsPlan& plan, const X86Target&) {
  return fmt::format("rows of {} {} added up", plan.product.n, to_string(plan.d));
}

constexpr X86KernelClass<AddRowsPlan, X86AddRowsArgs> kAddRows{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef add_rows_on_x86_def = x86_kernel<kAddRows>();

}  // namespace hone

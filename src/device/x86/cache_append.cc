// Kernels that append rows to paged sequences: bytes are copied, whatever they mean.
#include <algorithm>

#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "ir/pointwise.h"
#include "kernels/cache_append/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = CacheAppendArgs;

class CacheAppendEmitter {
 public:
  CacheAppendEmitter(X86Emitter& e, const CacheAppendPlan& plan) : e_(e), plan_(plan) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    Value *new_rows = e_.size<&A::new_rows>(frame_), *page_rows = e_.size<&A::page_rows>(frame_);
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      if (plan_.task == CacheAppendPlan::Task::copy) {
        copy_rows(e_.b.CreateMul(item, page_rows), e_.b.CreateMul(item, page_rows), page_rows);
        return Values{};
      }
      Value* sequence = e_.b.CreateUDiv(item, new_rows);
      Value* position =
          e_.b.CreateAdd(integer(place_of<&A::lengths>, plan_.lengths, sequence), e_.b.CreateURem(item, new_rows));
      Value* column = e_.b.CreateAdd(e_.b.CreateMul(sequence, e_.size<&A::sequence_pages>(frame_)),
                                     e_.b.CreateUDiv(position, page_rows));
      Value* page = integer(place_of<&A::table>, plan_.table, column);
      Value* row = e_.b.CreateAdd(e_.b.CreateMul(page, page_rows), e_.b.CreateURem(position, page_rows));
      copy_rows(item, row, e_.num(1));
      return Values{};
    });
    e_.end_function();
  }

 private:
  void copy_rows(Value* from, Value* to, Value* count) {
    for (int p = 0; p < plan_.planes; ++p) {
      Value* bytes = e_.size<&A::row_bytes>(frame_, p);
      emit_copy(e_, e_.at(e_.pointer<&A::from>(frame_, p), e_.b.CreateMul(from, bytes)),
                e_.at(e_.pointer<&A::to>(frame_, p), e_.b.CreateMul(to, bytes)), e_.b.CreateMul(count, bytes));
    }
  }

  Value* integer(int pointer, DType dtype, Value* index) {
    Value* value =
        e_.load(e_.memory_type(dtype), e_.at(e_.kernel_pointer(frame_, pointer), e_.times(index, size_bytes(dtype))));
    return e_.b.CreateSExtOrTrunc(value, e_.i64);
  }

  X86Emitter& e_;
  const CacheAppendPlan& plan_;
  KernelFrame frame_{};
};

void emit(X86Emitter& e, const CacheAppendPlan& plan, const std::string& symbol, int) {
  CacheAppendEmitter(e, plan).run(symbol);
}

Support supports(const CacheAppendPlan& plan, const X86Target&) {
  for (DType dtype : {plan.table, plan.lengths})
    if (dtype != DType::i64 && dtype != DType::i32) return {fmt::format("positions of {}", to_string(dtype))};
  return {};
}

Launch launch(const CacheAppendPlan& plan, const X86Target&, CacheAppendArgs& args) {
  const bool copies = plan.task == CacheAppendPlan::Task::copy;
  const int64_t bytes = (args.row_bytes[0] + args.row_bytes[1] + args.row_bytes[2]) * (copies ? args.page_rows : 1);
  return {copies ? args.pages : args.sequences * args.new_rows,
          std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, bytes))};
}

std::string describe(const CacheAppendPlan& plan, const X86Target&) {
  return plan.task == CacheAppendPlan::Task::copy ? "pages, to where the result lies" : "rows behind paged sequences";
}

constexpr X86KernelClass<CacheAppendPlan, CacheAppendArgs> kCacheAppend{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef cache_append_on_x86_def = x86_kernel<kCacheAppend>();

}  // namespace hone

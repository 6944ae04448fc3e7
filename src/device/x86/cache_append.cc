// Kernels that append rows to paged sequences: bytes are copied, whatever they mean.
#include "device/x86/copy.h"
#include "device/x86/emit.h"
#include "device/x86/emit_def.h"
#include "ir/pointwise.h"
#include "kernels/cache_append/plan.h"

namespace hone {
namespace {

using llvm::Value;

class CacheAppendEmitter {
 public:
  CacheAppendEmitter(Emitter& e, const CacheAppendPlan& plan) : e_(e), plan_(plan) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    Value *new_rows = e_.kernel_dim(frame_, 1), *page_rows = e_.kernel_dim(frame_, 2);
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      if (plan_.task == CacheAppendPlan::Task::copy) {
        copy_rows(e_.b.CreateMul(item, page_rows), e_.b.CreateMul(item, page_rows), page_rows);
        return Values{};
      }
      Value* sequence = e_.b.CreateUDiv(item, new_rows);
      Value* position = e_.b.CreateAdd(integer(7, plan_.lengths, sequence), e_.b.CreateURem(item, new_rows));
      Value* column =
          e_.b.CreateAdd(e_.b.CreateMul(sequence, e_.kernel_dim(frame_, 3)), e_.b.CreateUDiv(position, page_rows));
      Value* page = integer(6, plan_.table, column);
      Value* row = e_.b.CreateAdd(e_.b.CreateMul(page, page_rows), e_.b.CreateURem(position, page_rows));
      copy_rows(item, row, e_.num(1));
      return Values{};
    });
    e_.end_function();
  }

 private:
  void copy_rows(Value* from, Value* to, Value* count) {
    for (int p = 0; p < plan_.planes; ++p) {
      Value* bytes = e_.kernel_dim(frame_, 5 + p);
      emit_copy(e_, e_.at(e_.kernel_pointer(frame_, p), e_.b.CreateMul(from, bytes)),
                e_.at(e_.kernel_pointer(frame_, 3 + p), e_.b.CreateMul(to, bytes)), e_.b.CreateMul(count, bytes));
    }
  }

  Value* integer(int pointer, DType dtype, Value* index) {
    Value* value =
        e_.load(e_.memory_type(dtype), e_.at(e_.kernel_pointer(frame_, pointer), e_.times(index, size_bytes(dtype))));
    return e_.b.CreateSExtOrTrunc(value, e_.i64);
  }

  Emitter& e_;
  const CacheAppendPlan& plan_;
  KernelFrame frame_{};
};

void emit(Emitter& e, const CacheAppendPlan& plan, const std::string& symbol, int) {
  CacheAppendEmitter(e, plan).run(symbol);
}

}  // namespace

extern constinit const EmitterDef cache_append_emitter_def = emitter_def<CacheAppendPlan, emit>();

}  // namespace hone

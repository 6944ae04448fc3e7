// Kernels that append rows to paged sequences: bytes are copied, whatever they mean. A block copies a row of all
// planes, or a page.
#include "device/cuda/cuda_kernel.h"
#include "ir/pointwise.h"
#include "kernels/cache_append/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = CacheAppendArgs;

class CacheAppendEmitter {
 public:
  CacheAppendEmitter(CudaEmitter& e, const CacheAppendPlan& plan) : e_(e), plan_(plan) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    Value *new_rows = e_.size<&A::new_rows>(frame_), *page_rows = e_.size<&A::page_rows>(frame_), *item = frame_.begin;
    if (plan_.task == CacheAppendPlan::Task::copy) {
      Value* first = e_.b.CreateMul(item, page_rows);
      copy_rows(first, first, page_rows);
    } else {
      Value* sequence = e_.b.CreateUDiv(item, new_rows);
      Value* position =
          e_.b.CreateAdd(integer(place_of<&A::lengths>, plan_.lengths, sequence), e_.b.CreateURem(item, new_rows));
      Value* column = e_.b.CreateAdd(e_.b.CreateMul(sequence, e_.size<&A::sequence_pages>(frame_)),
                                     e_.b.CreateUDiv(position, page_rows));
      Value* page = integer(place_of<&A::table>, plan_.table, column);
      copy_rows(item, e_.b.CreateAdd(e_.b.CreateMul(page, page_rows), e_.b.CreateURem(position, page_rows)), e_.num(1));
    }
    e_.end_function();
  }

 private:
  void copy_rows(Value* from, Value* to, Value* count) {
    for (int p = 0; p < plan_.planes; ++p) {
      Value* bytes = e_.size<&A::row_bytes>(frame_, p);
      copy(e_.at(e_.pointer<&A::from>(frame_, p), e_.b.CreateMul(from, bytes)),
           e_.at(e_.pointer<&A::to>(frame_, p), e_.b.CreateMul(to, bytes)), e_.b.CreateMul(count, bytes));
    }
  }

  // 16 bytes a thread at a time where both sides and the length allow it, else byte by byte.
  void copy(Value* from, Value* to, Value* bytes) {
    auto& b = e_.b;
    Value* all = b.CreateOr(b.CreatePtrToInt(from, e_.i64), b.CreatePtrToInt(to, e_.i64));
    Value* whole = b.CreateICmpEQ(b.CreateAnd(b.CreateOr(all, bytes), e_.num(15)), e_.num(0));
    const auto pieces = [&](int64_t size, auto move) {
      e_.loop(e_.times(e_.wide(e_.thread()), size), bytes, size * e_.threads, {}, [&](Value* at, const Values&) {
        move(e_.at(from, at), e_.at(to, at));
        return Values{};
      });
      return Values{};
    };
    e_.choose(
        whole, [&] { return pieces(16, [&](Value* x, Value* y) { e_.store_words(e_.load_words(x, 4), y); }); },
        [&] { return pieces(1, [&](Value* x, Value* y) { e_.store(e_.load(e_.i8, x), y); }); });
  }

  Value* integer(int pointer, DType dtype, Value* index) {
    Value* value =
        e_.load(e_.memory_type(dtype), e_.at(e_.kernel_pointer(frame_, pointer), e_.times(index, size_bytes(dtype))));
    return e_.b.CreateSExtOrTrunc(value, e_.i64);
  }

  CudaEmitter& e_;
  const CacheAppendPlan& plan_;
  KernelFrame frame_{};
};

void emit(CudaEmitter& e, const CacheAppendPlan& plan, const std::string& symbol, int) {
  CacheAppendEmitter(e, plan).run(symbol);
}

Support supports(const CacheAppendPlan& plan, const CudaTarget&) {
  for (DType dtype : {plan.table, plan.lengths})
    if (dtype != DType::i64 && dtype != DType::i32) return {fmt::format("positions of {}", to_string(dtype))};
  return {};
}

Launch launch(const CacheAppendPlan& plan, const CudaTarget&, CacheAppendArgs& args) {
  return {.items = plan.task == CacheAppendPlan::Task::copy ? args.pages : args.sequences * args.new_rows};
}

std::string describe(const CacheAppendPlan& plan, const CudaTarget&) {
  return plan.task == CacheAppendPlan::Task::copy ? "pages, to where the result lies, a block each"
                                                  : "rows behind paged sequences, a block each";
}

constexpr CudaKernelClass<CacheAppendPlan, CacheAppendArgs> kCacheAppend{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const CudaKernelDef cache_append_on_cuda_def = cuda_kernel<kCacheAppend>();

}  // namespace hone

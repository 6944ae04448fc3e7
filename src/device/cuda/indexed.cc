// Gathers by indices: bytes are copied, whatever they mean. An element is a thread's, a longer slice a warp's.
#include <bit>

#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "kernels/indexed/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = IndexedArgs;

// Whether a slice is one access.
bool is_element(const IndexedPlan& plan) {
  return plan.slice_bytes > 0 && plan.slice_bytes <= 8 && std::has_single_bit(static_cast<uint64_t>(plan.slice_bytes));
}

class IndexedEmitter {
 public:
  IndexedEmitter(CudaEmitter& e, const IndexedPlan& plan) : e_(e), plan_(plan), rank_(static_cast<int>(plan.rank)) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    auto& b = e_.b;
    const bool by_thread = is_element(plan_);
    Value* slices = plan_.tuples ? e_.size<&A::tuples>(frame_) : e_.size<&A::index_count>(frame_);
    Value* number = b.CreateAdd(e_.times(frame_.begin, by_thread ? e_.threads : e_.warps()),
                                e_.wide(by_thread ? e_.thread() : e_.warp()));
    e_.when(b.CreateICmpSLT(number, slices), [&] {
      Value *from = e_.at(e_.pointer<&A::data>(frame_), plan_.tuples ? by_tuple(number) : along(number)),
            *out = e_.pointer<&A::out>(frame_);
      if (by_thread) {
        move(from, e_.at(out, e_.times(number, plan_.slice_bytes)));
      } else {
        Value* bytes = plan_.slice_bytes ? e_.num(plan_.slice_bytes) : e_.size<&A::slice_bytes>(frame_);
        copy(from, e_.at(out, b.CreateMul(number, bytes)), bytes);
      }
    });
    e_.end_function();
  }

 private:
  Value* dim(int i) { return e_.size<&A::axes>(frame_, i); }

  // Of an axis of `size`, from the front.
  Value* index_at(Value* number, Value* size) {
    Value* index = e_.load(e_.memory_type(plan_.indices),
                           e_.at(e_.pointer<&A::indices>(frame_), e_.times(number, size_bytes(plan_.indices))));
    index = e_.b.CreateSExt(index, e_.i64);
    return e_.b.CreateSelect(e_.b.CreateICmpSLT(index, e_.num(0)), e_.b.CreateAdd(index, size), index);
  }

  Value* by_tuple(Value* i) {
    Value *place = e_.num(0), *first = e_.times(i, rank_);
    for (int axis = 0; axis < rank_; ++axis) {
      Value* index = index_at(e_.b.CreateAdd(first, e_.num(axis)), dim(axis));
      place = e_.b.CreateAdd(place, e_.b.CreateMul(index, dim(rank_ + axis)));
    }
    return place;
  }

  // Where index `number` of all stands in the data, and what it says itself.
  Value* along(Value* number) {
    Value *place = e_.b.CreateMul(index_at(number, dim(2 * rank_)), dim(2 * rank_ + 1)), *rest = number;
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      Value* at = axis > 0 ? e_.b.CreateURem(rest, dim(axis)) : rest;
      place = e_.b.CreateAdd(place, e_.b.CreateMul(at, dim(rank_ + axis)));
      if (axis > 0) rest = e_.b.CreateUDiv(rest, dim(axis));
    }
    return place;
  }

  // A slice of several elements may start between multiples of its size.
  void move(Value* from, Value* to) {
    const int64_t bytes = plan_.slice_bytes;
    Value* both = e_.b.CreateOr(e_.b.CreatePtrToInt(from, e_.i64), e_.b.CreatePtrToInt(to, e_.i64));
    const auto as = [&](int64_t size) {
      llvm::Type* type = e_.b.getIntNTy(static_cast<unsigned>(size) * 8);
      for (int64_t at = 0; at < bytes; at += size) e_.store(e_.load(type, e_.at(from, at)), e_.at(to, at));
      return Values{};
    };
    e_.choose(
        e_.b.CreateICmpEQ(e_.b.CreateAnd(both, e_.num(bytes - 1)), e_.num(0)), [&] { return as(bytes); },
        [&] { return as(1); });
  }

  // By the lanes of a warp: 16 bytes each where both sides and the length allow it, else byte by byte.
  void copy(Value* from, Value* to, Value* bytes) {
    auto& b = e_.b;
    Value* all = b.CreateOr(b.CreatePtrToInt(from, e_.i64), b.CreatePtrToInt(to, e_.i64));
    Value* whole = b.CreateICmpEQ(b.CreateAnd(b.CreateOr(all, bytes), e_.num(15)), e_.num(0));
    const auto pieces = [&](int64_t size, auto move) {
      e_.loop(e_.times(e_.wide(e_.lane()), size), bytes, size * kWarp, {}, [&](Value* at, const Values&) {
        move(e_.at(from, at), e_.at(to, at));
        return Values{};
      });
      return Values{};
    };
    e_.choose(
        whole, [&] { return pieces(16, [&](Value* x, Value* y) { e_.store_words(e_.load_words(x, 4), y); }); },
        [&] { return pieces(1, [&](Value* x, Value* y) { e_.store(e_.load(e_.i8, x), y); }); });
  }

  CudaEmitter& e_;
  const IndexedPlan& plan_;
  const int rank_;
  KernelFrame frame_{};
};

void emit(CudaEmitter& e, const IndexedPlan& plan, const std::string& symbol, int) {
  IndexedEmitter(e, plan).run(symbol);
}

Support supports(const IndexedPlan& plan, const CudaTarget&) {
  constexpr int64_t kMostAxes = 16;
  if (plan.scatters) return {"updates that are made one after the other"};
  if (plan.rank < 1 || plan.rank > kMostAxes) return {fmt::format("{} axes", plan.rank)};
  if (plan.indices != DType::i64 && plan.indices != DType::i32)
    return {fmt::format("indices of {}", to_string(plan.indices))};
  return {};
}

Launch launch(const IndexedPlan& plan, const CudaTarget&, IndexedArgs& args) {
  const int64_t slices = plan.tuples ? args.tuples : args.index_count;
  return {.items = ceil_div(slices, int64_t{is_element(plan) ? kCudaThreads : kCudaThreads / kWarp})};
}

std::string describe(const IndexedPlan& plan, const CudaTarget&) {
  const std::string what = plan.tuples ? fmt::format("slices by {} ind{}", plan.rank, plan.rank == 1 ? "ex" : "ices")
                                       : std::string("elements along an axis");
  return fmt::format("{} read, {}", what, is_element(plan) ? "one a thread" : "one a warp");
}

constexpr CudaKernelClass<IndexedPlan, IndexedArgs> kIndexed{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const CudaKernelDef indexed_on_cuda_def = cuda_kernel<kIndexed>();

}  // namespace hone

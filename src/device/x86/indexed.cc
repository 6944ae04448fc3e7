// Gathers and scatters: bytes are copied, whatever they mean, unless updates join the elements that they meet.
#include <algorithm>

#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "kernels/elements.h"
#include "kernels/indexed/plan.h"

namespace hone {
namespace {

using llvm::Value;

class IndexedEmitter {
 public:
  IndexedEmitter(X86Emitter& e, const IndexedPlan& plan) : e_(e), plan_(plan), rank_(static_cast<int>(plan.rank)) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    using A = IndexedArgs;
    data_ = e_.pointer<&A::data>(frame_), indices_ = e_.pointer<&A::indices>(frame_);
    updates_ = e_.pointer<&A::updates>(frame_), out_ = e_.pointer<&A::out>(frame_);
    slice_ = plan_.slice_bytes ? e_.num(plan_.slice_bytes) : e_.size<&A::slice_bytes>(frame_);
    if (plan_.scatters)
      e_.when(e_.b.CreateICmpNE(data_, out_), [&] { emit_copy(e_, data_, out_, e_.size<&A::data_bytes>(frame_)); });
    Value *begin = plan_.scatters ? e_.num(0) : frame_.begin,
          *end = plan_.scatters ? e_.size<&A::tuples>(frame_) : frame_.end;
    if (plan_.tuples) {
      e_.loop(begin, end, 1, {}, [&](Value* i, const Values&) {
        move(by_tuple(i), i);
        return Values{};
      });
    } else {
      along(0, begin, end, e_.num(0), e_.num(0));
    }
    e_.end_function();
  }

 private:
  using Joins = IndexedPlan::Joins;

  Value* dim(int i) { return e_.size<&IndexedArgs::axes>(frame_, i); }

  // Of an axis of `size`, from the front.
  Value* index_at(Value* number, Value* size) {
    llvm::Type* type = e_.memory_type(plan_.indices);
    Value* index = e_.load(type, e_.at(indices_, e_.times(number, size_bytes(plan_.indices))));
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

  // Loops over the indices' axes from `axis` on, behind `number` of them at `place` of the data.
  void along(int axis, Value* begin, Value* end, Value* number, Value* place) {
    e_.loop(begin, end, 1, {}, [&](Value* i, const Values&) {
      Value* here = e_.b.CreateAdd(place, e_.b.CreateMul(i, dim(rank_ + axis)));
      Value* index = e_.b.CreateAdd(e_.b.CreateMul(number, dim(axis)), i);
      if (axis + 1 < rank_) {
        along(axis + 1, e_.num(0), dim(axis + 1), index, here);
      } else {
        Value* own = e_.b.CreateMul(index_at(index, dim(2 * rank_)), dim(2 * rank_ + 1));
        move(e_.b.CreateAdd(here, own), index);
      }
      return Values{};
    });
  }

  // The slice at `place` of the data, and that of `number`.
  void move(Value* place, Value* number) {
    Value* own = e_.b.CreateMul(number, slice_);
    if (plan_.joins != Joins::replace) join(e_.at(updates_, own), e_.at(out_, place));
    else if (plan_.scatters) emit_copy(e_, e_.at(updates_, own), e_.at(out_, place), slice_);
    else emit_copy(e_, e_.at(data_, place), e_.at(out_, own), slice_);
  }

  void join(Value* updates, Value* out) {
    const int bytes = size_bytes(plan_.dtype);
    if (plan_.slice_bytes == bytes) {
      const auto element = [&](Value* at) { return e_.widen(plan_.dtype, e_.load(e_.memory_type(plan_.dtype), at)); };
      e_.store(e_.narrow(plan_.dtype, joined(element(out), element(updates))), out);
      return;
    }
    e_.loop(e_.num(0), e_.b.CreateUDiv(slice_, e_.num(bytes)), e_.lanes, {}, [&](Value* i, const Values&) {
      Value *offset = e_.times(i, bytes), *left = e_.b.CreateSub(slice_, offset);
      Value* mask = e_.tail_mask(e_.b.CreateUDiv(left, e_.num(bytes)));
      const auto elements = [&](Value* at) { return e_.load_elements(plan_.dtype, e_.at(at, offset), mask); };
      e_.store_elements(joined(elements(out), elements(updates)), plan_.dtype, e_.at(out, offset), mask);
      return Values{};
    });
  }

  // NaN is the smallest and the largest.
  Value* joined(Value* x, Value* update) {
    const Scalar scalar = compute_scalar(plan_.dtype);
    const bool is_sum = plan_.joins == Joins::add, is_min = plan_.joins == Joins::min;
    if (is_sum || plan_.joins == Joins::mul) {
      if (is_float(scalar)) return is_sum ? e_.b.CreateFAdd(x, update) : e_.b.CreateFMul(x, update);
      return is_sum ? e_.b.CreateAdd(x, update) : e_.b.CreateMul(x, update);
    }
    const bool has_sign = scalar == Scalar::i32 || scalar == Scalar::i64;
    Value* stays;
    if (is_float(scalar)) {
      stays = is_min ? e_.b.CreateFCmpOLE(x, update) : e_.b.CreateFCmpOGE(x, update);
      stays = e_.b.CreateOr(stays, e_.b.CreateFCmpUNO(x, x));
    } else if (has_sign) {
      stays = is_min ? e_.b.CreateICmpSLE(x, update) : e_.b.CreateICmpSGE(x, update);
    } else {
      stays = is_min ? e_.b.CreateICmpULE(x, update) : e_.b.CreateICmpUGE(x, update);
    }
    return e_.b.CreateSelect(stays, x, update);
  }

  X86Emitter& e_;
  const IndexedPlan& plan_;
  const int rank_;
  KernelFrame frame_{};
  Value *data_ = nullptr, *indices_ = nullptr, *updates_ = nullptr, *out_ = nullptr, *slice_ = nullptr;
};

void emit(X86Emitter& e, const IndexedPlan& plan, const std::string& symbol, int) {
  IndexedEmitter(e, plan).run(symbol);
}

Support supports(const IndexedPlan& plan, const X86Target&) {
  constexpr int64_t kMostAxes = 16;
  if (plan.rank < 1 || plan.rank > kMostAxes) return {fmt::format("{} axes", plan.rank)};
  if (plan.indices != DType::i64 && plan.indices != DType::i32)
    return {fmt::format("indices of {}", to_string(plan.indices))};
  using Joins = IndexedPlan::Joins;
  if (plan.joins == Joins::replace) return {};
  if (!is_loadable(plan.dtype) || plan.dtype == DType::boolean)
    return {fmt::format("updates of type {} that join what they meet", to_string(plan.dtype))};
  // Several updates of one element are rounded once, together.
  if ((plan.joins == Joins::add || plan.joins == Joins::mul) && is_float(plan.dtype) && size_bytes(plan.dtype) == 2)
    return {fmt::format("sums and products that are rounded to {}", to_string(plan.dtype))};
  return {};
}

Launch launch(const IndexedPlan& plan, const X86Target&, IndexedArgs& args) {
  if (plan.scatters) return {1, 1};
  const double each = static_cast<double>(args.index_count) / static_cast<double>(std::max<int64_t>(args.tuples, 1)),
               ns = each * (2 + 0.05 * static_cast<double>(args.slice_bytes));
  return {args.tuples, std::max<int64_t>(1, static_cast<int64_t>(20000 / std::max(ns, 1.0)))};
}

std::string describe(const IndexedPlan& plan, const X86Target&) {
  const std::string what = plan.tuples ? fmt::format("slices by {} ind{}", plan.rank, plan.rank == 1 ? "ex" : "ices")
                                       : std::string("elements along an axis");
  using Joins = IndexedPlan::Joins;
  return fmt::format("{} {}", what,
                     !plan.scatters                 ? "read"
                     : plan.joins == Joins::replace ? "written"
                                                    : "joined with what they meet");
}

constexpr X86KernelClass<IndexedPlan, IndexedArgs> kIndexed{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef indexed_on_x86_def = x86_kernel<kIndexed>();

}  // namespace hone

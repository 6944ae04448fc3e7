// Running extremes. Beside the axis, a vector holds neighbours and each step compares once. Along the axis, `lanes`
// elements of it lie in a vector: log2(lanes) permutations and comparisons make of each element the extreme of those
// before it in its vector, and one more takes in the vectors before.
//
// An extreme of elements that were compared before is the same extreme, so lanes without an element of their own hold
// any that comes before theirs.
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "kernels/cumulative/plan.h"
#include "kernels/elements.h"

namespace hone {
namespace {

using llvm::Value;

class CumulativeEmitter {
 public:
  CumulativeEmitter(X86Emitter& e, const CumulativePlan& plan)
      : e_(e), plan_(plan), scalar_(compute_scalar(plan.dtype)), bytes_(size_bytes(plan.dtype)) {}

  void run(const std::string& symbol) {
    const KernelFrame frame = e_.begin_kernel(symbol);
    using A = CumulativeArgs;
    Value *x = e_.pointer<&A::x>(frame), *out = e_.pointer<&A::out>(frame), *length = e_.size<&A::length>(frame),
          *inner = e_.size<&A::inner>(frame);
    Value* blocks = e_.b.CreateUDiv(e_.b.CreateAdd(inner, e_.num(e_.lanes - 1)), e_.num(e_.lanes));
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* item, const Values&) {
      Value* column = e_.times(e_.b.CreateURem(item, blocks), e_.lanes);
      Value* run = e_.b.CreateMul(e_.b.CreateUDiv(item, blocks), e_.b.CreateMul(length, inner));
      Value* offset = e_.times(e_.b.CreateAdd(run, column), bytes_);
      if (plan_.along) {
        along(e_.at(x, offset), e_.at(out, offset), length);
      } else {
        Value *left = e_.b.CreateSub(inner, column), *is_full = e_.b.CreateICmpSGE(left, e_.num(e_.lanes));
        const auto columns = [&](Value* mask) { beside(e_.at(x, offset), e_.at(out, offset), length, inner, mask); };
        e_.when(is_full, [&] { columns(nullptr); });
        e_.when(e_.b.CreateNot(is_full), [&] { columns(e_.tail_mask(left)); });
      }
      return Values{};
    });
    e_.end_function();
  }

 private:
  Value* load(Value* pointer, Value* mask) { return e_.load_elements(plan_.dtype, pointer, mask); }
  void store(Value* value, Value* pointer, Value* mask) { e_.store_elements(value, plan_.dtype, pointer, mask); }

  void beside(Value* x, Value* out, Value* length, Value* inner, Value* mask) {
    Value* step = e_.times(inner, bytes_);
    Value* first = plan_.reverse ? e_.b.CreateMul(e_.b.CreateSub(length, e_.num(1)), step) : e_.num(0);
    if (plan_.reverse) step = e_.b.CreateNeg(step);
    const X86Emitter::Moving moving[] = {{e_.at(x, first), step}, {e_.at(out, first), step}};
    e_.walk(length, moving, {load(moving[0].pointer, mask)}, [&](const Values& at, const Values& before) {
      Value* extreme = later(before[0], load(at[0], mask));
      store(extreme, at[1], mask);
      return Values{extreme};
    });
  }

  void along(Value* x, Value* out, Value* length) {
    const auto at = [&](Value* base, Value* position) { return e_.at(base, e_.times(position, bytes_)); };
    Value* full = e_.b.CreateAnd(length, e_.num(-e_.lanes));
    Value* first = plan_.reverse ? e_.b.CreateSub(length, e_.num(1)) : e_.num(0);
    Value* before = e_.load_broadcast(plan_.dtype, at(x, first));
    before = e_.loop(e_.num(0), full, e_.lanes, {before}, [&](Value* i, const Values& carried) {
      Value* here = plan_.reverse ? e_.b.CreateSub(e_.b.CreateSub(length, e_.num(e_.lanes)), i) : i;
      Value* own = within(load(at(x, here), nullptr));
      store(later(carried[0], own), at(out, here), nullptr);
      return Values{later(carried[0], splat(own, plan_.reverse ? 0 : e_.lanes - 1))};
    })[0];
    e_.when(e_.b.CreateICmpSLT(full, length), [&] {
      Value *mask = e_.tail_mask(e_.b.CreateSub(length, full)), *here = plan_.reverse ? e_.num(0) : full;
      Value* own = e_.b.CreateSelect(mask, load(at(x, here), mask), before);
      store(later(before, within(own)), at(out, here), mask);
    });
  }

  // Each lane the extreme of itself and the lanes before it.
  Value* within(Value* value) {
    for (int shift = 1; shift < e_.lanes; shift *= 2) {
      std::vector<int> from;
      for (int lane = 0; lane < e_.lanes; ++lane)
        from.push_back(plan_.reverse ? std::min(lane + shift, e_.lanes - 1) : std::max(lane - shift, 0));
      value = later(e_.b.CreateShuffleVector(value, from), value);
    }
    return value;
  }

  Value* splat(Value* value, int lane) {
    return e_.b.CreateShuffleVector(value, std::vector<int>(static_cast<size_t>(e_.lanes), lane));
  }

  // The extreme of elements `before` and those of `value`, which come after them.
  Value* later(Value* before, Value* value) {
    Value* replaces = nullptr;
    if (scalar_ == Scalar::f32 || scalar_ == Scalar::f64) {
      replaces = plan_.largest ? e_.b.CreateFCmpUGT(value, before) : e_.b.CreateFCmpULT(value, before);
      replaces = e_.b.CreateAnd(replaces, e_.b.CreateFCmpORD(before, before));
    } else if (scalar_ == Scalar::u32 || scalar_ == Scalar::u64) {
      replaces = plan_.largest ? e_.b.CreateICmpUGT(value, before) : e_.b.CreateICmpULT(value, before);
    } else {
      replaces = plan_.largest ? e_.b.CreateICmpSGT(value, before) : e_.b.CreateICmpSLT(value, before);
    }
    return e_.b.CreateSelect(replaces, value, before);
  }

  X86Emitter& e_;
  const CumulativePlan& plan_;
  const Scalar scalar_;
  const int bytes_;
};

void emit(X86Emitter& e, const CumulativePlan& plan, const std::string& symbol, int) {
  CumulativeEmitter(e, plan).run(symbol);
}

Support supports(const CumulativePlan& plan, const X86Target&) {
  if (!has_machine_type(plan.dtype)) return {fmt::format("elements of type {}", to_string(plan.dtype))};
  return {};
}

Launch launch(const CumulativePlan& plan, const X86Target& target, CumulativeArgs& args) {
  const int64_t lanes = target.lanes(), length = args.length;
  const double ns = plan.along ? 4 * static_cast<double>(ceil_div(length, lanes)) : 1.5 * static_cast<double>(length);
  return {.items = args.outer * ceil_div(args.inner, lanes),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 5)))};
}

std::string describe(const CumulativePlan& plan, const X86Target& target) {
  return fmt::format("{} {} {} at a time, {}", plan.largest ? "largest" : "smallest", target.lanes(),
                     to_string(plan.dtype), plan.along ? "along the axis" : "beside each other");
}

constexpr X86KernelClass<CumulativePlan, CumulativeArgs> kCumulative{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef cumulative_on_x86_def = x86_kernel<kCumulative>();

}  // namespace hone

// Running sums, products and extremes: a vector of neighbouring runs, or one run, step by step along the axis.
#include <algorithm>

#include "base/multiples.h"
#include "device/llvm/reduction.h"
#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "kernels/elements.h"
#include "kernels/running/plan.h"

namespace hone {
namespace {

using llvm::Value;

class RunningEmitter {
 public:
  RunningEmitter(X86Emitter& e, const RunningPlan& plan)
      : e_(e), plan_(plan), bytes_(size_bytes(plan.dtype)), is_float_(is_float(compute_scalar(plan.dtype))) {}

  void run(const std::string& symbol) {
    const KernelFrame frame = e_.begin_kernel(symbol);
    using A = RunningArgs;
    Value *x = e_.pointer<&A::x>(frame), *out = e_.pointer<&A::out>(frame), *length = e_.size<&A::length>(frame),
          *inner = e_.size<&A::inner>(frame);
    Value* blocks = e_.b.CreateUDiv(e_.b.CreateAdd(inner, e_.num(e_.lanes - 1)), e_.num(e_.lanes));
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* item, const Values&) {
      Value* column = e_.times(e_.b.CreateURem(item, blocks), e_.lanes);
      Value* run = e_.b.CreateMul(e_.b.CreateUDiv(item, blocks), e_.b.CreateMul(length, inner));
      Value* offset = e_.times(e_.b.CreateAdd(run, column), bytes_);
      Value* result = offset;
      if (plan_.whole) {
        Value* before = e_.b.CreateMul(e_.b.CreateUDiv(item, blocks), inner);
        result = e_.times(e_.b.CreateAdd(before, column), bytes_);
      }
      const auto along = [&](Value* mask) { steps(e_.at(x, offset), e_.at(out, result), length, inner, mask); };
      if (plan_.single) {
        along(nullptr);
      } else {
        Value *left = e_.b.CreateSub(inner, column), *is_full = e_.b.CreateICmpSGE(left, e_.num(e_.lanes));
        e_.when(is_full, [&] { along(nullptr); });
        e_.when(e_.b.CreateNot(is_full), [&] { along(e_.tail_mask(left)); });
      }
      return Values{};
    });
    e_.end_function();
  }

 private:
  void steps(Value* x, Value* out, Value* length, Value* inner, Value* mask) {
    Value* step = e_.times(inner, bytes_);
    Value* first = plan_.reverse ? e_.b.CreateMul(e_.b.CreateSub(length, e_.num(1)), step) : e_.num(0);
    if (plan_.reverse) step = e_.b.CreateNeg(step);
    const X86Emitter::Moving moving[] = {{e_.at(x, first), step}, {e_.at(out, first), step}};
    const Values all = e_.walk(length, moving, {nothing()}, [&](const Values& at, const Values& before) {
      Value* total = joined(before[0], load(at[0], mask));
      if (!plan_.whole) store(plan_.exclusive ? before[0] : total, at[1], mask);
      return Values{total};
    });
    if (plan_.whole) store(all[0], out, mask);
  }

  llvm::Type* wide() const {  // of totals
    llvm::Type* own = e_.scalar_type(scalar());
    return plan_.single ? own : e_.vec(own);
  }
  using Joins = RunningPlan::Joins;
  Scalar scalar() const { return is_float_ ? Scalar::f64 : compute_scalar(plan_.dtype); }
  Reduction::Kind kind() const {
    return plan_.joins == Joins::max   ? Reduction::Kind::max
           : plan_.joins == Joins::min ? Reduction::Kind::min
                                       : Reduction::Kind::sum;
  }

  Value* nothing() {
    if (plan_.joins == Joins::product && is_float_) return llvm::ConstantFP::get(wide(), 1);
    if (plan_.joins == Joins::product) return llvm::ConstantInt::get(wide(), 1);
    Value* all = reduction_identity(e_, kind(), scalar());
    return plan_.single ? llvm::cast<llvm::Constant>(all)->getSplatValue() : all;
  }
  Value* joined(Value* total, Value* element) {
    if (plan_.joins != Joins::product) return emit_reduction(e_, kind(), scalar(), total, element);
    return is_float_ ? e_.b.CreateFMul(total, element) : e_.b.CreateMul(total, element);
  }

  Value* load(Value* pointer, Value* mask) {
    Value* element = plan_.single ? e_.widen(plan_.dtype, e_.load(e_.memory_type(plan_.dtype), pointer))
                                  : e_.load_elements(plan_.dtype, pointer, mask);
    return element->getType() == wide() ? element : e_.b.CreateFPExt(element, wide());
  }
  void store(Value* total, Value* pointer, Value* mask) {
    if (plan_.dtype == DType::f32) total = e_.b.CreateFPTrunc(total, total->getType()->getWithNewType(e_.f32));
    if (plan_.single) e_.store(e_.narrow(plan_.dtype, total), pointer);
    else e_.store_elements(total, plan_.dtype, pointer, mask);
  }

  X86Emitter& e_;
  const RunningPlan& plan_;
  const int bytes_;
  const bool is_float_;
};

void emit(X86Emitter& e, const RunningPlan& plan, const std::string& symbol, int) {
  RunningEmitter(e, plan).run(symbol);
}

Support supports(const RunningPlan& plan, const X86Target&) {
  if (!is_loadable(plan.dtype) || plan.dtype == DType::boolean)
    return {fmt::format("elements of type {}", to_string(plan.dtype))};
  if (plan.dtype == DType::f16 || plan.dtype == DType::bf16)
    return {fmt::format("sums that are rounded to {}", to_string(plan.dtype))};
  if ((plan.joins == RunningPlan::Joins::max || plan.joins == RunningPlan::Joins::min) && is_float(plan.dtype))
    return {fmt::format("extremes of {}", to_string(plan.dtype))};
  return {};
}

// A step waits for the one before it, some four cycles.
Launch launch(const RunningPlan&, const X86Target& target, RunningArgs& args) {
  const double ns = 1.5 * static_cast<double>(args.length);
  return {.items = args.outer * ceil_div(args.inner, int64_t{target.lanes()}),
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 5)))};
}

std::string describe(const RunningPlan& plan, const X86Target& target) {
  constexpr const char* kNames[] = {"sums", "products", "maxima", "minima"};
  return fmt::format("{}{} of {}, {} at a time", plan.whole ? "" : "running ", kNames[static_cast<size_t>(plan.joins)],
                     to_string(plan.dtype), plan.single ? 1 : target.lanes());
}

constexpr X86KernelClass<RunningPlan, RunningArgs> kRunning{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef running_on_x86_def = x86_kernel<kRunning>();

}  // namespace hone

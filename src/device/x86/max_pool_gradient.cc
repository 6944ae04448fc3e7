// Gradients of largest elements: each place finds its largest elements, channels in the lanes, and adds to them in
// memory. Rows of the result become zeros just before the first window that reaches them.
#include <algorithm>

#include "base/multiples.h"
#include "device/x86/emitter.h"
#include "device/x86/plane.h"
#include "device/x86/tile.h"
#include "device/x86/x86_kernel.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/max_pool_gradient/plan.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

constexpr int64_t kMaxPoolBlockVectors = 4;  // of channels: some lines of each pixel

class MaxPoolGradientKernel {
 public:
  MaxPoolGradientKernel(X86Emitter& e, const MaxPoolGradientPlan& plan, const std::string& symbol)
      : e_(e), plan_(plan), w_(plan.window), symbol_(symbol), block_(kMaxPoolBlockVectors * e.lanes) {}

  void emit() {
    place_ = emit_place();
    const KernelFrame frame = e_.begin_kernel(symbol_);
    allow_spills(frame.function);
    p_ = plane_values(e_, w_, true, frame, place_of<&A::window>);
    Value* blocks = e_.num((plan_.channels + block_ - 1) / block_);
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* item, const Values&) {
      Value* channel = e_.times(e_.b.CreateURem(item, blocks), block_);
      Value* image = e_.b.CreateUDiv(item, blocks);
      Value* pixel = e_.b.CreateMul(image, e_.b.CreateMul(p_.height, p_.width));
      Value* place = e_.b.CreateMul(image, e_.b.CreateMul(p_.out_height, p_.out_width));
      planes(at(e_.pointer<&A::x>(frame), pixel, channel, plan_.x),
             at(e_.pointer<&A::d>(frame), place, channel, plan_.d),
             at(e_.pointer<&A::dx>(frame), pixel, channel, DType::f32), channel);
      return Values{};
    });
    e_.end_function();
  }

 private:
  using A = MaxPoolGradientArgs;
  int64_t pixel_bytes(DType dtype) const { return plan_.channels * size_bytes(dtype); }
  Value* at(Value* plane, Value* pixel, Value* channel, DType dtype) {
    return e_.at(plane, e_.b.CreateAdd(e_.times(pixel, pixel_bytes(dtype)), e_.times(channel, size_bytes(dtype))));
  }

  // Taps [first, first + count) of those at start, start + dilation, … lie in [0, extent). `count` may be negative.
  struct Taps {
    Value *first, *count;
  };
  Taps taps_inside(Value* start, Value* taps, int64_t dilation, Value* extent) {
    const auto steps = [&](Value* distance) {  // to go at least that far
      return e_.b.CreateUDiv(e_.b.CreateAdd(e_.larger(distance, e_.num(0)), e_.num(dilation - 1)), e_.num(dilation));
    };
    Value* first = steps(e_.b.CreateNeg(start));
    return {first, e_.b.CreateSub(e_.smaller(steps(e_.b.CreateSub(extent, start)), taps), first)};
  }

  // The channels of a block, from `channel` on, of one image.
  void planes(Value* x, Value* d, Value* dx, Value* channel) {
    Value* left = e_.smaller(e_.b.CreateSub(e_.num(plan_.channels), channel), e_.num(block_));
    const Values cleared = e_.loop(e_.num(0), p_.out_height, 1, {e_.num(0)}, [&](Value* y, const Values& before) {
      Value* top = e_.b.CreateSub(e_.times(y, w_.stride_y), p_.pad_top);
      Value* reach = e_.b.CreateAdd(top, e_.num((w_.kernel_height - 1) * w_.dilation_y + 1));
      Value* end = e_.larger(e_.smaller(reach, p_.height), before[0]);
      clear(dx, before[0], end, left);
      const Taps down = taps_inside(top, p_.kernel_height, w_.dilation_y, p_.height);
      top = e_.b.CreateAdd(top, e_.times(down.first, w_.dilation_y));
      e_.loop(e_.num(0), p_.out_width, 1, {}, [&](Value* column, const Values&) {
        Value* from = e_.b.CreateSub(e_.times(column, w_.stride_x), p_.pad_left);
        const Taps across = taps_inside(from, p_.kernel_width, w_.dilation_x, p_.width);
        from = e_.b.CreateAdd(from, e_.times(across.first, w_.dilation_x));
        Value* some =
            e_.b.CreateAnd(e_.b.CreateICmpSGT(down.count, e_.num(0)), e_.b.CreateICmpSGT(across.count, e_.num(0)));
        Value* pixel = e_.b.CreateAdd(e_.b.CreateMul(top, p_.width), from);
        Value* place = e_.b.CreateAdd(e_.b.CreateMul(y, p_.out_width), column);
        e_.when(some, [&] {
          e_.b.CreateCall(place_, {at(x, pixel, e_.num(0), plan_.x), at(d, place, e_.num(0), plan_.d),
                                   at(dx, pixel, e_.num(0), DType::f32), down.count, across.count, p_.width, left});
        });
        return Values{};
      });
      return Values{end};
    });
    clear(dx, cleared[0], p_.height, left);
  }

  void clear(Value* dx, Value* first, Value* end, Value* channels) {
    e_.loop(e_.b.CreateMul(first, p_.width), e_.b.CreateMul(end, p_.width), 1, {}, [&](Value* pixel, const Values&) {
      each_vector(channels,
                  [&](Value* c, Value* mask) { e_.masked_store(e_.c_f32(0), at(dx, pixel, c, DType::f32), mask); });
      return Values{};
    });
  }
  template <class Body>
  void each_vector(Value* channels, Body body) {
    e_.loop(e_.num(0), channels, e_.lanes, {}, [&](Value* c, const Values&) {
      body(c, plan_.channels % e_.lanes == 0 ? nullptr : e_.tail_mask(e_.b.CreateSub(channels, c)));
      return Values{};
    });
  }

  // void(x, d, dx, rows, taps, width, channels): one place, from its first tap in the plane on.
  Function* emit_place() {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.ptr, e_.i64, e_.i64, e_.i64, e_.i64};
    Function* f = e_.begin_function(symbol_ + "_place", e_.b.getVoidTy(), params, false);
    allow_spills(f);
    Value *rows = f->getArg(3), *taps = f->getArg(4), *width = f->getArg(5);
    const auto row_bytes = [&](DType dtype) { return e_.times(width, w_.dilation_y * pixel_bytes(dtype)); };
    each_vector(f->getArg(6), [&](Value* c, Value* mask) {
      const auto of = [&](unsigned arg, DType dtype) { return e_.at(f->getArg(arg), e_.times(c, size_bytes(dtype))); };
      Value *x = of(0, plan_.x), *dx = of(2, DType::f32);
      Value* one = llvm::ConstantInt::get(e_.v_i32, 1);
      const X86Emitter::Moving down[] = {{x, row_bytes(plan_.x)}};
      // The largest so far, its number among the taps, and that of the next one.
      const Values found = e_.walk(
          rows, down, {e_.load_elements(plan_.x, x, mask), e_.c_i32(0), e_.c_i32(0)},
          [&](const Values& row, const Values& now) {
            const X86Emitter::Moving across[] = {{row[0], w_.dilation_x * pixel_bytes(plan_.x)}};
            return e_.walk(
                taps, across, now,
                [&](const Values& p, const Values& v) {
                  Value* element = e_.load_elements(plan_.x, p[0], mask);
                  Value* larger = e_.b.CreateAnd(e_.b.CreateFCmpUGT(element, v[0]), e_.b.CreateFCmpORD(v[0], v[0]));
                  return Values{e_.b.CreateSelect(larger, element, v[0]), e_.b.CreateSelect(larger, v[2], v[1]),
                                e_.b.CreateAdd(v[2], one)};
                },
                true);
          },
          true);
      Value* d = e_.load_elements(plan_.d, of(1, plan_.d), mask);
      const X86Emitter::Moving back[] = {{dx, row_bytes(DType::f32)}};
      e_.walk(
          rows, back, {e_.c_i32(0)},
          [&](const Values& row, const Values& now) {
            const X86Emitter::Moving across[] = {{row[0], w_.dilation_x * pixel_bytes(DType::f32)}};
            return e_.walk(
                taps, across, now,
                [&](const Values& p, const Values& v) {
                  Value* here = e_.b.CreateICmpEQ(v[0], found[1]);
                  if (mask) here = e_.b.CreateAnd(here, mask);
                  Value* sum = e_.b.CreateFAdd(e_.masked_load(e_.v_f32, p[0], here), d);
                  e_.masked_store(sum, p[0], here);
                  return Values{e_.b.CreateAdd(v[0], one)};
                },
                true);
          },
          true);
    });
    e_.end_function();
    return f;
  }

  X86Emitter& e_;
  const MaxPoolGradientPlan& plan_;
  const PlaneWindow& w_;
  const std::string symbol_;
  const int64_t block_;
  Function* place_ = nullptr;
  PlaneValues p_{};
};

void emit(X86Emitter& e, const MaxPoolGradientPlan& plan, const std::string& symbol, int) {
  MaxPoolGradientKernel(e, plan, symbol).emit();
}

Support supports(const MaxPoolGradientPlan& plan, const X86Target&) {
  for (DType type : {plan.x, plan.d})
    if (!is_loadable(type) || compute_scalar(type) != Scalar::f32)
      return {fmt::format("gradients of {}", to_string(type))};
  return {};
}

Launch launch(const MaxPoolGradientPlan& plan, const X86Target& target, MaxPoolGradientArgs& args) {
  const PlaneWindow w = on_plane_of(plan.window, args.window);
  const int64_t block = kMaxPoolBlockVectors * target.lanes();
  // Of a vector, each tap takes about 3 ns: a comparison, and an addition in memory.
  const int64_t ns = w.out_height * w.out_width * w.taps() * kMaxPoolBlockVectors * 3;
  return {.items = args.images * ceil_div(plan.channels, block),
          .items_per_chunk = std::max<int64_t>(1, 20'000 / std::max<int64_t>(ns, 1))};
}

std::string describe(const MaxPoolGradientPlan& plan, const X86Target&) {
  return fmt::format("{}x{} of {} channels", plan.window.kernel_height, plan.window.kernel_width, plan.channels);
}

KernelSpeed speed(const MaxPoolGradientPlan&, const X86Target&) { return {0.5, 0.05}; }

constexpr X86KernelClass<MaxPoolGradientPlan, MaxPoolGradientArgs> kMaxPoolGradient{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit, .speed = speed};

}  // namespace

extern constinit const X86KernelDef max_pool_gradient_on_x86_def = x86_kernel<kMaxPoolGradient>();

}  // namespace hone

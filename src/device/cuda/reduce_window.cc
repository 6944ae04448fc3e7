// Window kernels: pools, depthwise convolutions and other reductions of each channel under a window.
//
// A thread has one vector of channels at one place, and adds up the taps that lie in the plane, row by row.
// Neighbouring threads have neighbouring channels, so what a warp reads is whole stretches of memory; that places share
// elements is left to the caches.
#include <algorithm>

#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/divide.h"
#include "device/cuda/functions.h"
#include "device/llvm/expr_emit.h"
#include "device/llvm/reduction.h"
#include "kernels/elements.h"
#include "kernels/program_uses.h"
#include "kernels/reduce_window/plan.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

using llvm::Value;
using Access = Epilogue::Access;

// With the multipliers by which a thread finds its place.
struct CudaWindowArgs : ReduceWindowArgs {
  int64_t of_width = 0, of_height = 0;  // of the results' rows and planes
  static constexpr auto places() {
    using A = CudaWindowArgs;
    return std::tuple_cat(ReduceWindowArgs::places(), std::tuple(SizesFrom{32}, &A::of_width, &A::of_height));
  }
};
using A = CudaWindowArgs;

int thread_lanes(const ReduceWindowPlan& plan, const CudaTarget&) {
  int widest = std::max<int>(2, static_cast<int>(size_bytes(plan.x)));
  for (const Epilogue::Operand& o : plan.operands)
    if (o.access == Access::full) widest = std::max(widest, static_cast<int>(size_bytes(o.dtype)));
  for (const DType dtype : plan.results) widest = std::max(widest, static_cast<int>(size_bytes(dtype)));
  return 16 / widest;
}

// Taps lie [taps, channels] f32, so that whole vectors of any width can be loaded.
int64_t weight_pitch(const ReduceWindowPlan& plan) { return round_up(plan.channels, 16); }

class WindowEmitter {
 public:
  WindowEmitter(CudaEmitter& e, const ReduceWindowPlan& plan)
      : e_(e),
        plan_(plan),
        plane_(plan.plane),
        scalar_(compute_scalar(plan.x)),
        vectors_(ceil_div(plan.channels, int64_t{e.lanes})),
        counts_taps_(reads_argument(plan.program, 1)) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    auto& b = e_.b;
    height_ = size(0, plane_.height), width_ = size(1, plane_.width);
    Value *out_height = size(2, plane_.out_height), *out_width = size(3, plane_.out_width);
    Value* vector = b.CreateAdd(e_.times(frame_.begin, e_.threads), e_.wide(e_.thread()));
    Value* rows = b.CreateMul(e_.size<&A::images>(frame_), out_height);
    Value* all = e_.times(b.CreateMul(rows, out_width), vectors_);
    e_.when(b.CreateICmpSLT(vector, all), [&] {
      Value* n = e_.low32(vector);
      Value* place = b.CreateUDiv(n, e_.n32(vectors_));
      channel_ = e_.times(e_.wide(b.CreateURem(n, e_.n32(vectors_))), e_.lanes);
      Value* row = divided(e_, place, e_.size<&A::of_width>(frame_));
      Value* image = divided(e_, row, e_.size<&A::of_height>(frame_));
      Value* x = b.CreateSub(place, b.CreateMul(row, e_.low32(out_width)));
      Value* y = b.CreateSub(row, b.CreateMul(image, e_.low32(out_height)));
      place_ = e_.wide(place);
      one_place(e_.wide(image), e_.wide(y), e_.wide(x));
    });
    e_.end_function();
  }

 private:
  // Of the plane or the window: a constant, or the i-th of the sizes of the call.
  Value* size(int i, int64_t constant) { return plan_.any_plane ? e_.size<&A::window>(frame_, i) : e_.num(constant); }
  Value* kernel_size(int i, int64_t constant) { return constant ? e_.num(constant) : e_.size<&A::window>(frame_, i); }

  // Taps [first, first + count) of those at start, start + dilation, … lie in [0, extent). `count` may be negative.
  struct Taps {
    Value *first, *count;
  };
  Taps taps_inside(Value* start, Value* taps, int64_t dilation, Value* extent) {
    const auto steps = [&](Value* distance) {  // to go at least that far
      Value* some = e_.larger(distance, e_.num(0));
      return dilation == 1 ? some : e_.b.CreateUDiv(e_.b.CreateAdd(some, e_.num(dilation - 1)), e_.num(dilation));
    };
    Value* first = steps(e_.b.CreateNeg(start));
    Value* last = e_.smaller(steps(e_.b.CreateSub(extent, start)), taps);
    return {first, e_.b.CreateSub(last, first)};
  }

  void one_place(Value* image, Value* y, Value* x) {
    auto& b = e_.b;
    Value* kernel_height = kernel_size(6, plane_.kernel_height);
    Value* kernel_width = kernel_size(7, plane_.kernel_width);
    Value* top = b.CreateSub(e_.times(y, plane_.stride_y), size(4, plane_.pad_top));
    Value* left = b.CreateSub(e_.times(x, plane_.stride_x), size(5, plane_.pad_left));
    const Taps down = taps_inside(top, kernel_height, plane_.dilation_y, height_);
    const Taps across = taps_inside(left, kernel_width, plane_.dilation_x, width_);
    find_whole();
    Value* first_row = b.CreateAdd(b.CreateMul(image, height_), top);
    const Values sums = e_.loop(e_.num(0), down.count, 1, {identity()}, [&](Value* r, const Values& of_rows) {
      Value* tap_row = b.CreateAdd(down.first, r);
      Value* row = b.CreateAdd(first_row, e_.times(tap_row, plane_.dilation_y));
      Value* start = b.CreateAdd(b.CreateMul(row, width_), left);
      return e_.loop(e_.num(0), across.count, 1, of_rows, [&](Value* q, const Values& now) {
        Value* tap = b.CreateAdd(across.first, q);
        Value* pixel = b.CreateAdd(start, e_.times(tap, plane_.dilation_x));
        return Values{add(now[0], pixel, b.CreateAdd(b.CreateMul(tap_row, kernel_width), tap))};
      });
    });
    store(sums[0],
          counts_taps_ ? b.CreateFMul(counted(y, top, kernel_height, 0), counted(x, left, kernel_width, 1)) : nullptr);
  }

  Value* identity() {
    const auto kind = plan_.reduction == ReduceWindowPlan::Reduction::max   ? Reduction::Kind::max
                      : plan_.reduction == ReduceWindowPlan::Reduction::min ? Reduction::Kind::min
                                                                            : Reduction::Kind::sum;
    kind_ = kind;
    return reduction_identity(e_, kind, scalar_);
  }

  // Whether the thread's vectors are whole, and aligned at every pixel.
  void find_whole() {
    left_ = e_.b.CreateSub(e_.num(plan_.channels), channel_);
    mask_ = e_.tail_mask(left_);
    Value* misplaced = e_.num(0);
    const auto note = [&](Value* base, DType dtype) {
      const int64_t bytes = std::min<int64_t>(16, e_.lanes * size_bytes(dtype));
      Value* places = e_.b.CreateOr(e_.b.CreatePtrToInt(base, e_.i64), e_.num(plan_.channels * size_bytes(dtype)));
      misplaced = e_.b.CreateOr(misplaced, e_.b.CreateAnd(places, e_.num(bytes - 1)));
    };
    note(e_.pointer<&A::x>(frame_), plan_.x);
    for (size_t i = 0; i < plan_.operands.size(); ++i)
      if (along_channels(i)) note(operand(i), plan_.operands[i].dtype);
    whole_ = e_.b.CreateAnd(e_.b.CreateICmpEQ(misplaced, e_.num(0)), e_.b.CreateICmpSGE(left_, e_.num(e_.lanes)));
  }
  bool along_channels(size_t i) const {
    return plan_.operands[i].access == Access::full || plan_.operands[i].access == Access::column;
  }
  Value* operand(size_t i) { return e_.pointer<&A::epilogue>(frame_, static_cast<int>(i)); }

  // Raw vectors at pointers.
  Values load(const Values& from, const std::vector<DType>& dtypes) {
    const auto load_by = [&](Value* mask) {
      e_.aligned_vectors = !mask;
      Values raw;
      for (size_t i = 0; i < from.size(); ++i)
        raw.push_back(e_.masked_load(e_.vec(e_.memory_type(dtypes[i])), from[i], mask));
      e_.aligned_vectors = false;
      return raw;
    };
    Values raw = e_.choose(
        whole_, [&] { return load_by(nullptr); }, [&] { return load_by(mask_); });
    for (size_t i = 0; i < raw.size(); ++i) raw[i] = e_.widen(dtypes[i], raw[i]);
    return raw;
  }

  Value* add(Value* sum, Value* pixel, Value* tap) {
    Value* at = e_.b.CreateAdd(e_.times(pixel, plan_.channels), channel_);
    Value* from = e_.at(e_.pointer<&A::x>(frame_), e_.times(at, size_bytes(plan_.x)));
    Value* element = load({from}, {plan_.x})[0];
    if (plan_.reduction != ReduceWindowPlan::Reduction::products)
      return emit_reduction(e_, kind_, scalar_, sum, element);
    Value* place = e_.b.CreateAdd(e_.times(tap, weight_pitch(plan_)), channel_);
    Value* weights = e_.load_constant(e_.v_f32, e_.at(e_.pointer<&A::w>(frame_), e_.times(place, 4)), 16);
    return e_.fma(element, weights, sum);
  }

  // The taps that count in the window of a place, down (side 0) or across (1), as f32.
  Value* counted(Value* place, Value* start, Value* taps, int side) {
    if (!plan_.any_plane) {
      const std::vector<int64_t>& numbers = side == 0 ? plan_.taps_down : plan_.taps_across;
      const std::vector<float> counts(numbers.begin(), numbers.end());
      llvm::GlobalVariable* table = e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(counts)));
      return e_.load_constant(e_.f32, e_.b.CreateGEP(e_.f32, table, place), 4);
    }
    Value* before = e_.size<&A::counted>(frame_, side);
    Value* extent =
        e_.b.CreateAdd(side == 0 ? height_ : width_, e_.b.CreateAdd(before, e_.size<&A::counted>(frame_, 2 + side)));
    const int64_t dilation = side == 0 ? plane_.dilation_y : plane_.dilation_x;
    const Taps inside = taps_inside(e_.b.CreateAdd(start, before), taps, dilation, extent);
    return e_.b.CreateSIToFP(e_.larger(inside.count, e_.num(0)), e_.f32);
  }

  void store(Value* sum, Value* counted) {
    Value* at = e_.b.CreateAdd(e_.times(place_, plan_.channels), channel_);
    Values args{sum, counted ? e_.splat(counted) : nullptr}, from;
    std::vector<DType> dtypes;
    for (size_t i = 0; i < plan_.operands.size(); ++i) {
      const Epilogue::Operand& o = plan_.operands[i];
      Value* element = o.access == Access::full     ? at
                       : o.access == Access::column ? channel_
                       : o.access == Access::row    ? place_
                                                    : e_.num(0);
      Value* pointer = e_.at(operand(i), e_.times(element, size_bytes(o.dtype)));
      args.push_back(along_channels(i) ? nullptr : e_.load_broadcast(o.dtype, pointer));
      if (along_channels(i)) from.push_back(pointer), dtypes.push_back(o.dtype);
    }
    const Values loaded = load(from, dtypes);
    for (size_t i = 0, next = 0; i < plan_.operands.size(); ++i)
      if (along_channels(i)) args[2 + i] = loaded[next++];
    args.resize(std::max(args.size(), plan_.program.args.size()));
    const Values results = emit_program(e_, plan_.program, args, at);
    for (size_t j = 0; j < results.size(); ++j) {
      const DType dtype = plan_.results[j];
      Value* to = e_.at(operand(plan_.operands.size() + j), e_.times(at, size_bytes(dtype)));
      e_.store_stretch(e_.narrow(dtype, results[j]), to, left_);
    }
  }

  CudaEmitter& e_;
  const ReduceWindowPlan& plan_;
  const PlaneWindow& plane_;
  const Scalar scalar_;
  const int64_t vectors_;  // of channels
  const bool counts_taps_;
  KernelFrame frame_{};
  Reduction::Kind kind_ = Reduction::Kind::sum;
  Value *height_ = nullptr, *width_ = nullptr;
  // Of the thread: its place among all and its first channel; channels that are left from there on, which of its vector
  // are, and whether all are and lie aligned.
  Value *place_ = nullptr, *channel_ = nullptr, *left_ = nullptr, *mask_ = nullptr, *whole_ = nullptr;
};

void emit(CudaEmitter& e, const ReduceWindowPlan& plan, const std::string& symbol, int) {
  WindowEmitter(e, plan).run(symbol);
}

Support supports(const ReduceWindowPlan& plan, const CudaTarget&) {
  const PlaneWindow& p = plan.plane;
  if (plan.operands.size() + plan.results.size() > ReduceWindowArgs().epilogue.size())
    return {fmt::format("{} operands and {} results do not fit the arguments of a kernel", plan.operands.size(),
                        plan.results.size())};
  const bool some_place = plan.any_plane || (p.height > 0 && p.width > 0 && p.out_height > 0 && p.out_width > 0);
  if (plan.channels < 1 || plan.channels > kMostDivided || !some_place)
    return {fmt::format("a window over nothing: {} channels, {}", plan.channels, p.to_text())};
  if (!has_machine_type(plan.x) || plan.x == DType::boolean)
    return {fmt::format("a window over elements of type {}", to_string(plan.x))};
  if (plan.multiplies_codes() || plan.has_x_zero) return {"products of codes under a window"};
  const bool products = plan.reduction == ReduceWindowPlan::Reduction::products;
  if (products && compute_scalar(plan.x) != Scalar::f32) return {fmt::format("products of {}", to_string(plan.x))};
  if (products && p.taps() == 0) return {"weights for windows of any size"};
  for (const Epilogue::Operand& operand : plan.operands)
    if (!has_machine_type(operand.dtype)) return {fmt::format("elements of type {}", to_string(operand.dtype))};
  CHECK(plan.program.results.size() == plan.results.size());
  return supports_functions(plan.program);
}

Launch launch(const ReduceWindowPlan& plan, const CudaTarget& target, CudaWindowArgs& args) {
  const PlaneWindow p = plan.any_plane ? on_plane_of(plan.plane, args.window) : plan.plane;
  if (args.images < 1 || p.out_height < 1 || p.out_width < 1) return {};
  const int64_t vectors = ceil_div(plan.channels, int64_t{thread_lanes(plan, target)});
  const int64_t all = args.images * p.out_height * p.out_width * vectors;
  if (all > kMostDivided)
    fail("a window over {} vectors of channels; on CUDA devices at most {}. Try: a smaller batch", all, kMostDivided);
  args.of_width = inverse_of(p.out_width), args.of_height = inverse_of(p.out_height);
  return {.items = ceil_div(all, int64_t{kCudaThreads})};
}

std::string describe(const ReduceWindowPlan& plan, const CudaTarget& target) {
  constexpr const char* kReductions[] = {"sum", "maximum", "minimum", "products"};
  const std::string window =
      plan.plane.taps() > 0 ? fmt::format("{}x{}", plan.plane.kernel_height, plan.plane.kernel_width) : "any window";
  return fmt::format("{} over {} of {} channels, {} a thread", kReductions[static_cast<size_t>(plan.reduction)], window,
                     plan.channels, thread_lanes(plan, target));
}

// Packed weights are decoded: taps are few.
std::string prepack_key(const ReduceWindowPlan& plan, const CudaTarget&) {
  return fmt::format("window {} taps of {}", plan.plane.taps(), plan.channels);
}
int64_t prepacked_bytes(const ReduceWindowPlan& plan, const CudaTarget&) {
  return plan.plane.taps() * weight_pitch(plan) * 4;
}
void prepack(const ReduceWindowPlan& plan, const CudaTarget&, const Tensor& weights, int, std::byte* out) {
  const std::vector<float> source = weights.to_floats();
  const int64_t taps = plan.plane.taps(), pitch = weight_pitch(plan);
  CHECK(std::ssize(source) == plan.channels * taps, "weights of {}, plan of {} channels and {} taps",
        to_string(weights.type()), plan.channels, taps);
  auto* to = reinterpret_cast<float*>(out);
  for (int64_t c = 0; c < plan.channels; ++c)
    for (int64_t tap = 0; tap < taps; ++tap) to[tap * pitch + c] = source[static_cast<size_t>(c * taps + tap)];
}

constexpr CudaKernelClass<ReduceWindowPlan, CudaWindowArgs> kWindow{.supports = supports,
                                                                    .launch = launch,
                                                                    .describe = describe,
                                                                    .emit = emit,
                                                                    .lanes = thread_lanes,
                                                                    .prepack_key = prepack_key,
                                                                    .prepacked_bytes = prepacked_bytes,
                                                                    .prepack = prepack};

}  // namespace

extern constinit const CudaKernelDef window_on_cuda_def = cuda_kernel<kWindow>();

}  // namespace hone

// Means of samples in regions: each sample adds the four elements around it to its bin, channels in the lanes. Where a
// sample lies, and how much each element weighs, is computed in f64, as the reference does.
#include <algorithm>

#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "kernels/roi_align/plan.h"

namespace hone {
namespace {

Support supports(const RoiAlignPlan& plan, const X86Target&) {
  if (plan.images != DType::i64 && plan.images != DType::i32)
    return {fmt::format("numbers of images of {}", to_string(plan.images))};
  return {};
}

Launch launch(const RoiAlignPlan& plan, const X86Target& target, RoiAlignArgs& args) {
  const double places = static_cast<double>(args.bins_down * args.bins_across * plan.samples * plan.samples),
               vectors = static_cast<double>(plan.channels) / target.lanes() + 1;
  const double ns = places * (10 + 2 * vectors);
  return {args.region_count, std::max<int64_t>(1, static_cast<int64_t>(20000 / std::max(ns, 1.0)))};
}

std::string describe(const RoiAlignPlan& plan, const X86Target&) {
  return fmt::format("means of {0}x{0} places of {1} channels", plan.samples, plan.channels);
}

using llvm::Value;

class RoiAlignEmitter {
 public:
  RoiAlignEmitter(X86Emitter& e, const RoiAlignPlan& plan) : e_(e), plan_(plan), pixel_bytes_(plan.channels * 4) {}

  void run(const std::string& symbol) {
    const KernelFrame frame = e_.begin_kernel(symbol);
    using A = RoiAlignArgs;
    height_ = e_.size<&A::height>(frame), width_ = e_.size<&A::width>(frame);
    Value *rows = e_.size<&A::bins_down>(frame), *columns = e_.size<&A::bins_across>(frame);
    Value *x = e_.pointer<&A::x>(frame), *regions = e_.pointer<&A::regions>(frame),
          *images = e_.pointer<&A::images_of>(frame), *out = e_.pointer<&A::out>(frame);
    Value *plane_bytes = e_.times(e_.b.CreateMul(height_, width_), pixel_bytes_),
          *region_bytes = e_.times(e_.b.CreateMul(rows, columns), pixel_bytes_);
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* r, const Values&) {
      Value* region = e_.at(regions, e_.times(r, 16));
      const Bins across = bins(coordinate(region, 0), coordinate(region, 2), columns),
                 down = bins(coordinate(region, 1), coordinate(region, 3), rows);
      Value* image = e_.load(e_.memory_type(plan_.images), e_.at(images, e_.times(r, size_bytes(plan_.images))));
      Value* plane = e_.at(x, e_.b.CreateMul(e_.b.CreateSExt(image, e_.i64), plane_bytes));
      Value* to = e_.at(out, e_.b.CreateMul(r, region_bytes));
      e_.loop(e_.num(0), rows, 1, {}, [&](Value* i, const Values&) {
        e_.loop(e_.num(0), columns, 1, {}, [&](Value* j, const Values&) {
          Value* number = e_.b.CreateAdd(e_.b.CreateMul(i, columns), j);
          bin(plane, down, i, across, j, e_.at(to, e_.times(number, pixel_bytes_)));
          return Values{};
        });
        return Values{};
      });
      return Values{};
    });
    e_.end_function();
  }

 private:
  // Along one dimension of a region, in elements.
  struct Bins {
    Value *start, *width;
  };
  // A sample along a dimension: the elements on both sides, and the weight of the second.
  struct Place {
    Value *inside, *low, *high, *weight;
  };

  Value* f64(double value) { return llvm::ConstantFP::get(e_.f64, value); }
  Value* to_f64(Value* integer) { return e_.b.CreateSIToFP(integer, e_.f64); }

  Value* coordinate(Value* region, int64_t i) {
    return e_.b.CreateFPExt(e_.load(e_.f32, e_.at(region, e_.num(4 * i))), e_.f64);
  }

  Bins bins(Value* start, Value* end, Value* count) {
    Value* extent = e_.b.CreateFMul(e_.b.CreateFSub(end, start), f64(plan_.scale));
    if (!plan_.half_pixel) extent = e_.b.CreateSelect(e_.b.CreateFCmpOGT(extent, f64(1)), extent, f64(1));
    Value* from = e_.b.CreateFSub(e_.b.CreateFMul(start, f64(plan_.scale)), f64(plan_.half_pixel ? 0.5 : 0));
    return {from, e_.b.CreateFDiv(extent, to_f64(count))};
  }

  Place place(const Bins& bins, Value* bin, Value* sample, Value* length) {
    Value* part = e_.b.CreateFDiv(e_.b.CreateFAdd(to_f64(sample), f64(0.5)), f64(static_cast<double>(plan_.samples)));
    Value* at = e_.b.CreateFAdd(bins.start, e_.b.CreateFMul(e_.b.CreateFAdd(to_f64(bin), part), bins.width));
    Value* inside = e_.b.CreateAnd(e_.b.CreateFCmpOGE(at, f64(-1)), e_.b.CreateFCmpOLE(at, to_f64(length)));
    at = e_.b.CreateSelect(e_.b.CreateAnd(inside, e_.b.CreateFCmpOGT(at, f64(0))), at, f64(0));
    Value *last = e_.b.CreateSub(length, e_.num(1)), *low = e_.smaller(e_.b.CreateFPToSI(at, e_.i64), last),
          *high = e_.smaller(e_.b.CreateAdd(low, e_.num(1)), last);
    Value* weight = e_.b.CreateSelect(e_.b.CreateICmpSLT(low, last), e_.b.CreateFSub(at, to_f64(low)), f64(0));
    return {inside, low, high, weight};
  }

  void bin(Value* plane, const Bins& down, Value* i, const Bins& across, Value* j, Value* out) {
    each_vector([&](Value* c, Value* mask) { e_.masked_store(e_.c_f32(0), e_.at(out, c), mask); });
    Value* samples = e_.num(plan_.samples);
    e_.loop(e_.num(0), samples, 1, {}, [&](Value* v, const Values&) {
      const Place y = place(down, i, v, height_);
      e_.loop(e_.num(0), samples, 1, {}, [&](Value* u, const Values&) {
        const Place x = place(across, j, u, width_);
        e_.when(e_.b.CreateAnd(y.inside, x.inside), [&] { add_sample(plane, y, x, out); });
        return Values{};
      });
      return Values{};
    });
  }

  void add_sample(Value* plane, const Place& y, const Place& x, Value* out) {
    Values elements, weights;
    for (bool below : {false, true})
      for (bool behind : {false, true}) {
        Value* pixel = e_.b.CreateAdd(e_.b.CreateMul(below ? y.high : y.low, width_), behind ? x.high : x.low);
        elements.push_back(e_.at(plane, e_.times(pixel, pixel_bytes_)));
        const auto share = [&](Value* second, bool is_second) {
          return is_second ? second : e_.b.CreateFSub(f64(1), second);
        };
        Value* weight = e_.b.CreateFMul(share(y.weight, below), share(x.weight, behind));
        weight = e_.b.CreateFDiv(weight, f64(static_cast<double>(plan_.samples * plan_.samples)));
        weights.push_back(e_.splat(e_.b.CreateFPTrunc(weight, e_.f32)));
      }
    each_vector([&](Value* c, Value* mask) {
      Value* sum = e_.load_elements(DType::f32, e_.at(out, c), mask);
      for (size_t k = 0; k < elements.size(); ++k)
        sum = e_.fma(e_.load_elements(DType::f32, e_.at(elements[k], c), mask), weights[k], sum);
      e_.masked_store(sum, e_.at(out, c), mask);
    });
  }

  // body(byte offset, mask) for the vectors of a pixel.
  template <class Body>
  void each_vector(Body body) {
    e_.loop(e_.num(0), e_.num(plan_.channels), e_.lanes, {}, [&](Value* c, const Values&) {
      const bool is_whole = plan_.channels % e_.lanes == 0;
      body(e_.times(c, 4), is_whole ? nullptr : e_.tail_mask(e_.b.CreateSub(e_.num(plan_.channels), c)));
      return Values{};
    });
  }

  X86Emitter& e_;
  const RoiAlignPlan& plan_;
  const int64_t pixel_bytes_;
  Value *height_ = nullptr, *width_ = nullptr;
};

void emit(X86Emitter& e, const RoiAlignPlan& plan, const std::string& symbol, int) {
  RoiAlignEmitter(e, plan).run(symbol);
}

constexpr X86KernelClass<RoiAlignPlan, RoiAlignArgs> kRoiAlign{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef roi_align_on_x86_def = x86_kernel<kRoiAlign>();

}  // namespace hone

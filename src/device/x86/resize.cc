// Resize kernels: places between elements. Where a place reads, and how much each element weighs, are tables in the
// code, or arguments for any plane; rows of the window are summed along the width first, then down.
//
// Channels lie in the lanes. The last vector of channels starts where it ends with the last channel; only fewer
// channels than lanes are masked.
#include <algorithm>

#include "device/x86/emitter.h"
#include "device/x86/tile.h"
#include "device/x86/x86_kernel.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/resize/plan.h"

namespace hone {
namespace {

using llvm::Value;

class ResizeEmitter {
 public:
  ResizeEmitter(X86Emitter& e, const ResizePlan& plan)
      : e_(e),
        plan_(plan),
        pixel_bytes_(plan.channels * size_bytes(plan.x)),
        mask_(plan.channels < e.lanes ? e.tail_mask(e.num(plan.channels)) : nullptr) {}

  void run(const std::string& symbol) {
    const KernelFrame frame = e_.begin_kernel(symbol);
    allow_spills(frame.function);
    using A = ResizeArgs;
    const auto size = [&](int64_t constant, int place) {
      return plan_.any_plane ? e_.kernel_dim(frame, place) : e_.num(constant);
    };
    Value *height = size(plan_.height, place_of<&A::height>), *width = size(plan_.width, place_of<&A::width>);
    const Axis rows = axis_of(frame, plan_.rows, size(plan_.rows.places(), place_of<&A::row_places>),
                              e_.times(width, pixel_bytes_), place_of<&A::row_positions>),
               columns = axis_of(frame, plan_.columns, size(plan_.columns.places(), place_of<&A::column_places>),
                                 e_.num(pixel_bytes_), place_of<&A::column_positions>);
    Value *x = e_.pointer<&A::x>(frame), *out = e_.pointer<&A::out>(frame);
    Value* out_row = e_.times(columns.places, plan_.channels * size_bytes(plan_.result));
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* item, const Values&) {
      Value *y = e_.b.CreateURem(item, rows.places), *image = e_.b.CreateUDiv(item, rows.places);
      Value* plane = e_.at(x, e_.times(image, e_.times(e_.times(height, width), pixel_bytes_)));
      const Reads down = reads(rows, y);
      Values lines;
      for (Value* offset : down.offsets) lines.push_back(e_.at(plane, offset));
      row(columns, lines, down.weights, e_.at(out, e_.times(item, out_row)));
      return Values{};
    });
    e_.end_function();
  }

 private:
  // Tables of what each place reads: numbers that are `step` bytes each, and weights.
  struct Axis {
    int64_t taps;
    Value *places, *numbers, *weights, *step;
  };
  Axis axis_of(const KernelFrame& frame, const ResizePlan::Axis& axis, Value* places, Value* step_bytes,
               int positions) {
    if (plan_.any_plane)
      return {axis.taps, places, e_.kernel_pointer(frame, positions), e_.kernel_pointer(frame, positions + 1),
              step_bytes};
    const int64_t step = llvm::cast<llvm::ConstantInt>(step_bytes)->getSExtValue();
    std::vector<uint64_t> offsets;
    for (int64_t position : axis.positions) offsets.push_back(static_cast<uint64_t>(position * step));
    return {axis.taps, places, e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<uint64_t>(offsets))),
            e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(axis.weights))), e_.num(1)};
  }

  // What a place reads: byte offsets, and weights in every lane.
  struct Reads {
    Values offsets, weights;
  };
  Reads reads(const Axis& axis, Value* place) {
    Reads result;
    for (int64_t i = 0; i < axis.taps; ++i) {
      Value* at = e_.b.CreateAdd(e_.times(place, axis.taps), e_.num(i));
      Value* number = e_.load(e_.i64, e_.b.CreateGEP(e_.i64, axis.numbers, at), 8);
      result.offsets.push_back(e_.times(number, axis.step));
      result.weights.push_back(e_.load_broadcast(DType::f32, e_.b.CreateGEP(e_.f32, axis.weights, at)));
    }
    return result;
  }

  void row(const Axis& columns, const Values& lines, const Values& down, Value* out) {
    const int64_t last = std::max<int64_t>(0, plan_.channels - e_.lanes);
    e_.loop(e_.num(0), columns.places, 1, {}, [&](Value* place, const Values&) {
      const Reads across = reads(columns, place);
      Value* to = e_.at(out, e_.times(place, plan_.channels * size_bytes(plan_.result)));
      e_.loop(e_.num(0), e_.num(plan_.channels), e_.lanes, {}, [&](Value* v, const Values&) {
        Value* c = e_.smaller(v, e_.num(last));
        // Sums start with a product, so that a single element keeps its sign of zero.
        const auto add = [&](Value* sum, Value* x, Value* weight) {
          return sum ? e_.fma(x, weight, sum) : e_.b.CreateFMul(x, weight);
        };
        Value* sum = nullptr;
        for (size_t i = 0; i < lines.size(); ++i) {
          Value* line = nullptr;
          for (size_t j = 0; j < across.offsets.size(); ++j) {
            Value* at = e_.at(e_.at(lines[i], across.offsets[j]), e_.times(c, size_bytes(plan_.x)));
            line = add(line, e_.load_elements(plan_.x, at, mask_), across.weights[j]);
          }
          sum = add(sum, line, down[i]);
        }
        e_.store_elements(sum, plan_.result, e_.at(to, e_.times(c, size_bytes(plan_.result))), mask_);
        return Values{};
      });
      return Values{};
    });
  }

  X86Emitter& e_;
  const ResizePlan& plan_;
  const int64_t pixel_bytes_;
  Value* const mask_;
};

void emit(X86Emitter& e, const ResizePlan& plan, const std::string& symbol, int) { ResizeEmitter(e, plan).run(symbol); }

Support supports(const ResizePlan& plan, const X86Target&) {
  for (DType dtype : {plan.x, plan.result})
    if (!has_machine_type(dtype) || compute_scalar(dtype) != Scalar::f32)
      return {fmt::format("places between elements of {}", to_string(dtype))};
  return {};
}

Launch launch(const ResizePlan& plan, const X86Target& target, ResizeArgs& args) {
  const int64_t rows = plan.any_plane ? args.row_places : plan.rows.places(),
                columns = plan.any_plane ? args.column_places : plan.columns.places();
  const double vectors = static_cast<double>(plan.channels) / target.lanes() + 1;
  const double ns = static_cast<double>(columns * (plan.rows.taps * plan.columns.taps + 4)) * vectors / 2;
  return {args.images * rows, std::max<int64_t>(1, static_cast<int64_t>(20000 / std::max(ns, 1.0)))};
}

std::string describe(const ResizePlan& plan, const X86Target&) {
  return fmt::format("{} x {} elements for each place, from tables", plan.rows.taps, plan.columns.taps);
}

constexpr X86KernelClass<ResizePlan, ResizeArgs> kResize{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef resize_on_x86_def = x86_kernel<kResize>();

}  // namespace hone

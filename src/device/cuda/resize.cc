// Resize kernels: places between elements, an element of the result a thread. Where a place reads, and how much each
// element weighs, are tables in the code, or arguments for any plane; a row of the window is summed along the width
// first, then down, as on the CPU.
#include "base/multiples.h"
#include "device/cuda/cuda_kernel.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/resize/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = ResizeArgs;

class ResizeEmitter {
 public:
  ResizeEmitter(CudaEmitter& e, const ResizePlan& plan) : e_(e), plan_(plan) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    auto& b = e_.b;
    Value *height = size<&A::height>(plan_.height), *width = size<&A::width>(plan_.width);
    const int64_t pixel = plan_.channels * size_bytes(plan_.x);
    const Axis rows = axis_of<&A::row_positions, &A::row_weights>(
                   plan_.rows, size<&A::row_places>(plan_.any_plane ? 0 : plan_.rows.places())),
               columns = axis_of<&A::column_positions, &A::column_weights>(
                   plan_.columns, size<&A::column_places>(plan_.any_plane ? 0 : plan_.columns.places()));
    Value* number = b.CreateAdd(e_.times(frame_.begin, e_.threads), e_.wide(e_.thread()));
    Value* lines = b.CreateMul(e_.size<&A::images>(frame_), rows.places);
    Value* all = e_.times(b.CreateMul(lines, columns.places), plan_.channels);
    e_.when(b.CreateICmpSLT(number, all), [&] {
      Value *channel = b.CreateURem(number, e_.num(plan_.channels)),
            *place = b.CreateUDiv(number, e_.num(plan_.channels));
      Value *across = b.CreateURem(place, columns.places), *line = b.CreateUDiv(place, columns.places);
      Value *down = b.CreateURem(line, rows.places), *image = b.CreateUDiv(line, rows.places);
      Value* plane = e_.at(e_.pointer<&A::x>(frame_), e_.times(b.CreateMul(image, b.CreateMul(height, width)), pixel));
      plane = e_.at(plane, e_.times(channel, size_bytes(plan_.x)));
      const Reads in_row = reads(columns, across), in_column = reads(rows, down);
      Value* sum = nullptr;
      for (size_t i = 0; i < in_column.numbers.size(); ++i) {
        Value *row = e_.at(plane, e_.times(b.CreateMul(in_column.numbers[i], width), pixel)), *of_row = nullptr;
        for (size_t j = 0; j < in_row.numbers.size(); ++j)
          of_row =
              add(of_row, e_.load_elements(plan_.x, e_.at(row, e_.times(in_row.numbers[j], pixel))), in_row.weights[j]);
        sum = add(sum, of_row, in_column.weights[i]);
      }
      e_.store_elements(sum, plan_.result,
                        e_.at(e_.pointer<&A::out>(frame_), e_.times(number, size_bytes(plan_.result))));
    });
    e_.end_function();
  }

 private:
  template <auto Member>
  Value* size(int64_t constant) {
    return plan_.any_plane ? e_.size<Member>(frame_) : e_.num(constant);
  }

  struct Axis {
    int64_t taps;
    Value *places, *numbers, *weights;
  };
  template <auto Positions, auto Weights>
  Axis axis_of(const ResizePlan::Axis& axis, Value* places) {
    if (plan_.any_plane) return {axis.taps, places, e_.pointer<Positions>(frame_), e_.pointer<Weights>(frame_)};
    const std::vector<uint64_t> positions(axis.positions.begin(), axis.positions.end());
    return {axis.taps, places, e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<uint64_t>(positions))),
            e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(axis.weights)))};
  }

  struct Reads {
    Values numbers, weights;
  };
  Reads reads(const Axis& axis, Value* place) {
    Reads result;
    for (int64_t i = 0; i < axis.taps; ++i) {
      Value* at = e_.b.CreateAdd(e_.times(place, axis.taps), e_.num(i));
      result.numbers.push_back(e_.load_constant(e_.i64, e_.at(axis.numbers, e_.times(at, 8)), 8));
      result.weights.push_back(e_.splat(e_.load_constant(e_.f32, e_.at(axis.weights, e_.times(at, 4)), 4)));
    }
    return result;
  }

  // Sums start with a product, so that a single element keeps its sign of zero.
  Value* add(Value* sum, Value* x, Value* weight) { return sum ? e_.fma(x, weight, sum) : e_.b.CreateFMul(x, weight); }

  CudaEmitter& e_;
  const ResizePlan& plan_;
  KernelFrame frame_{};
};

void emit(CudaEmitter& e, const ResizePlan& plan, const std::string& symbol, int) {
  ResizeEmitter(e, plan).run(symbol);
}

int thread_lanes(const ResizePlan&, const CudaTarget&) { return 1; }

Support supports(const ResizePlan& plan, const CudaTarget&) {
  for (DType dtype : {plan.x, plan.result})
    if (!has_machine_type(dtype) || compute_scalar(dtype) != Scalar::f32)
      return {fmt::format("places between elements of {}", to_string(dtype))};
  constexpr int64_t kMostTaps = 64;  // that are emitted one after the other
  if (plan.rows.taps * plan.columns.taps > kMostTaps)
    return {
        fmt::format("{} x {} elements for each place; up to {} in all", plan.rows.taps, plan.columns.taps, kMostTaps)};
  return {};
}

Launch launch(const ResizePlan& plan, const CudaTarget&, ResizeArgs& args) {
  const int64_t rows = plan.any_plane ? args.row_places : plan.rows.places(),
                columns = plan.any_plane ? args.column_places : plan.columns.places();
  return {.items = ceil_div(args.images * rows * columns * plan.channels, int64_t{kCudaThreads})};
}

std::string describe(const ResizePlan& plan, const CudaTarget&) {
  return fmt::format("{} x {} elements for each place, from tables; an element a thread", plan.rows.taps,
                     plan.columns.taps);
}

constexpr CudaKernelClass<ResizePlan, ResizeArgs> kResize{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit, .lanes = thread_lanes};

}  // namespace

extern constinit const CudaKernelDef resize_on_cuda_def = cuda_kernel<kResize>();

}  // namespace hone

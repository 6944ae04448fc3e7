// Resize kernels: places between elements. Where a place reads, and how much each element weighs, are tables in the
// code; rows of the window are summed along the width first, then down.
//
// Channels lie in the lanes. The last vector of channels starts where it ends with the last channel; only fewer
// channels than lanes are masked.
#include <algorithm>

#include "codegen/elements.h"
#include "codegen/kernels/resize/plan.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/emit_def.h"
#include "codegen/llvm/tile.h"

namespace hone {
namespace {

using llvm::Value;

class ResizeEmitter {
 public:
  ResizeEmitter(Emitter& e, const ResizePlan& plan)
      : e_(e),
        plan_(plan),
        pixel_bytes_(plan.channels * size_bytes(plan.x)),
        mask_(plan.channels < e.lanes ? e.tail_mask(e.num(plan.channels)) : nullptr),
        rows_(tables_of(plan.rows, plan.width * pixel_bytes_)),
        columns_(tables_of(plan.columns, pixel_bytes_)) {}

  void run(const std::string& symbol) {
    const KernelFrame frame = e_.begin_kernel(symbol);
    allow_spills(frame.function);
    Value *x = e_.kernel_pointer(frame, 0), *out = e_.kernel_pointer(frame, 1);
    const int64_t out_row = plan_.columns.places() * plan_.channels * size_bytes(plan_.result);
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* item, const Values&) {
      Value *y = e_.b.CreateURem(item, e_.num(plan_.rows.places())),
            *image = e_.b.CreateUDiv(item, e_.num(plan_.rows.places()));
      Value* plane = e_.at(x, e_.times(image, plan_.height * plan_.width * pixel_bytes_));
      const Reads down = reads(rows_, plan_.rows.taps, y);
      Values lines;
      for (Value* offset : down.offsets) lines.push_back(e_.at(plane, offset));
      row(lines, down.weights, e_.at(out, e_.times(item, out_row)));
      return Values{};
    });
    e_.end_function();
  }

 private:
  struct Tables {
    llvm::GlobalVariable *offsets, *weights;
  };
  Tables tables_of(const ResizePlan::Axis& axis, int64_t step_bytes) {
    std::vector<uint64_t> offsets;
    for (int64_t position : axis.positions) offsets.push_back(static_cast<uint64_t>(position * step_bytes));
    return {e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<uint64_t>(offsets))),
            e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(axis.weights)))};
  }

  // What a place reads: byte offsets, and weights in every lane.
  struct Reads {
    Values offsets, weights;
  };
  Reads reads(const Tables& tables, int64_t taps, Value* place) {
    Reads result;
    for (int64_t i = 0; i < taps; ++i) {
      Value* at = e_.b.CreateAdd(e_.times(place, taps), e_.num(i));
      result.offsets.push_back(e_.load(e_.i64, e_.b.CreateGEP(e_.i64, tables.offsets, at), 8));
      result.weights.push_back(e_.load_broadcast(DType::f32, e_.b.CreateGEP(e_.f32, tables.weights, at)));
    }
    return result;
  }

  void row(const Values& lines, const Values& down, Value* out) {
    const int64_t last = std::max<int64_t>(0, plan_.channels - e_.lanes);
    e_.loop(e_.num(0), e_.num(plan_.columns.places()), 1, {}, [&](Value* place, const Values&) {
      const Reads across = reads(columns_, plan_.columns.taps, place);
      Value* to = e_.at(out, e_.times(place, plan_.channels * size_bytes(plan_.result)));
      e_.loop(e_.num(0), e_.num(plan_.channels), e_.lanes, {}, [&](Value* v, const Values&) {
        Value* c = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, e_.num(last));
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

  Emitter& e_;
  const ResizePlan& plan_;
  const int64_t pixel_bytes_;
  Value* const mask_;
  const Tables rows_, columns_;
};

void emit(Emitter& e, const ResizePlan& plan, const std::string& symbol, int) { ResizeEmitter(e, plan).run(symbol); }

}  // namespace

extern constinit const EmitterDef resize_emitter_def = emitter_def<ResizePlan, emit>();

}  // namespace hone

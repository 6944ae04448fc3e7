// Direct convolutions: for each item, what a block of output rows sees of x, and a panel of W; strips of the block go
// through the tile and the epilogue of matrix products.
#include "base/multiples.h"
#include "codegen/kernels/conv/plan.h"
#include "codegen/kernels/conv/shape.h"
#include "codegen/kernels/conv/winograd_shape.h"
#include "codegen/llvm/copy.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/emit_def.h"
#include "codegen/llvm/epilogue.h"
#include "codegen/llvm/panel.h"
#include "codegen/llvm/tile.h"
#include "codegen/llvm/winograd.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

class ConvKernel {
 public:
  ConvKernel(Emitter& e, const ConvPlan& plan, const std::string& symbol, int shrink)
      : e_(e), plan_(plan), w_(plan.window), symbol_(symbol), shape_(conv_shape(plan, e.target, shrink)) {
    if (!plan.product.w_format.empty()) format_ = parse_format(plan.product.w_format);
  }

  void emit() {
    const int64_t height = shape_.strip_height, width = shape_.strip_width;
    tile_ = tile(height, width);
    if (const int64_t rest = height > 1 ? w_.out_height % height : w_.out_width % width)
      tail_ = height > 1 ? tile(rest, width) : tile(1, rest);
    epilogue_ = emit_epilogue(e_, symbol_ + "_epilogue", plan_.product, shape_.gemm);
    if (shape_.gemm.source == WeightSource::unpacked)
      unpack_ = emit_unpack(e_, symbol_ + "_unpack", shape_.gemm, format_, shape_.gemm.row_bytes());
    if (shape_.copied) copy_ = emit_copy_block();
    frame_ = e_.begin_kernel(symbol_);
    allow_spills(frame_.function);
    generate_quickly(frame_.function);
    sums_ = e_.stack(e_.v_f32, int64_t{shape_.gemm.rows} * shape_.gemm.vectors);
    panel_scratch_ = e_.at(frame_.scratch, round_up(shape_.copied_bytes(), 64));
    if (plan_.groups > 1) group_args_ = e_.stack(e_.i8, sizeof(KernelArgs));
    e_.loop(frame_.begin, frame_.end, 1, {e_.num(-1)}, [&](Value* item, const Values& previous) {
      Value* place = e_.b.CreateUDiv(item, e_.num(shape_.gemm.panels()));
      one_item(place, e_.b.CreateURem(item, e_.num(shape_.gemm.panels())), previous[0]);
      return Values{place};
    });
    e_.end_function();
  }

 private:
  int64_t element() const { return size_bytes(plan_.product.a); }

  Function* tile(int64_t height, int64_t width) {
    TileSpec spec = tile_spec(shape_.gemm, &format_, static_cast<int>(height * width));
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        spec.row_offsets.push_back(y * w_.stride_y * shape_.row_bytes + x * w_.stride_x * shape_.pixel_bytes);
    spec.segment = shape_.segment, spec.segments_x = shape_.segments_x;
    spec.a_step_x = w_.dilation_x * shape_.pixel_bytes, spec.a_step_y = w_.dilation_y * shape_.row_bytes;
    return emit_tile(e_, fmt::format("{}_tile{}x{}", symbol_, height, width), spec);
  }

  // void(x, first, scratch): rows first, first + 1, … of a plane (of one group's channels), zeros outside it.
  Function* emit_copy_block() {
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.ptr};
    Function* f = e_.begin_function(symbol_ + "_copy", e_.b.getVoidTy(), params, false);
    Value *x = f->getArg(0), *first = f->getArg(1), *scratch = f->getArg(2);
    const int64_t source_row = w_.width * plan_.channels * plan_.groups * element();
    e_.loop(e_.num(0), e_.num(shape_.block_input_rows), 1, {}, [&](Value* r, const Values&) {
      Value* row = e_.b.CreateAdd(first, r);
      Value* to = e_.at(scratch, e_.times(r, shape_.row_bytes));
      Value* inside = e_.b.CreateICmpULT(row, e_.num(w_.height));
      e_.when(inside, [&] { copy_row(e_.at(x, e_.times(row, source_row)), to); });
      e_.when(e_.b.CreateNot(inside), [&] { emit_zero(e_, to, shape_.row_bytes); });
      return Values{};
    });
    e_.end_function();
    return f;
  }

  void copy_row(Value* from, Value* to) {
    const int64_t pixels = shape_.row_bytes / shape_.pixel_bytes, own = plan_.channels * element();
    const int64_t inside = std::clamp<int64_t>(pixels - w_.pad_left, 0, w_.width);
    const int64_t before = std::min(w_.pad_left, pixels);
    emit_zero(e_, to, before * shape_.pixel_bytes);
    to = e_.at(to, before * shape_.pixel_bytes);
    if (plan_.groups == 1 && shape_.pixel_bytes == own) {
      emit_copy(e_, from, to, inside * own);
    } else {
      const Emitter::Moving moving[] = {{from, own * plan_.groups}, {to, shape_.pixel_bytes}};
      e_.walk(e_.num(inside), moving, {}, [&](const Values& p, const Values&) {
        emit_copy(e_, p[0], p[1], own);
        return Values{};
      });
    }
    emit_zero(e_, e_.at(to, inside * shape_.pixel_bytes), (pixels - before - inside) * shape_.pixel_bytes);
  }

  void one_item(Value* place, Value* panel, Value* previous) {
    Value* block = e_.b.CreateURem(place, e_.num(shape_.blocks));
    Value* rest = e_.b.CreateUDiv(place, e_.num(shape_.blocks));
    Value *group = e_.b.CreateURem(rest, e_.num(plan_.groups)), *image = e_.b.CreateUDiv(rest, e_.num(plan_.groups));
    Value* first = e_.times(block, shape_.block_rows);
    Value* x = e_.kernel_pointer(frame_, 0);
    x = e_.at(x, e_.times(image, w_.height * w_.width * plan_.groups * plan_.channels * element()));
    x = e_.at(x, e_.times(group, plan_.channels * element()));
    Value* a = x;
    if (shape_.copied) {
      Value* top = e_.b.CreateSub(e_.times(first, w_.stride_y), e_.num(w_.pad_top));
      e_.when(e_.b.CreateICmpNE(place, previous), [&] {
        Value* const arguments[] = {x, top, frame_.scratch};
        e_.b.CreateCall(copy_, arguments);
      });
      a = frame_.scratch;
    } else {
      a = e_.at(a, e_.times(first, w_.stride_y * shape_.row_bytes));
    }
    const int64_t group_bytes = shape_.gemm.panels() * shape_.gemm.panel_bytes();
    Value* w = e_.at(e_.kernel_pointer(frame_, 1), e_.times(group, group_bytes));
    w = e_.at(w, e_.times(panel, shape_.gemm.panel_bytes()));
    if (unpack_) {
      Value* const arguments[] = {w, e_.num(0), panel_scratch_};
      e_.b.CreateCall(unpack_, arguments);
      w = panel_scratch_;
    }
    rows(a, w, {args_of(group), image, first, e_.times(panel, shape_.gemm.panel_columns())});
  }

  // The kernel's arguments with operands and results moved to a group's channels.
  Value* args_of(Value* group) {
    if (plan_.groups == 1) return frame_.args;
    emit_copy(e_, frame_.args, group_args_, sizeof(KernelArgs));
    Value* channel = e_.times(group, plan_.product.n);
    const auto move = [&](size_t pointer, DType dtype) {
      Value* slot = e_.at(group_args_, static_cast<int64_t>(offsetof(KernelArgs, pointers) + pointer * sizeof(void*)));
      e_.store(e_.at(e_.load(e_.ptr, slot, 8), e_.times(channel, size_bytes(dtype))), slot, 8);
    };
    size_t pointer = 2;
    for (const GemmPlan::Operand& o : plan_.product.operands) {
      if (o.access == GemmPlan::Access::full || o.access == GemmPlan::Access::column) move(pointer, o.dtype);
      ++pointer;
    }
    for (DType result : plan_.product.results) move(pointer++, result);
    return group_args_;
  }

  struct Place {
    Value *args, *image, *first, *column;
  };

  void rows(Value* a, Value* w, const Place& place) {
    Value* end = e_.b.CreateAdd(place.first, e_.num(shape_.block_rows));
    end = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, e_.num(w_.out_height));
    const int64_t height = shape_.strip_height, step = height * w_.stride_y * shape_.row_bytes;
    if (height > 1) {
      Value* whole = e_.b.CreateSub(end, e_.num(height - 1));
      e_.loop(place.first, whole, height, {}, [&](Value* y, const Values&) {
        Value* strips = e_.b.CreateUDiv(e_.b.CreateSub(y, place.first), e_.num(height));
        strip(tile_, shape_.gemm.rows, e_.at(a, e_.times(strips, step)), w, e_.num(w_.kernel_height), y, e_.num(0),
              place);
        return Values{};
      });
      const int64_t rest = w_.out_height % height;
      if (rest == 0) return;
      Value* y = e_.num(w_.out_height - rest);
      e_.when(e_.b.CreateICmpEQ(end, e_.num(w_.out_height)), [&] {
        Value* strips = e_.b.CreateUDiv(e_.b.CreateSub(y, place.first), e_.num(height));
        strip(tail_, rest * shape_.strip_width, e_.at(a, e_.times(strips, step)), w, e_.num(w_.kernel_height), y,
              e_.num(0), place);
      });
      return;
    }
    e_.loop(place.first, end, 1, {}, [&](Value* y, const Values&) {
      Value* row = e_.at(a, e_.times(e_.b.CreateSub(y, place.first), step));
      Value* from = e_.num(0);
      Value* count = e_.num(w_.kernel_height);
      if (shape_.copied) {
        from = window_rows_before(e_.num(w_.pad_top), y);
        Value* to = window_rows_before(e_.num(w_.pad_top + w_.height), y);
        count = e_.b.CreateSub(to, from);
      }
      row = e_.at(row, e_.times(from, w_.dilation_y * shape_.row_bytes));
      one_row(row, e_.at(w, e_.times(from, shape_.panel_rows_of_window_row() * shape_.gemm.row_bytes())), count, y,
              place);
      return Values{};
    });
  }

  // How many rows of the window at output row y lie before row `edge` of the padded plane.
  Value* window_rows_before(Value* edge, Value* y) {
    Value* room = e_.b.CreateSub(edge, e_.times(y, w_.stride_y));
    Value* rows = e_.b.CreateSDiv(e_.b.CreateAdd(room, e_.num(w_.dilation_y - 1)), e_.num(w_.dilation_y));
    rows = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rows, e_.num(0));
    return e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rows, e_.num(w_.kernel_height));
  }

  void one_row(Value* a, Value* w, Value* count, Value* y, const Place& place) {
    const int64_t width = shape_.strip_width, whole = w_.out_width / width, rest = w_.out_width % width;
    const int64_t step = w_.stride_x * shape_.pixel_bytes;
    e_.loop(e_.num(0), e_.num(whole), 1, {}, [&](Value* i, const Values&) {
      strip(tile_, width, e_.at(a, e_.times(i, width * step)), w, count, y, e_.times(i, width), place);
      return Values{};
    });
    if (rest) strip(tail_, rest, e_.at(a, whole * width * step), w, count, y, e_.num(whole * width), place);
  }

  void strip(Function* tile, int64_t pixels, Value* a, Value* w, Value* count, Value* y, Value* x, const Place& place) {
    Value* const operands[] = {a, w, w, sums_, e_.num(0), count};
    e_.b.CreateCall(tile, operands);
    Value* row = e_.b.CreateAdd(e_.times(place.image, w_.out_height), y);
    row = e_.b.CreateAdd(e_.times(row, w_.out_width), x);
    Value* const results[] = {place.args, sums_, row, place.column, e_.num(pixels), e_.num(0), e_.num(0)};
    e_.b.CreateCall(epilogue_, results);
  }

  Emitter& e_;
  const ConvPlan& plan_;
  const PlaneWindow& w_;
  const std::string symbol_;
  const ConvShape shape_;
  Format format_;
  Function *tile_ = nullptr, *tail_ = nullptr, *epilogue_ = nullptr, *unpack_ = nullptr, *copy_ = nullptr;
  KernelFrame frame_{};
  Value *sums_ = nullptr, *panel_scratch_ = nullptr, *group_args_ = nullptr;
};

void emit(Emitter& e, const ConvPlan& plan, const std::string& symbol, int shrink) {
  if (plan.method == ConvPlan::Method::direct) ConvKernel(e, plan, symbol, shrink).emit();
  else emit_winograd(e, plan, symbol, shrink);
}

}  // namespace

extern constinit const EmitterDef conv_emitter_def = emitter_def<ConvPlan, emit>();

}  // namespace hone

// Gemm kernels: for each item, a panel of W and a block of rows of A; strips of the block go through the tile and the
// epilogue.
#include <algorithm>
#include <functional>

#include "codegen/kernels/gemm/plan.h"
#include "codegen/kernels/gemm/shape.h"
#include "codegen/llvm/copy.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/emit_def.h"
#include "codegen/llvm/epilogue.h"
#include "codegen/llvm/panel.h"
#include "codegen/llvm/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

class GemmKernel {
 public:
  GemmKernel(Emitter& e, const GemmPlan& plan, const std::string& symbol, int shrink)
      : e_(e), plan_(plan), symbol_(symbol), shape_(gemm_shape(plan, e.target, shrink)) {
    if (!plan.w_format.empty()) format_ = parse_format(plan.w_format);
  }

  void emit() {
    tile_ = tile(shape_.rows);
    if (shape_.item_panels > 1) wide_tile_ = tile(shape_.rows, shape_.item_panels);
    for (int rows : shape_.tails) tails_.push_back(tile(rows));
    epilogue_ = emit_epilogue(e_, symbol_ + "_epilogue", plan_, shape_);
    if (shape_.source == WeightSource::unpacked)
      prepare_ = emit_unpack(e_, symbol_ + "_unpack", shape_, format_, shape_.row_bytes());
    if (shape_.source == WeightSource::activation) {
      const PackSpec spec{plan_.w, shape_.panel, shape_.vectors};
      prepare_ = plan_.weights == GemmPlan::Weights::activation_nk ? emit_pack_nk(e_, symbol_ + "_pack", spec)
                                                                   : emit_pack_kn(e_, symbol_ + "_pack", spec);
    }
    frame_ = e_.begin_kernel(symbol_);
    allow_spills(frame_.function);
    generate_quickly(frame_.function);
    sums_ = e_.stack(e_.v_f32, int64_t{shape_.rows} * shape_.vectors * shape_.item_panels);
    m_ = e_.kernel_dim(frame_, 0);
    Value* inner = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e_.kernel_dim(frame_, 7), e_.num(1));
    Value* a_stride = plan_.a_row_stride ? e_.num(plan_.a_row_stride) : e_.kernel_dim(frame_, 5);
    a_row_bytes_ = e_.times(a_stride, size_bytes(plan_.a));
    Value* blocks =
        e_.b.CreateUDiv(e_.b.CreateAdd(m_, e_.num(shape_.rows_per_block - 1)), e_.num(shape_.rows_per_block));
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      Value* panel = e_.times(e_.b.CreateURem(item, e_.num(shape_.panel_items())), shape_.item_panels);
      Value* rest = e_.b.CreateUDiv(item, e_.num(shape_.panel_items()));
      Value* block = e_.b.CreateURem(rest, blocks);
      one_item(e_.b.CreateUDiv(rest, blocks), inner, block, panel);
      return Values{};
    });
    e_.end_function();
  }

 private:
  Function* tile(int rows, int panels = 1) {
    TileSpec spec = tile_spec(shape_, &format_, rows, panels);
    spec.a_row_bytes = plan_.a_row_stride * size_bytes(plan_.a);
    return emit_tile(e_, fmt::format("{}_tile{}x{}", symbol_, rows, panels), spec);
  }

  struct Place {
    Value *row, *column, *result_offset, *batch;
  };

  // outer * dims[a] + h * dims[b] elements.
  Value* batch_offset(Value* outer, Value* h, int a, int b) {
    return e_.b.CreateAdd(e_.b.CreateMul(outer, e_.kernel_dim(frame_, a)), e_.b.CreateMul(h, e_.kernel_dim(frame_, b)));
  }

  void one_item(Value* batch, Value* inner, Value* block, Value* panel) {
    Value *outer = e_.b.CreateUDiv(batch, inner), *h = e_.b.CreateURem(batch, inner);
    Value* first = e_.times(block, shape_.rows_per_block);
    Value* a = e_.at(e_.kernel_pointer(frame_, 0), e_.times(batch_offset(outer, h, 2, 8), size_bytes(plan_.a)));
    a = e_.at(a, e_.b.CreateMul(first, a_row_bytes_));
    Value* column = e_.times(panel, shape_.panel_columns());
    Value *w = nullptr, *scales = llvm::ConstantPointerNull::get(e_.b.getPtrTy());
    if (shape_.source == WeightSource::activation) {
      w = pack_activation(batch_offset(outer, h, 3, 9), column);
    } else {
      w = e_.at(e_.kernel_pointer(frame_, 1), e_.times(panel, shape_.panel_bytes()));
      if (shape_.codec) scales = e_.at(w, shape_.scales_offset());
    }
    Value* left = e_.b.CreateSub(m_, first);
    Value* rows = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, e_.num(shape_.rows_per_block));
    const Place place{first, column, batch_offset(outer, h, 4, 10), batch};
    if (shape_.source == WeightSource::unpacked) return unpacked_strips(a, w, scales, rows, place);
    if (shape_.item_panels == 1) return finished_strips(a, w, scales, rows, place);
    Value* panels = e_.b.CreateSub(e_.num(shape_.panels()), panel);
    Value* all = e_.b.CreateICmpSGE(panels, e_.num(shape_.item_panels));
    e_.when(all, [&] { wide_rows(a, w, scales, rows, place); });
    e_.when(e_.b.CreateNot(all), [&] {
      e_.loop(e_.num(0), panels, 1, {}, [&](Value* p, const Values&) {
        Value* bytes = e_.times(p, shape_.panel_bytes());
        finished_strips(a, e_.at(w, bytes), e_.at(scales, bytes), rows, next_panel(place, p));
        return Values{};
      });
    });
  }

  Value* pack_activation(Value* offset, Value* column) {
    const int64_t size = size_bytes(plan_.w);
    Value* row_bytes = e_.times(e_.kernel_dim(frame_, 6), size);
    Value* w = e_.at(e_.kernel_pointer(frame_, 1), e_.times(offset, size));
    const bool nk = plan_.weights == GemmPlan::Weights::activation_nk;
    w = e_.at(w, nk ? e_.b.CreateMul(column, row_bytes) : e_.times(column, size));
    Value* const arguments[] = {w, row_bytes, e_.num(plan_.k), e_.b.CreateSub(e_.num(plan_.n), column), frame_.scratch};
    e_.b.CreateCall(prepare_, arguments);
    return frame_.scratch;
  }

  Place next_panel(Place place, Value* p) {
    place.column = e_.b.CreateAdd(place.column, e_.times(p, shape_.panel_columns()));
    return place;
  }

  // One row after the other through all panels of the item.
  void wide_rows(Value* a, Value* w, Value* scales, Value* rows, const Place& place) {
    e_.loop(e_.num(0), rows, 1, {}, [&](Value* i, const Values&) {
      multiply(wide_tile_, i, a, w, scales, sums_, e_.num(0));
      e_.loop(e_.num(0), e_.num(shape_.item_panels), 1, {}, [&](Value* p, const Values&) {
        finish(e_.at(sums_, e_.times(p, shape_.row_bytes())), e_.num(1), i, next_panel(place, p));
        return Values{};
      });
      return Values{};
    });
  }

  // Part by part of the panel: decoded, then multiplied by all rows.
  void unpacked_strips(Value* a, Value* panel, Value* scales, Value* rows, const Place& place) {
    const auto unpack = [&](Value* first) {
      Value* const arguments[] = {panel, first, frame_.scratch};
      e_.b.CreateCall(prepare_, arguments);
    };
    if (shape_.block_k == shape_.k) {
      unpack(e_.num(0));
      return finished_strips(a, frame_.scratch, scales, rows, place);
    }
    Value* sums = e_.at(frame_.scratch, shape_.unpacked_bytes());
    e_.loop(e_.num(0), rows, 1, {}, [&](Value* row, const Values&) {
      emit_zero(e_, e_.at(sums, e_.times(row, shape_.row_bytes())), shape_.row_bytes());
      return Values{};
    });
    e_.loop(e_.num(0), e_.num(shape_.k), shape_.block_k, {}, [&](Value* first, const Values&) {
      unpack(first);
      Value* part = e_.at(a, e_.times(first, size_bytes(plan_.a)));
      strips(rows, [&](Function* tile, int64_t, Value* offset) {
        multiply(tile, offset, part, frame_.scratch, scales, e_.at(sums, e_.times(offset, shape_.row_bytes())), first);
      });
      return Values{};
    });
    finish(sums, rows, e_.num(0), place);
  }

  void finished_strips(Value* a, Value* w, Value* scales, Value* rows, const Place& place) {
    strips(rows, [&](Function* tile, int64_t height, Value* offset) {
      multiply(tile, offset, a, w, scales, sums_, e_.num(0));
      finish(sums_, e_.num(height), offset, place);
    });
  }

  // Calls `strip` with a tile, its height and the row where it starts until all rows are covered.
  void strips(Value* rows, const std::function<void(Function*, int64_t, Value*)>& strip) {
    Value* whole = e_.b.CreateUDiv(rows, e_.num(shape_.rows));
    e_.loop(e_.num(0), whole, 1, {}, [&](Value* i, const Values&) {
      strip(tile_, shape_.rows, e_.times(i, shape_.rows));
      return Values{};
    });
    Value* done = e_.times(whole, shape_.rows);
    Value* rest = e_.b.CreateSub(rows, done);
    const bool single = tails_.size() == 1 && shape_.tails[0] == plan_.m_remainder;
    for (size_t t = 0; t < tails_.size(); ++t) {
      const int64_t height = shape_.tails[t];
      if (single) {
        e_.when(e_.b.CreateICmpNE(rest, e_.num(0)), [&] { strip(tails_[t], height, done); });
        continue;
      }
      // Heights are powers of two, largest first: those already used are the higher bits of what is left.
      e_.when(e_.b.CreateICmpNE(e_.b.CreateAnd(rest, e_.num(height)), e_.num(0)), [&] {
        Value* before = e_.b.CreateAnd(rest, e_.num(~(2 * height - 1)));
        strip(tails_[t], height, e_.b.CreateAdd(done, before));
      });
    }
  }

  // `before`: what lies in front of w in its panel, in k, where scales are read.
  void multiply(Function* tile, Value* offset, Value* a, Value* w, Value* scales, Value* sums, Value* before) {
    Value* rows_of_a = e_.at(a, e_.b.CreateMul(offset, a_row_bytes_));
    Value* const operands[] = {rows_of_a, w, scales, sums, a_row_bytes_, before};
    e_.b.CreateCall(tile, operands);
  }
  void finish(Value* sums, Value* height, Value* offset, const Place& place) {
    Value* row = e_.b.CreateAdd(place.row, offset);
    Value* const operands[] = {frame_.args, sums, row, place.column, height, place.result_offset, place.batch};
    e_.b.CreateCall(epilogue_, operands);
  }

  Emitter& e_;
  const GemmPlan& plan_;
  const std::string symbol_;
  const GemmShape shape_;
  Format format_;
  Function *tile_ = nullptr, *epilogue_ = nullptr, *prepare_ = nullptr, *wide_tile_ = nullptr;
  std::vector<Function*> tails_;
  KernelFrame frame_{};
  Value *sums_ = nullptr, *m_ = nullptr, *a_row_bytes_ = nullptr;
};

void emit(Emitter& e, const GemmPlan& plan, const std::string& symbol, int shrink) {
  GemmKernel(e, plan, symbol, shrink).emit();
}

}  // namespace

extern constinit const EmitterDef gemm_emitter_def = emitter_def<GemmPlan, emit>();

}  // namespace hone

// Gemm kernels: for each item, a panel of W and a block of rows of A; strips of the block go through the tile and the
// epilogue.
#include <algorithm>
#include <functional>
#include <map>

#include "base/multiples.h"
#include "device/x86/amx/pending_strip.h"
#include "device/x86/amx/tile_product.h"
#include "device/x86/amx/tile_registers.h"
#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/gemm/shape.h"
#include "device/x86/left_rows.h"
#include "device/x86/panel.h"
#include "device/x86/product_epilogue.h"
#include "device/x86/strips.h"
#include "device/x86/tile.h"
#include "device/x86/unpack.h"
#include "kernels/gemm/plan.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

// The kernel for so many rows, or for all others.
class GemmCase {
 public:
  // Functions that cases share, by name.
  using Shared = std::map<std::string, Function*>;

  GemmCase(X86Emitter& e, const X86GemmPlan& plan, const std::string& symbol, int64_t m, int shrink, Shared& functions)
      : e_(e),
        plan_(plan),
        symbol_(symbol),
        m_case_(m),
        shape_(gemm_shape(plan, e.target, m, shrink)),
        shared_(functions) {
    if (!plan.w_format.empty()) format_ = parse_format(plan.w_format);
    epilogue_ = shared("epilogue", [&](const std::string& name) { return emit_epilogue(e_, name, plan_, shape_); });
    if (keeps_sums_in_tiles(shape_) && !adds_blocks()) add_pending();
    if (shape_.tiles()) {
      tiles_[shape_.rows] = shared("tiles", [&](const std::string& name) {
        return emit_tile_product(e_, name, shape_, &format_, has_pending() ? &pending_ : nullptr);
      });
    } else if (m > 0) {
      const Strips strips = strips_of(m, shape_.rows);
      for (int64_t height = strips.height; height <= strips.height + (strips.taller > 0); ++height) add_tile(height);
    } else {
      const bool any = shrink > 0 || plan.rows.tallest == 0;
      for (int h = any ? 1 : plan.rows.shortest; h <= (any ? shape_.rows : plan.rows.tallest); ++h) add_tile(h);
    }
    if (shape_.item_panels() > 1 && shape_.from<StreamedCodes>())
      wide_tile_ = tile(shape_.rows, shape_.item_panels(), shape_.panel());
    const bool pairs = shape_.panel() == PanelType::pairs;
    if (shape_.from<UnpackedCodes>())
      prepare_ = shared(pairs ? "unpack_pairs" : "unpack", [&](const std::string& name) {
        return emit_unpack(e_, name, shape_, format_, shape_.row_bytes());
      });
    make_rows_ = rows_maker();
    if (shape_.from<ActivationPanels>())
      prepare_ = shared(pairs ? "pack_pairs" : "pack", [&](const std::string& name) {
        const PackSpec spec{plan_.w, shape_.panel(), shape_.vectors};
        return plan_.weights == GemmPlan::Weights::activation_nk ? emit_pack_nk(e_, name, spec)
                                                                 : emit_pack_kn(e_, name, spec);
      });
  }

  // In the function that has just begun.
  void body(const KernelFrame& frame) {
    frame_ = frame;
    allow_spills(frame_.function);
    generate_quickly(frame_.function);
    sums_ = e_.stack(e_.v_f32, int64_t{shape_.rows} * shape_.vectors * shape_.item_panels());
    if (shape_.tiles()) tile_state_ = tile_state(e_);
    m_ = m_case_ ? e_.num(m_case_) : e_.size<&A::m>(frame_);
    n_ = plan_.n ? e_.num(plan_.n) : e_.size<&A::n>(frame_);
    k_ = plan_.k ? e_.num(plan_.k) : e_.size<&A::k>(frame_);
    block_rows_ = e_.size<&A::block_rows>(frame_);
    Value* panel_items = up(n_, shape_.panel_columns() * shape_.item_panels());
    Value* inner = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e_.size<&A::inner_batches>(frame_), e_.num(1));
    Value* a_stride = plan_.a_row_stride ? e_.num(plan_.a_row_stride) : e_.size<&A::a_row>(frame_);
    source_row_bytes_ = e_.times(a_stride, size_bytes(plan_.a));
    a_row_bytes_ = shape_.left == LeftRows::codes ? e_.num(shape_.code_row_bytes())
                   : make_rows_                   ? e_.times(k_, 4)
                                                  : source_row_bytes_;
    scratch_ = frame_.scratch;
    if (shape_.left == LeftRows::columns) {
      scratch_ = e_.at(scratch_, e_.times(copied_column_bytes(e_, block_rows_), shape_.block_k()));
    } else if (make_rows_) {  // shape_.rows_bytes() behind
      Value* rows = e_.times(up(block_rows_, shape_.lanes), shape_.lanes);
      Value* bytes =
          e_.times(e_.b.CreateMul(rows, adds_blocks() ? e_.num(shape_.block_k()) : k_), size_bytes(shape_.a));
      if (shape_.left == LeftRows::codes) bytes = e_.times(rows, shape_.code_row_bytes());
      scratch_ = e_.at(scratch_, e_.b.CreateAnd(e_.b.CreateAdd(bytes, e_.num(63)), e_.num(-64)));
    }
    for_each_item(panel_items, inner);
    if (has_pending()) flush();
    if (shape_.tiles()) TileRegisters(e_).release();
    e_.end_function();
  }

  int64_t m() const { return m_case_; }

 private:
  template <class Make>
  Function* shared(const std::string& name, const Make& make) {
    Function*& made = shared_[name];
    if (!made) made = make(symbol_ + "_" + name);
    return made;
  }
  // What lays rows of A out in scratch; null where they are multiplied as they lie.
  Function* rows_maker() {
    switch (shape_.left) {
      case LeftRows::as_they_lie:
        return nullptr;
      case LeftRows::widened:
        return shared("widen", [&](const std::string& name) { return emit_widen_rows(e_, name); });
      case LeftRows::codes:
        return shared(shape_.tiles() ? "codes_of_tiles" : "codes", [&](const std::string& name) {
          return emit_code_rows(e_, name, {plan_.a, shape_.code_form(), shape_.k, shape_.code_row_bytes()});
        });
      case LeftRows::turned:
        return shared(shape_.pairs() ? "turn_pairs" : "turn", [&](const std::string& name) {
          return emit_turn_rows(e_, name, shape_.a, shape_.block_k() * size_bytes(shape_.a));
        });
      case LeftRows::columns:
        return shared("copy", [&](const std::string& name) { return emit_copy_columns(e_, name); });
    }
    CHECK(false);
  }
  bool keeps_panel() const { return shape_.from<DensePanels>() && shape_.from<DensePanels>()->keeps; }
  void add_pending() {
    pending_.next_rows = shared(
        "next_rows", [&](const std::string& name) { return emit_next_rows(e_, name, epilogue_, shape_.row_bytes()); });
    pending_.flush = shared(
        "flush", [&](const std::string& name) { return emit_flush(e_, name, pending_.next_rows, shape_.row_bytes()); });
  }
  bool has_pending() const { return pending_.flush != nullptr; }
  void flush() { e_.b.CreateCall(pending_.flush, {tile_state_}); }
  void add_tile(int64_t height) {
    const bool keeps = keeps_panel();
    if (keeps) first_tiles_[height] = tile(static_cast<int>(height), 1, PanelType::pairs, true);
    tiles_[height] = tile(static_cast<int>(height), 1, keeps ? PanelType::f32 : shape_.panel());
  }
  Function* tile(int rows, int panels, PanelType panel, bool keeps = false) {
    const std::string name =
        fmt::format("tile{}x{}_{}{}{}{}{}{}", rows, panels, shape_.chains,
                    shape_.unit != ProductUnit::f32 && shape_.unit != ProductUnit::int16 ? "_dot" : "",
                    panel == PanelType::pairs ? "_pairs" : "", keeps ? "_first" : "",
                    shape_.from<StreamedCodes>() ? "_codes" : "", shape_.fetches_next() ? "_fetches" : "");
    return shared(name, [&](const std::string& symbol) {
      TileSpec spec = tile_spec(shape_, &format_, rows, panels);
      if (keeps_panel()) spec.w = PlainPanels{panel, keeps};
      spec.a_by_columns = reads_columns();
      if (shape_.left == LeftRows::codes) spec.a_row_bytes = shape_.code_row_bytes();
      else if (shape_.left == LeftRows::widened) spec.a_row_bytes = adds_blocks() ? 0 : plan_.k * 4;
      else if (!plan_.a_by_columns) spec.a_row_bytes = plan_.a_row_stride * size_bytes(plan_.a);
      return emit_tile(e_, symbol, spec);
    });
  }
  Value* up(Value* value, Value* divisor) {
    return e_.b.CreateUDiv(e_.b.CreateAdd(value, e_.b.CreateSub(divisor, e_.num(1))), divisor);
  }
  Value* up(Value* value, int64_t divisor) { return up(value, e_.num(divisor)); }

  struct Place {
    Value *row, *column, *result_offset, *batch;
  };

  using A = X86GemmArgs;

  // Number outer * inner + h.
  struct Batch {
    Value *outer, *h, *number;
  };
  // Elements before the batch, where `outer` counts through the loops in the middle, too.
  enum Strided : int { kOfA, kOfW, kOfResult };  // in the arrays of strides
  Value* batch_offset(const Batch& batch, Strided of) {
    Value *outer = batch.outer, *offset = e_.b.CreateMul(batch.h, e_.size<&A::inner_strides>(frame_, of));
    for (int64_t loop = plan_.middle_loops; loop-- > 0;) {
      const int at = 4 * static_cast<int>(loop);
      Value* count = e_.size<&A::middle_loops>(frame_, at);
      Value* stride = e_.size<&A::middle_loops>(frame_, at + 1 + of);
      offset = e_.b.CreateAdd(offset, e_.b.CreateMul(e_.b.CreateURem(outer, count), stride));
      outer = e_.b.CreateUDiv(outer, count);
    }
    return e_.b.CreateAdd(offset, e_.b.CreateMul(outer, e_.size<&A::batch_strides>(frame_, of)));
  }

  // Counts through panels, blocks of rows and batches: divisions once a call, not once an item.
  void for_each_item(Value* panel_items, Value* inner) {
    Value* blocks = up(m_, block_rows_);
    last_rows_ = m_case_ ? m_ : e_.b.CreateSub(m_, e_.b.CreateMul(e_.b.CreateSub(blocks, e_.num(1)), block_rows_));
    last_strips_ = cut_into_strips(e_, last_rows_, shape_.rows, tiles_);
    full_strips_ = m_case_ ? last_strips_ : cut_into_strips(e_, block_rows_, shape_.rows, tiles_);
    Value *rows = e_.b.CreateUDiv(frame_.begin, panel_items), *batch = e_.b.CreateUDiv(rows, blocks);
    const Values start{e_.b.CreateURem(frame_.begin, panel_items),
                       e_.b.CreateURem(rows, blocks),
                       e_.b.CreateURem(batch, inner),
                       e_.b.CreateUDiv(batch, inner),
                       batch,
                       e_.b.getTrue()};
    e_.loop(frame_.begin, frame_.end, 1, start, [&](Value*, const Values& at) {
      const Batch of{at[3], at[2], at[4]};
      Value* is_last = e_.b.CreateICmpEQ(e_.b.CreateAdd(at[1], e_.num(1)), blocks);
      one_item(of, at[1], is_last, e_.times(at[0], shape_.item_panels()), at[5]);
      const auto next = [&](Value* value, Value* steps, Value* end) -> std::pair<Value*, Value*> {
        Value* more = e_.b.CreateAdd(value, e_.b.CreateZExt(steps, e_.i64));
        Value* wraps = e_.b.CreateICmpEQ(more, end);
        return {e_.b.CreateSelect(wraps, e_.num(0), more), wraps};
      };
      const auto [panel, other_rows] = next(at[0], e_.b.getTrue(), panel_items);
      const auto [block, other_batch] = next(at[1], other_rows, blocks);
      const auto [h, other_outer] = next(at[2], other_batch, inner);
      return Values{panel,
                    block,
                    h,
                    e_.b.CreateAdd(at[3], e_.b.CreateZExt(other_outer, e_.i64)),
                    e_.b.CreateAdd(at[4], e_.b.CreateZExt(other_batch, e_.i64)),
                    other_rows};
    });
  }

  void one_item(const Batch& batch, Value* block, Value* is_last, Value* panel, Value* has_other_rows) {
    Value* first = e_.b.CreateMul(block, block_rows_);
    Value* a = e_.at(e_.pointer<&A::a>(frame_), e_.times(batch_offset(batch, kOfA), size_bytes(plan_.a)));
    a = e_.at(a, e_.times(first, plan_.a_by_columns ? e_.num(size_bytes(plan_.a)) : source_row_bytes_));
    Value* rows = m_case_ ? m_ : e_.b.CreateSelect(is_last, last_rows_, block_rows_);
    strips_ = m_case_ ? last_strips_ : select_strips(e_, is_last, last_strips_, full_strips_);
    Value* column = e_.times(panel, shape_.panel_columns());
    const Place place{first, column, batch_offset(batch, kOfResult), batch.number};
    if (adds_blocks()) return added_blocks(a, batch_offset(batch, kOfW), rows, panel, place);
    if (make_rows_) {
      Value* const arguments[] = {a, source_row_bytes_, rows, k_, frame_.scratch};
      e_.when(has_other_rows, [&] { e_.b.CreateCall(make_rows_, arguments); });
      a = frame_.scratch;
    }
    Value *w = nullptr, *scales = llvm::ConstantPointerNull::get(e_.b.getPtrTy());
    if (shape_.from<ActivationPanels>()) {
      w = pack_activation(batch_offset(batch, kOfW), e_.num(0), k_, column);
    } else {
      w = e_.at(e_.pointer<&A::w>(frame_), e_.times(panel, shape_.panel_bytes()));
      if (shape_.codec || shape_.integers()) scales = e_.at(w, shape_.scales_offset());
    }
    if (shape_.from<UnpackedCodes>()) return unpacked_strips(a, w, scales, rows, place);
    if (shape_.adds_blocks())
      return blocks_of_k(a, scales, rows, place, [&](Value* first) {
        Value* lane_rows = e_.b.CreateLShr(first, e_.num(shape_.panel() == PanelType::quads ? 2 : 1));
        return e_.at(w, e_.times(lane_rows, shape_.row_bytes()));
      });
    if (shape_.item_panels() == 1) return finished_strips(a, w, scales, rows, place, w);
    Value* panels = e_.b.CreateSub(e_.num(shape_.panels()), panel);
    Value* all = e_.b.CreateICmpSGE(panels, e_.num(shape_.item_panels()));
    e_.when(all, [&] { wide_rows(a, w, scales, rows, place); });
    e_.when(e_.b.CreateNot(all), [&] {
      e_.loop(e_.num(0), panels, 1, {}, [&](Value* p, const Values&) {
        Value* bytes = e_.times(p, shape_.panel_bytes());
        finished_strips(a, e_.at(w, bytes), e_.at(scales, bytes), rows, next_panel(place, p), e_.at(w, bytes));
        return Values{};
      });
    });
  }

  bool adds_blocks() const { return shape_.from<ActivationPanels>() && shape_.adds_blocks(); }
  bool reads_columns() const { return shape_.left == LeftRows::columns; }

  // Of the panel that begins at `column`, `count` k from `first` on.
  Value* pack_activation(Value* offset, Value* first, Value* count, Value* column) {
    const int64_t size = size_bytes(plan_.w);
    Value* row_bytes = e_.times(e_.size<&A::w_row>(frame_), size);
    Value* w = e_.at(e_.pointer<&A::w>(frame_), e_.times(offset, size));
    const bool nk = plan_.weights == GemmPlan::Weights::activation_nk;
    w = e_.at(w, e_.times(nk ? column : first, row_bytes));
    w = e_.at(w, e_.times(nk ? first : column, size));
    Value* const arguments[] = {w, row_bytes, count, e_.b.CreateSub(n_, column), scratch_};
    e_.b.CreateCall(prepare_, arguments);
    if (shape_.tiles())  // whole steps
      e_.loop(up(count, 2), e_.times(up(count, kTileK), kTileK / 2), 1, {}, [&](Value* row, const Values&) {
        emit_zero(e_, e_.at(scratch_, e_.times(row, shape_.row_bytes())), shape_.row_bytes());
        return Values{};
      });
    return scratch_;
  }

  // Block by block of K: what it is of A is multiplied by all panels of the item while it stays in the cache. The
  // blocks decide no bits: each goes on with the sums of those before.
  void added_blocks(Value* a, Value* w_offset, Value* rows, Value* panel, const Place& place) {
    Value* all_sums = e_.at(scratch_, shape_.unpacked_bytes());
    Value *sums_bytes = e_.times(block_rows_, shape_.row_bytes()), *panels = e_.num(1);
    if (shape_.item_panels() > 1)
      panels = e_.smaller(e_.num(shape_.item_panels()), e_.b.CreateSub(up(n_, shape_.panel_columns()), panel));
    e_.loop(e_.num(0), e_.b.CreateMul(panels, block_rows_), 1, {}, [&](Value* row, const Values&) {
      emit_zero(e_, e_.at(all_sums, e_.times(row, shape_.row_bytes())), shape_.row_bytes());
      return Values{};
    });
    e_.loop(e_.num(0), k_, shape_.block_k(), {}, [&](Value* first, const Values&) {
      Value* count = e_.smaller(e_.num(shape_.block_k()), e_.b.CreateSub(k_, first));
      Value *part = e_.at(a, e_.times(first, plan_.a_by_columns ? source_row_bytes_ : e_.num(size_bytes(plan_.a)))),
            *row_bytes = source_row_bytes_;
      if (reads_columns()) {
        Value* crowded = e_.b.CreateICmpEQ(e_.b.CreateAnd(source_row_bytes_, e_.num(kCrowded - 1)), e_.num(0));
        Value* const arguments[] = {part, source_row_bytes_, rows, count, frame_.scratch};
        e_.when(crowded, [&] { e_.b.CreateCall(make_rows_, arguments); });
        part = e_.b.CreateSelect(crowded, frame_.scratch, part);
        row_bytes = e_.b.CreateSelect(crowded, copied_column_bytes(e_, rows), row_bytes);
      } else if (make_rows_) {
        Value* const arguments[] = {part, source_row_bytes_, rows, count, frame_.scratch};
        e_.b.CreateCall(make_rows_, arguments);
        part = frame_.scratch;
        row_bytes =
            shape_.left == LeftRows::turned ? e_.num(shape_.block_k() * size_bytes(shape_.a)) : e_.times(count, 4);
      }
      e_.loop(e_.num(0), panels, 1, {}, [&](Value* p, const Values&) {
        Value* w = pack_activation(w_offset, first, count, next_panel(place, p).column);
        Value* sums = e_.at(all_sums, e_.b.CreateMul(p, sums_bytes));
        for_each_strip(e_, strips_, [&](Value* tile, Value* height, Value* offset) {
          Value* rows_of_a = e_.at(part, reads_columns() ? e_.times(offset, 4) : e_.b.CreateMul(offset, row_bytes));
          call_tile(tile, height, offset,
                    {rows_of_a, w, llvm::ConstantPointerNull::get(e_.b.getPtrTy()),
                     e_.at(sums, e_.times(offset, shape_.row_bytes())), row_bytes, count});
        });
        return Values{};
      });
      return Values{};
    });
    e_.loop(e_.num(0), panels, 1, {}, [&](Value* p, const Values&) {
      finish(e_.at(all_sums, e_.b.CreateMul(p, sums_bytes)), rows, e_.num(0), next_panel(place, p));
      return Values{};
    });
  }

  Place next_panel(Place place, Value* p) {
    place.column = e_.b.CreateAdd(place.column, e_.times(p, shape_.panel_columns()));
    return place;
  }

  // One row after the other through all panels of the item.
  void wide_rows(Value* a, Value* w, Value* scales, Value* rows, const Place& place) {
    e_.loop(e_.num(0), rows, 1, {}, [&](Value* i, const Values&) {
      multiply(wide_tile_, e_.num(1), i, a, w, scales, sums_, e_.num(0));
      e_.loop(e_.num(0), e_.num(shape_.item_panels()), 1, {}, [&](Value* p, const Values&) {
        finish(e_.at(sums_, e_.times(p, shape_.row_bytes())), e_.num(1), i, next_panel(place, p));
        return Values{};
      });
      return Values{};
    });
  }

  // Part by part of the panel: decoded, then multiplied by all rows.
  void unpacked_strips(Value* a, Value* panel, Value* scales, Value* rows, const Place& place) {
    const auto unpack = [&](Value* first) {
      Value* const arguments[] = {panel, first, scratch_};
      e_.b.CreateCall(prepare_, arguments);
      if (const int64_t filled = (shape_.block_k() + 1) / 2 * shape_.row_bytes();
          shape_.tiles() && filled < shape_.unpacked_bytes())
        emit_zero(e_, e_.at(scratch_, filled), shape_.unpacked_bytes() - filled);
      return scratch_;
    };
    if (shape_.adds_blocks()) return blocks_of_k(a, scales, rows, place, unpack);
    finished_strips(a, unpack(e_.num(0)), scales, rows, place, panel);
  }

  // `weights` gives the block of the panel that begins at so many k.
  template <class Weights>
  void blocks_of_k(Value* a, Value* scales, Value* rows, const Place& place, const Weights& weights) {
    Value* sums = e_.at(scratch_, shape_.from<UnpackedCodes>() ? shape_.unpacked_bytes() : 0);
    e_.loop(e_.num(0), rows, 1, {}, [&](Value* row, const Values&) {
      emit_zero(e_, e_.at(sums, e_.times(row, shape_.row_bytes())), shape_.row_bytes());
      return Values{};
    });
    e_.loop(e_.num(0), e_.num(shape_.k), shape_.block_k(), {}, [&](Value* first, const Values&) {
      Value *w = weights(first), *part = e_.at(a, e_.times(first, size_bytes(shape_.a)));
      for_each_strip(e_, strips_, [&](Value* tile, Value* height, Value* offset) {
        multiply(tile, height, offset, part, w, scales, e_.at(sums, e_.times(offset, shape_.row_bytes())), first);
        if (!has_pending()) return;
        Value* is_last = e_.b.CreateICmpSGE(e_.b.CreateAdd(first, e_.num(shape_.block_k())), e_.num(shape_.k));
        e_.when(is_last, [&] { finish_when_next_begins(height, offset, place); });
      });
      return Values{};
    });
    if (has_pending()) flush();  // the next item's sums are in the same scratch
    else finish(sums, rows, e_.num(0), place);
  }

  // `panel`: as it is stored; the next one lies behind it, and is fetched while all rows meet this one.
  void finished_strips(Value* a, Value* w, Value* scales, Value* rows, const Place& place, Value* panel) {
    if (shape_.fetches_next()) {
      next_panel_ = e_.at(panel, shape_.panel_bytes());
      // Few rows are done before much comes: their weights stream by themselves.
      fetched_per_row_ = e_.b.CreateSelect(e_.b.CreateICmpSGT(rows, e_.num(kFewRows)),
                                           up(e_.num(shape_.panel_bytes()), rows), e_.num(0));
    }
    const auto strip = [&](Value* tile, Value* height, Value* offset, Value* weights, Value* beside) {
      multiply(tile, height, offset, a, weights, beside, sums_, e_.num(0));
      if (has_pending()) finish_when_next_begins(height, offset, place);
      else finish(sums_, height, offset, place);
    };
    Value* done = nullptr;
    if (keeps_panel()) {
      Value* first = tallest(e_, strips_);
      strip(tile_of(e_, first_tiles_, first), first, e_.num(0), w, scratch_);
      done = e_.num(1), w = scratch_;
    }
    const auto others = [&](Value* tile, Value* height, Value* offset) { strip(tile, height, offset, w, scales); };
    for_each_strip(e_, strips_, others, done);
  }

  // `before`: what lies in front of w in its panel, in k, where scales are read, or k where the tile is not told.
  void multiply(Value* tile, Value* height, Value* offset, Value* a, Value* w, Value* scales, Value* sums,
                Value* before) {
    Value* rows_of_a = e_.at(a, e_.b.CreateMul(offset, a_row_bytes_));
    call_tile(tile, height, offset, {rows_of_a, w, scales, sums, a_row_bytes_, plan_.k ? before : k_});
  }
  void call_tile(Value* tile, Value* height, Value* offset, Values operands) {
    if (shape_.tiles()) {
      operands.insert(operands.begin(), tile_state_);
      operands.insert(operands.end(), {height, tile_half(e_, tallest(e_, strips_)), offset});
    }
    if (shape_.fetches_next())
      operands.insert(operands.end(), {e_.at(next_panel_, e_.b.CreateMul(offset, fetched_per_row_)),
                                       e_.b.CreateMul(height, fetched_per_row_)});
    e_.b.CreateCall(tiles_.begin()->second->getFunctionType(), tile, operands);
  }
  void finish(Value* sums, Value* height, Value* offset, const Place& place) {
    Value* row = e_.b.CreateAdd(place.row, offset);
    Value* const operands[] = {frame_.args, sums, row, place.column, height, place.result_offset, place.batch};
    e_.b.CreateCall(epilogue_, operands);
  }
  void finish_when_next_begins(Value* height, Value* offset, const Place& place) {
    Value* row = e_.b.CreateAdd(place.row, offset);
    finish_later(e_, tile_state_, {frame_.args, row, place.column, height, place.result_offset, place.batch});
  }

  X86Emitter& e_;
  const X86GemmPlan& plan_;
  const std::string symbol_;
  const int64_t m_case_;  // 0: any number
  const GemmShape shape_;
  Shared& shared_;
  Format format_;
  Function *epilogue_ = nullptr, *prepare_ = nullptr;
  Function* make_rows_ = nullptr;  // of A in scratch, widened or turned
  Function* wide_tile_ = nullptr;
  TilesByHeight tiles_, first_tiles_;
  KernelFrame frame_{};
  Value *sums_ = nullptr, *m_ = nullptr, *n_ = nullptr, *k_ = nullptr, *block_rows_ = nullptr;
  Value *source_row_bytes_ = nullptr, *a_row_bytes_ = nullptr;  // from row to row of A: given, and as tiles read it
  Value* scratch_ = nullptr;                                    // behind widened rows
  Value *next_panel_ = nullptr, *fetched_per_row_ = nullptr;    // bytes that make all of it
  PendingStrip pending_;                                        // none where strips are finished at once
  Value* tile_state_ = nullptr;
  TileStrips strips_{}, full_strips_{}, last_strips_{};  // of an item, of whole blocks of rows and of the last
  Value* last_rows_ = nullptr;                           // of the last block
};

}  // namespace

void emit_gemm(X86Emitter& e, const X86GemmPlan& plan, const std::string& symbol, int shrink) {
  GemmCase::Shared shared;
  std::vector<GemmCase> cases;
  const X86GemmPlan::Rows& rows = plan.rows;
  const int64_t few = rows.most ? rows.most : kFewRows;
  int64_t m = rows.least;
  for (; m <= few && (rows.most || !multiplies_as_many(plan, e.target, m)); ++m)
    cases.emplace_back(e, plan, symbol, m, shrink, shared);
  if (rows.most == 0) cases.emplace_back(e, plan, symbol, 0, shrink, shared);
  if (cases.size() == 1) return cases[0].body(e.begin_kernel(symbol));
  std::vector<Function*> bodies;
  for (GemmCase& each : cases) {
    const KernelFrame frame = e.begin_kernel(fmt::format("{}_m{}", symbol, each.m()), false);
    bodies.push_back(frame.function);
    each.body(frame);
  }
  const KernelFrame frame = e.begin_kernel(symbol);
  Value* extent = e.size<&GemmArgs::m>(frame);
  for (size_t i = 0; i < cases.size(); ++i) {
    Value* is_it = cases[i].m() ? e.b.CreateICmpEQ(extent, e.num(cases[i].m())) : e.b.CreateICmpSGE(extent, e.num(m));
    e.when(is_it, [&] { e.b.CreateCall(bodies[i], {frame.args, frame.begin, frame.end, frame.scratch}); });
  }
  e.end_function();
}

}  // namespace hone

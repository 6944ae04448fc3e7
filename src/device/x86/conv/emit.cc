// Direct convolutions: for each item, what a block of output rows sees of x, and a panel of W; strips of the block go
// through the tile and the epilogue of matrix products.
#include <map>

#include "base/multiples.h"
#include "device/x86/amx/pending_strip.h"
#include "device/x86/amx/tile_product.h"
#include "device/x86/amx/tile_registers.h"
#include "device/x86/conv/copy_block.h"
#include "device/x86/conv/plan.h"
#include "device/x86/conv/shape.h"
#include "device/x86/conv/winograd_shape.h"
#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/plane.h"
#include "device/x86/product_epilogue.h"
#include "device/x86/strips.h"
#include "device/x86/tile.h"
#include "device/x86/unpack.h"
#include "device/x86/winograd.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;
using A = DirectConvArgs;
static_assert(shares_epilogue<&A::rows, &A::epilogue>());

class ConvKernel {
 public:
  ConvKernel(X86Emitter& e, const X86ConvPlan& plan, const std::string& symbol, int shrink)
      : e_(e),
        plan_(plan),
        w_(plan.window),
        symbol_(symbol),
        shrink_(shrink),
        shape_(conv_shape(plan, e.target, shrink)) {
    if (!plan.product.w_format.empty()) format_ = parse_format(plan.product.w_format);
  }

  void emit() {
    epilogue_ = emit_epilogue(e_, symbol_ + "_epilogue", plan_.product, shape_.gemm);
    if (by_tiles()) add_tiles_of_windows();
    else if (plan_.any_plane) add_tiles_of_any_plane();
    else add_tiles_of_plane();
    if (shape_.gemm.from<UnpackedCodes>())
      unpack_ = emit_unpack(e_, symbol_ + "_unpack", shape_.gemm, format_, shape_.gemm.row_bytes());
    if (shape_.copied) copy_ = emit_copy_block(e_, symbol_, plan_, shape_);
    frame_ = e_.begin_kernel(symbol_);
    allow_spills(frame_.function);
    generate_quickly(frame_.function);
    const ConvSizes sizes = conv_sizes(e_, plan_, shape_, frame_);
    p_ = sizes.plane, row_bytes_ = sizes.row_bytes, block_rows_ = sizes.block_rows, blocks_ = sizes.blocks;
    sums_ = e_.stack(e_.v_f32, int64_t{shape_.gemm.rows} * shape_.gemm.vectors);
    panel_scratch_ = e_.at(frame_.scratch, size(round_up(shape_.copied_bytes(), 64), place_of<&A::copied_bytes>));
    if (plan_.groups > 1) group_args_ = e_.stack(e_.i8, sizeof(KernelArgs));
    rule_height_ = size(shape_.rule_height, place_of<&A::strip_height>);
    band_rows_ = shrink_ > 0 ? e_.num(1) : rule_height_;
    if (by_tiles()) tile_state_ = tile_state(e_);
    else if (plan_.any_plane) prepare_strips();
    if (shape_.gemm.fetches_next())
      fetched_per_pixel_ = e_.b.CreateUDiv(e_.num(shape_.gemm.panel_bytes()),
                                           e_.larger(e_.b.CreateMul(block_rows_, p_.out_width), e_.num(1)));
    e_.loop(frame_.begin, frame_.end, 1, {e_.num(-1)}, [&](Value* item, const Values& previous) {
      Value* place = e_.b.CreateUDiv(item, e_.num(shape_.gemm.panels()));
      one_item(place, e_.b.CreateURem(item, e_.num(shape_.gemm.panels())), previous[0]);
      return Values{place};
    });
    if (by_tiles()) {
      flush();
      TileRegisters(e_).release();
    }
    e_.end_function();
  }

 private:
  bool by_tiles() const { return shape_.gemm.tiles(); }
  int64_t element() const { return size_bytes(plan_.product.a); }

  Value* size(int64_t constant, int derived) { return conv_size(e_, plan_, frame_, constant, derived); }

  TileSpec tile_spec_of(int64_t rows) {
    TileSpec spec = tile_spec(shape_.gemm, &format_, static_cast<int>(rows));
    spec.window = {.segment = shape_.segment,
                   .segments_x = shape_.segments_x,
                   .a_step_x = w_.dilation_x * shape_.pixel_bytes,
                   .counts_segments = plan_.inside_only};
    return spec;
  }
  Function* tile(int64_t height, int64_t width) {
    TileSpec spec = tile_spec_of(height * width);
    TileWindow::Plane plane{.a_step_y = w_.dilation_y * shape_.row_bytes};
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        plane.row_offsets.push_back(y * w_.stride_y * shape_.row_bytes + x * w_.stride_x * shape_.pixel_bytes);
    spec.window->plane = std::move(plane);
    return emit_tile(e_, fmt::format("{}_tile{}x{}", symbol_, height, width), spec);
  }
  void add_tiles_of_plane() {
    const int64_t height = shape_.strip_height, width = shape_.strip_width;
    tile_ = tile(height, width);
    if (const int64_t rest = height > 1 ? w_.out_height % height : w_.out_width % width)
      tail_ = height > 1 ? tile(rest, width) : tile(1, rest);
  }
  void add_tiles_of_windows() {
    pending_.next_rows = emit_next_rows(e_, symbol_ + "_next_rows", epilogue_, shape_.gemm.row_bytes());
    pending_.flush = emit_flush(e_, symbol_ + "_flush", pending_.next_rows, shape_.gemm.row_bytes());
    tile_ = emit_tile_window(e_, symbol_ + "_tiles", shape_.gemm, tile_runs(), pending_);
  }
  void flush() { e_.b.CreateCall(pending_.flush, {tile_state_}); }
  void add_tiles_of_any_plane() {
    for (const ConvTile& each : tiles_of_any_plane(plan_, e_.target, shrink_)) {
      TileSpec spec = tile_spec_of(each.rows);
      spec.chains = each.chains;
      tiles_[each] = emit_tile(e_, fmt::format("{}_tile{}c{}", symbol_, each.rows, each.chains), spec);
    }
  }

  void one_item(Value* place, Value* panel, Value* previous) {
    Value* block = e_.b.CreateURem(place, blocks_);
    Value* rest = e_.b.CreateUDiv(place, blocks_);
    Value *group = e_.b.CreateURem(rest, e_.num(plan_.groups)), *image = e_.b.CreateUDiv(rest, e_.num(plan_.groups));
    Value* first = e_.times(block, block_rows_);
    Value* x = e_.pointer<&A::x>(frame_);
    Value* plane_bytes = e_.times(e_.times(p_.height, p_.width), plan_.groups * plan_.channels * element());
    x = e_.at(x, e_.times(image, plane_bytes));
    x = e_.at(x, e_.times(group, plan_.channels * element()));
    Value* a = x;
    if (shape_.copied) {
      Value* top = e_.b.CreateSub(e_.times(first, w_.stride_y), p_.pad_top);
      e_.when(e_.b.CreateICmpNE(place, previous), [&] {
        Value* const arguments[] = {frame_.args, x, top, frame_.scratch};
        e_.b.CreateCall(copy_, arguments);
      });
      a = frame_.scratch;
    } else {
      Value* top = e_.times(first, w_.stride_y);
      if (plan_.inside_only) {  // where the window of the first pixel begins, though nothing is read outside the plane
        top = e_.b.CreateSub(top, p_.pad_top);
        a = e_.at(a, e_.times(e_.b.CreateNeg(p_.pad_left), shape_.pixel_bytes));
      }
      a = e_.at(a, e_.b.CreateMul(top, row_bytes_));
    }
    const int64_t group_bytes = shape_.gemm.panels() * shape_.gemm.panel_bytes();
    Value* w = e_.at(e_.pointer<&A::w>(frame_), e_.times(group, group_bytes));
    w = e_.at(w, e_.times(panel, shape_.gemm.panel_bytes()));
    if (shape_.gemm.integers()) corrections_ = e_.at(w, shape_.gemm.scales_offset());
    if (shape_.gemm.fetches_next() || shape_.fetched_bytes) next_panel_ = e_.at(w, shape_.gemm.panel_bytes());
    if (unpack_) {
      Value* const arguments[] = {w, e_.num(0), panel_scratch_};
      e_.b.CreateCall(unpack_, arguments);
      w = panel_scratch_;
    }
    const Place at{args_of(group), image, first, e_.times(panel, shape_.gemm.panel_columns())};
    if (plan_.any_plane || by_tiles()) bands(a, w, at);
    else rows(a, w, at);
    if (by_tiles() && plan_.groups > 1) flush();  // before another group's arguments
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
    size_t pointer = place_of<&A::epilogue>;
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
    Value* end = e_.smaller(e_.b.CreateAdd(place.first, block_rows_), p_.out_height);
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
      // Sums that are corrected are those of all taps, here or by what follows.
      const bool skips = shape_.copied && shape_.rule_height == 1 &&
                         shape_.gemm.code_form() != CodeForm::offset_bytes && !plan_.has_x_zero;
      const TapRows seen = skips ? window_rows(y) : all_window_rows();
      one_row(from_window_row(row, seen), weights_from(w, seen), seen.count, y, place);
      return Values{};
    });
  }

  // Rows of the window that are multiplied, `count` from the first on. Those outside the plane are zeros, and skipped
  // where the rule's strip lies in one output row: a weight that is not finite must meet them always or never.
  struct TapRows {
    Value *first, *count;
  };
  TapRows all_window_rows() { return {e_.num(0), e_.num(w_.kernel_height)}; }
  TapRows window_rows(Value* y) {
    Value* first = window_rows_before(p_.pad_top, y);
    return {first, e_.b.CreateSub(window_rows_before(e_.b.CreateAdd(p_.pad_top, p_.height), y), first)};
  }
  Value* window_rows_before(Value* edge, Value* y) {
    return taps_before(e_.b.CreateSub(edge, e_.times(y, w_.stride_y)), w_.dilation_y, w_.kernel_height);
  }
  Value* from_window_row(Value* a, const TapRows& seen) {
    return e_.at(a, e_.times(seen.first, e_.times(row_bytes_, w_.dilation_y)));
  }
  Value* weights_from(Value* w, const TapRows& seen) {
    return e_.at(w, e_.times(seen.first, shape_.panel_rows_of_window_row() * shape_.gemm.row_bytes()));
  }

  // How many of a window's taps, `dilation` apart, lie before an edge of the padded plane that is `room` behind the
  // first.
  Value* taps_before(Value* room, int64_t dilation, int64_t taps) {
    Value* before = room;
    if (dilation > 1) before = e_.b.CreateSDiv(e_.b.CreateAdd(room, e_.num(dilation - 1)), e_.num(dilation));
    return e_.smaller(e_.larger(before, e_.num(0)), e_.num(taps));
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
    Values operands{a, w, shape_.gemm.integers() ? corrections_ : w, sums_, e_.num(0), count};
    add_fetched(operands, e_.b.CreateAdd(e_.times(e_.b.CreateSub(y, place.first), w_.out_width), x), e_.num(pixels));
    e_.b.CreateCall(tile, operands);
    finish(e_.num(pixels), y, x, place);
  }
  // Of the next panel as much as so many pixels of the block are of all, behind those before them.
  void add_fetched(Values& operands, Value* before, Value* pixels) {
    if (!shape_.gemm.fetches_next()) return;
    operands.push_back(e_.at(next_panel_, e_.b.CreateMul(before, fetched_per_pixel_)));
    operands.push_back(e_.b.CreateMul(pixels, fetched_per_pixel_));
  }
  void finish(Value* pixels, Value* y, Value* x, const Place& place) {
    Value* row = e_.b.CreateAdd(e_.times(place.image, p_.out_height), y);
    row = e_.b.CreateAdd(e_.times(row, p_.out_width), x);
    if (by_tiles()) return finish_later(e_, tile_state_, {place.args, row, place.column, pixels, e_.num(0), e_.num(0)});
    Value* const results[] = {place.args, sums_, row, place.column, pixels, e_.num(0), e_.num(0)};
    e_.b.CreateCall(epilogue_, results);
  }

  // For any plane: what strips of this one need, once a call. Tiles are found by their rows, among those with the
  // chains that the rule says; rows of a tile lie at offsets that count through all output rows of a band.
  void prepare_strips() {
    const int64_t most = shape_.gemm.rows, pitch = (most + 2) * 8;  // the height after the last is read, not called
    int64_t most_chains = 1;
    for (const auto& [tile, unused] : tiles_) most_chains = std::max<int64_t>(most_chains, tile.chains);
    Value* table = e_.stack(e_.i8, pitch * (most_chains + 1), 8);
    for (const auto& [tile, function] : tiles_)
      e_.store(function, e_.at(table, tile.chains * pitch + int64_t{tile.rows} * 8), 8);
    tile_table_ = e_.at(table, e_.times(e_.size<&A::chains>(frame_), pitch));
    row_offsets_ = e_.stack(e_.i64, most, 8);
    full_band_ = strips_of_band(band_rows_);
    last_band_ = strips_of_band(e_.larger(e_.b.CreateURem(p_.out_height, band_rows_), e_.num(1)));
    Value *down = e_.times(row_bytes_, w_.stride_y), *across = e_.num(w_.stride_x * shape_.pixel_bytes);
    e_.loop(e_.num(0), e_.num(most), 1, {}, [&](Value* i, const Values&) {
      Value *y = e_.b.CreateUDiv(i, p_.out_width), *x = e_.b.CreateURem(i, p_.out_width);
      e_.store(e_.b.CreateAdd(e_.times(y, down), e_.times(x, across)), e_.at(row_offsets_, e_.times(i, 8)), 8);
      return Values{};
    });
  }

  TileStrips strips_of_band(Value* rows) { return strips_of_pixels(e_.times(rows, p_.out_width)); }
  TileStrips strips_of_pixels(Value* pixels) {
    return cut_into_strips(e_, pixels, shape_.gemm.rows,
                           [&](Value* height) { return e_.load(e_.ptr, e_.at(tile_table_, e_.times(height, 8)), 8); });
  }

  // A band is an output row, cut into strips, or as many rows as make one strip.
  void bands(Value* a, Value* w, const Place& place) {
    Value* end = e_.smaller(e_.b.CreateAdd(place.first, block_rows_), p_.out_height);
    Value *height = band_rows_, *rows = e_.b.CreateSub(end, place.first);
    Value* count = e_.b.CreateUDiv(e_.b.CreateAdd(rows, e_.b.CreateSub(height, e_.num(1))), height);
    Value* step = e_.times(e_.times(row_bytes_, w_.stride_y), height);
    e_.loop(e_.num(0), count, 1, {}, [&](Value* i, const Values&) {
      Value* before = e_.times(i, height);
      Value* y = e_.b.CreateAdd(place.first, before);
      const TapRows seen = rows_seen_of_band(y);
      Value* of_band = e_.smaller(height, e_.b.CreateSub(rows, before));
      Value *from = from_window_row(e_.at(a, e_.times(i, step)), seen), *weights = weights_from(w, seen);
      if (by_tiles()) return tile_band(from, weights, seen.count, of_band, y, place), Values{};
      if (plan_.inside_only) return runs_of_row(from, weights, seen.count, y, place), Values{};
      Value* is_full = e_.b.CreateICmpEQ(of_band, height);
      one_band(from, weights, seen.count, select_strips(e_, is_full, full_band_, last_band_), y, place);
      return Values{};
    });
  }

  // Two short output rows are the halves of a strip; longer ones are cut into strips of two halves.
  void tile_band(Value* a, Value* w, Value* window_rows, Value* rows, Value* y, const Place& place) {
    const int64_t across = shape_.across_bytes, most = shape_.gemm.rows;
    Value* row = e_.b.CreateSub(y, place.first);
    const auto strip = [&](Value* from, Value* pixels, const TileHalves& halves, Value* to_second, Value* x,
                           Value* before) {
      Value* ahead = shape_.fetched_bytes ? e_.at(next_panel_, e_.times(before, shape_.fetched_of_strip(w_))) : w;
      Value* const operands[] = {
          tile_state_, from,          w,        sums_, ahead, e_.times(row_bytes_, w_.dilation_y), window_rows,
          halves.rows, halves.second, to_second};
      e_.b.CreateCall(tile_, operands);
      finish(pixels, y, x, place);
    };
    Value* is_short = e_.b.CreateICmpSLE(p_.out_width, e_.num(kTileRows));
    e_.when(is_short, [&] {
      Value* second = e_.b.CreateSelect(e_.b.CreateICmpSGT(rows, e_.num(1)), p_.out_width, e_.num(0));
      strip(a, e_.b.CreateAdd(p_.out_width, second), {p_.out_width, second}, e_.times(row_bytes_, w_.stride_y),
            e_.num(0), e_.b.CreateUDiv(row, e_.num(2)));
    });
    e_.when(e_.b.CreateNot(is_short), [&] {
      Value* count = e_.b.CreateUDiv(e_.b.CreateAdd(p_.out_width, e_.num(most - 1)), e_.num(most));
      Value *low = e_.b.CreateUDiv(p_.out_width, count), *taller = e_.b.CreateURem(p_.out_width, count);
      Value* half = tile_half(e_, e_.b.CreateAdd(low, e_.b.CreateZExt(e_.b.CreateICmpSGT(taller, e_.num(0)), e_.i64)));
      e_.loop(e_.num(0), count, 1, {}, [&](Value* i, const Values&) {
        Value* width = e_.b.CreateAdd(low, e_.b.CreateZExt(e_.b.CreateICmpSLT(i, taller), e_.i64));
        Value* x = e_.b.CreateAdd(e_.b.CreateMul(i, low), e_.smaller(i, taller));
        Value* second = e_.b.CreateSub(width, half);
        strip(e_.at(a, e_.times(x, across)), width, {half, second}, e_.times(second, across), x,
              e_.b.CreateAdd(e_.b.CreateMul(row, count), i));
        return Values{};
      });
    });
  }

  TileRuns tile_runs() const {
    return {.segment_bytes = shape_.run_bytes,
            .segments_x = shape_.segments_x,
            .a_step_x = w_.dilation_x * shape_.pixel_bytes,
            .a_row_bytes = shape_.across_bytes,
            .fetched_bytes = shape_.fetched_bytes};
  }
  TapRows rows_seen_of_band(Value* y) {
    const TapRows all = all_window_rows();
    if (plan_.inside_only) return window_rows(y);
    if (!shape_.copied || plan_.has_x_zero) return all;
    const TapRows seen = window_rows(y);
    Value* one_row = e_.b.CreateICmpEQ(rule_height_, e_.num(1));
    return {e_.b.CreateSelect(one_row, seen.first, all.first), e_.b.CreateSelect(one_row, seen.count, all.count)};
  }

  void one_band(Value* a, Value* w, Value* window_rows, const TileStrips& strips, Value* y, const Place& place) {
    for_each_strip(e_, strips, [&](Value* tile, Value* pixels, Value* x) {
      any_strip(tile, pixels, a, w, window_rows, nullptr, y, x, place);
    });
  }
  void any_strip(Value* tile, Value* pixels, Value* a, Value* w, Value* window_rows, Value* window_columns, Value* y,
                 Value* x, const Place& place) {
    Value* from = e_.at(a, e_.times(x, w_.stride_x * shape_.pixel_bytes));
    Value* a_step_y = e_.times(row_bytes_, w_.dilation_y);
    Values operands{from, w, row_offsets_, sums_, a_step_y, window_rows};
    add_fetched(operands, e_.b.CreateAdd(e_.times(e_.b.CreateSub(y, place.first), p_.out_width), x), pixels);
    if (window_columns) operands.push_back(window_columns);
    e_.b.CreateCall(tiles_.begin()->second->getFunctionType(), tile, operands);
    finish(pixels, y, x, place);
  }

  // Pixels that see the same columns of the window inside the plane, `a` and `w` being at its first: a run ends where
  // the next column comes in on the left or the last one leaves on the right.
  void runs_of_row(Value* a, Value* w, Value* window_rows, Value* y, const Place& place) {
    Value* right = e_.b.CreateAdd(p_.pad_left, p_.width);
    const int64_t column_bytes = shape_.gemm.rows_of(shape_.gemm.panel(), shape_.segment) * shape_.gemm.row_bytes();
    e_.loop(e_.num(0), e_.size<&A::column_runs>(frame_), 1, {e_.num(0)}, [&](Value*, const Values& at) {
      Value *x = at[0], *end = p_.out_width;
      const auto before = [&](Value* edge) {
        Value* taps = taps_before(e_.b.CreateSub(edge, e_.times(x, w_.stride_x)), w_.dilation_x, w_.kernel_width);
        // The first place with one less; where there are none, nowhere.
        Value* one_less = e_.b.CreateSub(edge, e_.times(e_.b.CreateSub(taps, e_.num(1)), w_.dilation_x));
        Value* changes = e_.b.CreateSDiv(e_.b.CreateAdd(one_less, e_.num(w_.stride_x - 1)), e_.num(w_.stride_x));
        Value* some = e_.b.CreateICmpSGT(taps, e_.num(0));
        end = e_.b.CreateSelect(some, e_.smaller(end, changes), end);
        return taps;
      };
      Value *first = before(p_.pad_left), *count = e_.b.CreateSub(before(right), first);
      Value *from = e_.at(a, e_.times(first, w_.dilation_x * shape_.pixel_bytes)),
            *weights = e_.at(w, e_.times(first, column_bytes));
      for_each_strip(e_, strips_of_pixels(e_.b.CreateSub(end, x)), [&](Value* tile, Value* pixels, Value* offset) {
        any_strip(tile, pixels, from, weights, window_rows, count, y, e_.b.CreateAdd(x, offset), place);
      });
      return Values{end};
    });
  }

  X86Emitter& e_;
  const X86ConvPlan& plan_;
  const PlaneWindow& w_;
  const std::string symbol_;
  const int shrink_;
  const ConvShape shape_;
  Format format_;
  Function *tile_ = nullptr, *tail_ = nullptr, *epilogue_ = nullptr, *unpack_ = nullptr, *copy_ = nullptr;
  Value* corrections_ = nullptr;  // of the sums of an item's panel
  KernelFrame frame_{};
  Value *sums_ = nullptr, *panel_scratch_ = nullptr, *group_args_ = nullptr;
  PlaneValues p_{};
  Value *row_bytes_ = nullptr, *block_rows_ = nullptr, *blocks_ = nullptr;
  std::map<ConvTile, Function*> tiles_;  // for any plane
  Value *tile_table_ = nullptr, *row_offsets_ = nullptr, *rule_height_ = nullptr;
  Value* band_rows_ = nullptr;                                  // output rows of a band
  TileStrips full_band_{}, last_band_{};                        // the last may have fewer rows
  Value *next_panel_ = nullptr, *fetched_per_pixel_ = nullptr;  // bytes of it
  PendingStrip pending_;                                        // of tile registers
  Value* tile_state_ = nullptr;
};

}  // namespace

void emit_conv(X86Emitter& e, const X86ConvPlan& plan, const std::string& symbol, int shrink) {
  if (plan.method == X86ConvPlan::Method::direct) ConvKernel(e, plan, symbol, shrink).emit();
  else emit_winograd(e, plan, symbol, shrink);
}

}  // namespace hone

// Window kernels: depthwise convolutions, pools, reductions over an axis with channels behind it.
//
// Channels lie in the lanes. A tile is a few neighbouring columns of places times a few vectors of channels; its sums
// stay in registers while a loop goes down the rows of the window that lie in the plane. The taps along a row are
// unrolled: an element is loaded once and meets every place that it lies under. Where the window reaches past the left
// or right border, the tile is one of its own, from which the taps outside are left out. Windows wider than that are a
// loop over the taps, whose sums run in several chains that are joined in a fixed order.
//
// For any plane there is a tile that lies inside, and there are two kinds for borders: tiles that leave out the taps of
// windows with the usual padding, and tiles of as many places as the call says, with a mask for each pixel that leaves
// out what is none. All add the same elements in the same order, so tiles may overlap to fill a row. Where taps are a
// loop, one tile takes any single place.
//
// The last vector of channels starts where it ends with the last channel, so that nothing is masked; only fewer
// channels than lanes are. Channels that two vectors share get the same bits from both, and so no result may lie where
// an operand does.
//
// Codes are multiplied as f32, less their zero point: what lies outside the plane then adds nothing, and sums begin
// with what it would have, the zero point times all weights.
#include <algorithm>

#include "base/multiples.h"
#include "device/llvm/expr_emit.h"
#include "device/llvm/reduction.h"
#include "device/x86/emitter.h"
#include "device/x86/plane.h"
#include "device/x86/reduce_window/prepack.h"
#include "device/x86/reduce_window/shape.h"
#include "device/x86/tile.h"
#include "device/x86/unpack.h"
#include "kernels/elements.h"
#include "kernels/program_uses.h"
#include "kernels/reduce_window/plan.h"

namespace hone {
namespace {

using llvm::Value;
using A = WindowTileArgs;

class ReduceWindowEmitter {
 public:
  ReduceWindowEmitter(X86Emitter& e, const ReduceWindowPlan& plan, int shrink)
      : e_(e),
        plan_(plan),
        plane_(plan.plane),
        shrink_(shrink),
        scalar_(plan.multiplies_codes() ? Scalar::f32 : compute_scalar(plan.x)),
        pixel_bytes_(plan.channels * size_bytes(plan.x)),
        mask_(plan.channels < e.lanes ? e.tail_mask(e.num(plan.channels)) : nullptr),
        counts_taps_(reads_argument(plan.program, 1)) {
    if (!counts_taps_ || plan.any_plane) return;
    down_ = table_of(plan.taps_down);
    across_ = table_of(plan.taps_across);
  }

  void run(const std::string& symbol) {
    if (plan_.any_plane) add_tiles_of_any_plane(symbol);
    else cut(symbol);
    llvm::Function* unpack = nullptr;
    if (!plan_.w_format.empty())
      unpack = emit_unpack(e_, symbol + "_unpack", weight_shape(plan_, e_.target), parse_format(plan_.w_format),
                           weight_bytes());
    frame_ = e_.begin_kernel(symbol);
    allow_spills(frame_.function);
    Value *x = e_.pointer<&A::x>(frame_), *w = e_.pointer<&A::w>(frame_);
    if (unpack) w = decoded_weights(unpack, w);
    p_ = sizes(frame_);
    Value* blocks = plan_.any_plane ? e_.size<&A::blocks>(frame_) : e_.num(channel_blocks(plan_, e_.target));
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      row_of_places(x, w, e_.b.CreateUDiv(item, blocks), e_.b.CreateURem(item, blocks));
      return Values{};
    });
    e_.end_function();
  }

 private:
  // Panel after panel beside the one before it in scratch.
  Value* decoded_weights(llvm::Function* unpack, Value* w) {
    const GemmShape shape = weight_shape(plan_, e_.target);
    const X86Emitter::Moving moving[] = {{w, shape.panel_bytes()}, {frame_.scratch, shape.row_bytes()}};
    e_.walk(e_.num(shape.panels()), moving, {}, [&](const Values& p, const Values&) {
      e_.b.CreateCall(unpack, {p[0], e_.num(0), p[1]});
      return Values{};
    });
    return frame_.scratch;
  }

  PlaneValues sizes(const KernelFrame& frame) {
    return plane_values(e_, plane_, plan_.any_plane, frame, place_of<&A::window>);
  }

  // What a tile adds: the taps that lie in the plane, where `left` and `right` of its pixels do not or wherever it is,
  // as of a border; or as many as the call says.
  struct Tile {
    ReduceWindowTile shape;
    enum class Taps : uint8_t { known, of_border, of_call } taps = Taps::known;
    int64_t left = 0, right = 0;
    llvm::Function* function = nullptr;
    bool is_inside() const { return taps == Taps::known && left == 0 && right == 0; }
  };
  // Tiles of one kind, one beside the other from column `first` on.
  struct Segment {
    Tile tile;
    int64_t first, tiles;
  };

  void cut(const std::string& symbol) {
    const ReduceWindowTile shape = window_tile(plan_, e_.target, shrink_);
    if (!is_unrolled(plan_)) {
      segments_.push_back({{shape, Tile::Taps::of_call}, 0, plane_.out_width});
    } else {
      for (int64_t x = 0; x < plane_.out_width; x += shape.columns) add_tile_at(x, shape);
    }
    for (size_t i = 0; i < segments_.size(); ++i) make(segments_[i].tile, fmt::format("{}_tile{}", symbol, i));
  }
  void add_tile_at(int64_t x, ReduceWindowTile shape) {
    shape.columns = std::min(shape.columns, plane_.out_width - x);
    Tile tile{shape};
    const int64_t first_pixel = x * plane_.stride_x - plane_.pad_left;
    tile.left = std::max<int64_t>(0, -first_pixel);
    tile.right = std::max<int64_t>(0, first_pixel + pixels_beside(tile) - (plane_.width - 1));
    if (tile.is_inside() && !segments_.empty() && segments_.back().tile.is_inside() &&
        segments_.back().tile.shape == shape)
      ++segments_.back().tiles;
    else segments_.push_back({tile, x, 1});
  }

  void add_tiles_of_any_plane(const std::string& symbol) {
    if (is_unrolled(plan_)) {
      inner_ = {inner_tile(plan_, e_.target, shrink_)};
      make(inner_, symbol + "_inner");
      border_ = {border_tile(plan_, e_.target), Tile::Taps::of_border};
      make(border_, symbol + "_border");
      if (const int64_t left = usual_padding(plan_)) {
        first_ = {.shape = inner_.shape, .left = left};
        make(first_, symbol + "_first");
      }
      for (int64_t right = least_overhang(plan_); right <= usual_padding(plan_); ++right) {
        if (right == 0) continue;  // the inner one
        last_.push_back({.shape = inner_.shape, .right = right});
        make(last_.back(), fmt::format("{}_last{}", symbol, right));
        whole_.push_back({.shape = inner_.shape, .left = usual_padding(plan_), .right = right});
        make(whole_.back(), fmt::format("{}_whole{}", symbol, right));
      }
    } else {
      single_ = {single_tile(plan_, e_.target, shrink_), Tile::Taps::of_call};
      make(single_, symbol + "_single");
    }
  }

  llvm::GlobalVariable* table_of(const std::vector<int64_t>& counts) {
    const std::vector<float> floats(counts.begin(), counts.end());
    return e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(floats)));
  }

  // Taps [first, first + count) of those at start, start + dilation, … lie in [0, extent). `count` may be negative.
  struct Taps {
    Value *first, *count;
  };
  Taps taps_inside(Value* start, Value* taps, int64_t dilation, Value* extent) {
    auto steps = [&](Value* distance) {  // to go at least that far
      Value* some = e_.larger(distance, e_.num(0));
      return dilation == 1 ? some : e_.b.CreateUDiv(e_.b.CreateAdd(some, e_.num(dilation - 1)), e_.num(dilation));
    };
    Value* first = steps(e_.b.CreateNeg(start));
    Value* last = e_.smaller(steps(e_.b.CreateSub(extent, start)), taps);
    return {first, e_.b.CreateSub(last, first)};
  }

  // What the tiles of one row of places share.
  struct Row {
    Value *x, *w;  // at its first tap in the plane, column 0 of the plane and tap 0 of a row
    Value *window_rows, *first_place, *counted;
    Value *begin, *end;  // vectors of channels
  };

  // The channels of a block at every place of one row of places; `row` counts through all images.
  void row_of_places(Value* x, Value* w, Value* row, Value* block) {
    Value *y = e_.b.CreateURem(row, p_.out_height), *image = e_.b.CreateUDiv(row, p_.out_height);
    Value* top = e_.b.CreateSub(e_.times(y, plane_.stride_y), p_.pad_top);
    const Taps down = taps_inside(top, p_.kernel_height, plane_.dilation_y, p_.height);
    Value* counted = counted_down(y, top);
    top = e_.b.CreateAdd(top, e_.times(down.first, plane_.dilation_y));
    Value* pixels = e_.times(e_.b.CreateAdd(e_.times(image, p_.height), top), p_.width);
    Value* in_block = plan_.any_plane ? e_.size<&A::block_vectors>(frame_) : e_.num(block_vectors(plan_, e_.target));
    Value* begin = e_.times(block, in_block);
    places({.x = e_.at(x, e_.times(pixels, pixel_bytes_)),
            .w = e_.at(w, e_.times(down.first, e_.times(p_.kernel_width, weight_bytes()))),
            .window_rows = down.count,
            .first_place = e_.times(row, p_.out_width),
            .counted = counted,
            .begin = begin,
            .end = e_.smaller(e_.b.CreateAdd(begin, in_block), e_.num(channel_vectors(plan_, e_.target)))});
  }

  void places(const Row& row) {
    for (const Segment& s : segments_) tiles(s.tile, row, e_.num(s.first), e_.num(s.tiles));
    if (plan_.any_plane) places_of_any_plane(row);
  }

  // Where the padding is the usual one: a tile for all, or the first and the last and inner ones between them, the last
  // of which may overlap the one before it. Otherwise borders on both sides, and wherever no inner tile fits.
  void places_of_any_plane(const Row& row) {
    if (!is_unrolled(plan_)) return tiles(single_, row, e_.num(0), p_.out_width);
    Value *zero = e_.num(0), *wide = e_.num(inner_.shape.columns), *last = e_.b.CreateSub(p_.out_width, wide);
    Value *first = e_.size<&A::inside_first>(frame_), *end = e_.size<&A::inside_end>(frame_),
          *overhang = e_.size<&A::overhang>(frame_);
    const auto once_if = [&](Value* condition) { return e_.b.CreateZExt(condition, e_.i64); };
    const auto hangs_over = [&](Value* condition, int64_t right) {
      return once_if(e_.b.CreateAnd(condition, e_.b.CreateICmpEQ(overhang, e_.num(right))));
    };
    Value* usual = e_.b.CreateICmpSGE(overhang, zero);
    Value* fits = e_.b.CreateICmpSGE(e_.b.CreateSub(end, first), wide);  // an inner tile
    Value* whole = e_.b.CreateAnd({usual, e_.b.CreateNot(fits), e_.b.CreateICmpEQ(last, zero)});
    Value* ends = e_.b.CreateAnd({usual, fits, e_.b.CreateICmpSGT(last, zero), e_.b.CreateICmpSLE(first, wide),
                                  e_.b.CreateICmpSLE(first, last), e_.b.CreateICmpSGE(end, last)});
    Value* borders = e_.b.CreateNot(e_.b.CreateOr(whole, ends));
    const Tile& at_first = first_.function ? first_ : inner_;
    border(row, zero, e_.b.CreateSelect(borders, first, zero));
    tiles(at_first, row, zero, once_if(ends));
    if (least_overhang(plan_) == 0) tiles(at_first, row, zero, hangs_over(whole, 0));
    for (const Tile& tile : whole_) tiles(tile, row, zero, hangs_over(whole, tile.right));

    Value *begin = e_.b.CreateSelect(ends, wide, first), *until = e_.b.CreateSelect(ends, last, end);
    Value* places = e_.larger(e_.b.CreateSub(until, begin), zero);
    Value* count = e_.b.CreateSelect(fits, e_.b.CreateUDiv(places, wide), zero);
    tiles(inner_, row, begin, count);
    Value* rest = e_.b.CreateSub(places, e_.times(count, inner_.shape.columns));
    Value* overlaps = e_.b.CreateAnd(fits, e_.b.CreateICmpSGT(rest, zero));
    tiles(inner_, row, e_.larger(e_.b.CreateSub(until, wide), first), once_if(overlaps));
    border(row, first, e_.b.CreateSelect(fits, zero, rest));

    if (least_overhang(plan_) == 0) tiles(inner_, row, last, hangs_over(ends, 0));
    for (const Tile& tile : last_) tiles(tile, row, last, hangs_over(ends, tile.right));
    border(row, end, e_.b.CreateSelect(borders, e_.b.CreateSub(p_.out_width, end), zero));
  }

  void border(const Row& row, Value* first, Value* count) {
    Value* often =
        e_.b.CreateUDiv(e_.b.CreateAdd(count, e_.num(border_.shape.columns - 1)), e_.num(border_.shape.columns));
    tiles(border_, row, first, often, e_.b.CreateAdd(first, count));
  }

  // One beside the other; tiles of a border end with place `end` at the latest.
  void tiles(const Tile& tile, const Row& row, Value* first, Value* count, Value* end = nullptr) {
    e_.loop(e_.num(0), count, 1, {}, [&](Value* i, const Values&) {
      Value* column = e_.b.CreateAdd(e_.times(i, tile.shape.columns), first);
      Value* left = e_.b.CreateSub(e_.times(column, plane_.stride_x), p_.pad_left);
      Taps across{e_.num(0), e_.num(0)};
      if (tile.taps == Tile::Taps::of_call) across = taps_inside(left, p_.kernel_width, plane_.dilation_x, p_.width);
      if (end) across.count = e_.b.CreateSub(end, column);
      left = e_.b.CreateAdd(left, e_.times(across.first, plane_.dilation_x));
      Value *from = e_.at(row.x, e_.times(left, pixel_bytes_)),
            *weights = e_.at(row.w, e_.times(across.first, weight_bytes()));
      Value* place = e_.b.CreateAdd(row.first_place, column);
      e_.loop(
          row.begin, row.end, tile.shape.vectors, {},
          [&](Value* v, const Values&) {
            Value* c = e_.smaller(e_.times(v, e_.lanes), e_.num(last_channel(tile)));
            e_.b.CreateCall(tile.function,
                            {frame_.args, e_.at(from, e_.times(c, size_bytes(plan_.x))), e_.at(weights, e_.times(c, 4)),
                             row.window_rows, across.count, place, c, column, row.counted});
            return Values{};
          },
          true);
      return Values{};
    });
  }

  int64_t weight_bytes() const { return weight_row_bytes(plan_, e_.target); }  // of one tap
  int64_t last_channel(const Tile& tile) const {                               // that a tile may start at
    return std::max<int64_t>(0, plan_.channels - tile.shape.vectors * e_.lanes);
  }
  // Where vector v of a tile starts, behind the tile's first channel.
  int64_t channel(int64_t v) const { return std::min(v * e_.lanes, std::max<int64_t>(0, plan_.channels - e_.lanes)); }

  // void(args, x, w, rows, count, place, channel, column, counted): one tile. `x` and `w` are at its first tap and
  // channel; `rows` of the window lie in the plane. `count`: the taps of each row where the call says how many; of a
  // border the places that are to be stored.
  void make(Tile& tile, const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.ptr, e_.i64, e_.i64, e_.i64, e_.i64, e_.i64, e_.f32};
    llvm::Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    const auto [columns, vectors, chains] = tile.shape;
    p_ = sizes({f, f->getArg(0), nullptr, nullptr, nullptr});
    pixels_.clear();
    if (tile.taps == Tile::Taps::of_border) {
      allow_spills(f);  // of pixels
      pixels_ = pixels_from(f->getArg(7), pixels_beside(tile) + 1);
    }
    Values sums(static_cast<size_t>(columns * vectors * chains), reduction_identity(e_, kind(), scalar_));
    if (plan_.has_x_zero) begin_with_zero_point(f, tile, sums);
    const X86Emitter::Moving moving[] = {{f->getArg(1), e_.times(p_.width, plane_.dilation_y * pixel_bytes_)},
                                         {f->getArg(2), e_.times(p_.kernel_width, weight_bytes())}};
    sums = e_.walk(f->getArg(3), moving, sums, [&](const Values& at, Values carried) {
      return tile.taps == Tile::Taps::of_call ? row_in_chains(tile, f->getArg(4), at[0], at[1], std::move(carried))
                                              : unrolled_row(tile, at[0], at[1], std::move(carried));
    });
    const auto wide = static_cast<size_t>(vectors);
    for (size_t chain = 1; chain < static_cast<size_t>(chains); ++chain)
      for (size_t v = 0; v < wide; ++v) sums[v] = emit_reduction(e_, kind(), scalar_, sums[v], sums[chain * wide + v]);
    for (int64_t v = 0; v < vectors; ++v) store_vector(f, tile, v, sums);
    e_.end_function();
    tile.function = f;
  }

  Reduction::Kind kind() const {
    switch (plan_.reduction) {
      case ReduceWindowPlan::Reduction::max:
        return Reduction::Kind::max;
      case ReduceWindowPlan::Reduction::min:
        return Reduction::Kind::min;
      default:
        return Reduction::Kind::sum;
    }
  }

  Value* element(Value* x, int64_t v) {
    Value* loaded = e_.load_elements(plan_.x, e_.at(x, channel(v) * size_bytes(plan_.x)), mask_);
    if (!plan_.multiplies_codes()) return loaded;
    loaded = e_.b.CreateSIToFP(loaded, e_.v_f32);
    return plan_.has_x_zero ? e_.b.CreateFSub(loaded, x_zero_) : loaded;
  }
  // Those of the first chain.
  void begin_with_zero_point(llvm::Function* f, const Tile& tile, Values& sums) {
    const KernelFrame frame{f, f->getArg(0), nullptr, nullptr, nullptr};
    const auto last = static_cast<int>(plan_.operands.size() + plan_.results.size());
    x_zero_ = e_.b.CreateSIToFP(e_.load_broadcast(plan_.x, e_.pointer<&A::epilogue>(frame, last)), e_.v_f32);
    Value* all = e_.at(e_.pointer<&A::w>(frame), plane_.taps() * weight_bytes());
    all = e_.at(all, e_.times(f->getArg(6), 4));
    for (int64_t v = 0; v < tile.shape.vectors; ++v) {
      Value* outside = e_.b.CreateFMul(x_zero_, e_.load(e_.v_f32, e_.at(all, channel(v) * 4), 4));
      for (int64_t column = 0; column < tile.shape.columns; ++column)
        sums[static_cast<size_t>(v * tile.shape.columns + column)] = outside;
    }
  }
  Value* weight(Value* w, int64_t tap, int64_t v) {
    if (plan_.reduction != ReduceWindowPlan::Reduction::products) return nullptr;
    return e_.load(e_.v_f32, e_.at(w, tap * weight_bytes() + channel(v) * 4), 4);
  }
  Value* add(Value* sum, Value* element, Value* weight) {
    return weight ? e_.fma(element, weight, sum) : emit_reduction(e_, kind(), scalar_, sum, element);
  }

  // From the first pixel that a tile reads to the last.
  int64_t pixels_beside(const Tile& tile) const {
    return (tile.shape.columns - 1) * plane_.stride_x + (plane_.kernel_width - 1) * plane_.dilation_x;
  }

  // A pixel that a tile of a border reads: whether it lies in the plane, and how far from the tile's first one to read,
  // which is the nearest that does. (Loads that a mask suppresses are slow where nothing is mapped.)
  struct Pixel {
    Value *inside, *bytes;
  };
  std::vector<Pixel> pixels_from(Value* column, int64_t count) {
    Value* left = e_.b.CreateSub(e_.times(column, plane_.stride_x), p_.pad_left);
    Value* lanes = e_.splat(e_.b.CreateTrunc(left, e_.i32));
    Value* width = e_.splat(e_.b.CreateTrunc(p_.width, e_.i32));
    std::vector<Pixel> pixels;
    for (int64_t pixel = 0; pixel < count; ++pixel) {
      // As unsigned numbers, those on the left are larger than the width, too.
      Value* inside = e_.b.CreateICmpULT(e_.b.CreateAdd(lanes, e_.c_i32(static_cast<uint32_t>(pixel))), width);
      Value* at = e_.b.CreateAdd(left, e_.num(pixel));
      Value* nearest = e_.larger(e_.smaller(at, e_.b.CreateSub(p_.width, e_.num(1))), e_.num(0));
      pixels.push_back({inside, e_.times(e_.b.CreateSub(nearest, left), pixel_bytes_)});
    }
    return pixels;
  }

  Values unrolled_row(const Tile& tile, Value* x, Value* w, Values sums) {
    const int64_t taps = plane_.kernel_width, columns = tile.shape.columns, reach = pixels_beside(tile);
    for (int64_t v = 0; v < tile.shape.vectors; ++v) {
      Values weights;
      for (int64_t tap = 0; tap < taps; ++tap) weights.push_back(weight(w, tap, v));
      for (int64_t pixel = 0; pixel <= reach; ++pixel) {
        Value* loaded = nullptr;
        for (int64_t column = 0; column < columns; ++column)
          for (int64_t tap = 0; tap < taps; ++tap) {
            if (column * plane_.stride_x + tap * plane_.dilation_x != pixel) continue;
            if (pixel < tile.left || pixel > reach - tile.right) continue;
            const Pixel placed =
                pixels_.empty() ? Pixel{nullptr, e_.num(pixel * pixel_bytes_)} : pixels_[static_cast<size_t>(pixel)];
            if (!loaded) loaded = element(e_.at(x, placed.bytes), v);
            Value*& sum = sums[static_cast<size_t>(v * columns + column)];
            Value* added = add(sum, loaded, weights[static_cast<size_t>(tap)]);
            sum = placed.inside ? e_.b.CreateSelect(placed.inside, added, sum) : added;
          }
      }
    }
    return sums;
  }

  // One tap after the other where rows of that many taps are unrolled; else in chains, the last few in one.
  Values row_in_chains(const Tile& tile, Value* taps, Value* x, Value* w, Values sums) {
    const auto [columns, vectors, most] = tile.shape;
    auto step = [&, wide = vectors](const Values& at, Values into, int64_t chains) {
      for (int64_t chain = 0; chain < chains; ++chain)
        for (int64_t v = 0; v < wide; ++v) {
          Value*& sum = into[static_cast<size_t>(chain * wide + v)];
          sum = add(sum, element(e_.at(at[0], chain * plane_.dilation_x * pixel_bytes_), v), weight(at[1], chain, v));
        }
      return into;
    };
    const int64_t x_step = plane_.dilation_x * pixel_bytes_;
    Value* done = e_.num(0);
    if (most > 1) {
      Value* rounds = e_.b.CreateUDiv(e_.larger(taps, e_.num(0)), e_.num(most));
      if (plane_.kernel_width == 0) {
        Value* wide = e_.b.CreateICmpSGT(p_.kernel_width, e_.num(kMostUnrolled));
        rounds = e_.b.CreateSelect(wide, rounds, e_.num(0));
      }
      const X86Emitter::Moving whole[] = {{x, most * x_step}, {w, most * weight_bytes()}};
      sums = e_.walk(rounds, whole, sums,
                     [&, chains = most](const Values& at, const Values& s) { return step(at, s, chains); });
      done = e_.times(rounds, most);
    }
    const X86Emitter::Moving rest[] = {{e_.at(x, e_.times(done, x_step)), x_step},
                                       {e_.at(w, e_.times(done, weight_bytes())), weight_bytes()}};
    return e_.walk(e_.b.CreateSub(taps, done), rest, sums,
                   [&](const Values& at, const Values& s) { return step(at, s, 1); });
  }

  // The v-th vector of channels at every column of the tile.
  void store_vector(llvm::Function* f, const Tile& tile, int64_t v, const Values& sums) {
    const KernelFrame frame{f, f->getArg(0), nullptr, nullptr, nullptr};
    Value* c = e_.b.CreateAdd(f->getArg(6), e_.num(channel(v)));
    const auto operands = static_cast<int>(plan_.operands.size());
    Values fixed(static_cast<size_t>(operands) + 2, nullptr);  // operands that are the same in every column
    for (int i = 0; i < operands; ++i) {
      const Epilogue::Operand& o = plan_.operands[static_cast<size_t>(i)];
      Value* base = e_.pointer<&A::epilogue>(frame, i);
      Value*& known = fixed[static_cast<size_t>(i) + 2];
      if (o.access == Epilogue::Access::column)
        known = e_.load_elements(o.dtype, e_.at(base, e_.times(c, size_bytes(o.dtype))), mask_);
      if (o.access == Epilogue::Access::scalar) known = e_.load_broadcast(o.dtype, base);
    }
    const Values invariants = emit_invariants(e_, plan_.program, fixed);
    const auto store = [&](int64_t column) {
      Value* place = e_.b.CreateAdd(f->getArg(5), e_.num(column));
      Value* at = e_.b.CreateAdd(e_.times(place, plan_.channels), c);  // of the result
      Values args = fixed;
      args[0] = sums[static_cast<size_t>(v * tile.shape.columns + column)];
      if (plan_.multiplies_codes()) args[0] = e_.b.CreateFPToSI(args[0], e_.v_i32);
      if (counts_taps_) args[1] = e_.splat(e_.b.CreateFMul(f->getArg(8), counted_across(frame, tile, column)));
      for (int i = 0; i < operands; ++i) {
        const Epilogue::Operand& o = plan_.operands[static_cast<size_t>(i)];
        Value*& arg = args[static_cast<size_t>(i) + 2];
        if (arg) continue;
        const bool full = o.access == Epilogue::Access::full;
        Value* from = e_.at(e_.pointer<&A::epilogue>(frame, i), e_.times(full ? at : place, size_bytes(o.dtype)));
        arg = full ? e_.load_elements(o.dtype, from, mask_) : e_.load_broadcast(o.dtype, from);
      }
      args.resize(plan_.program.args.size());
      const Values results = emit_program(e_, plan_.program, args, at, invariants);
      for (size_t j = 0; j < results.size(); ++j) {
        Value* base = e_.pointer<&A::epilogue>(frame, operands + static_cast<int>(j));
        e_.store_elements(results[j], plan_.results[j], e_.at(base, e_.times(at, size_bytes(plan_.results[j]))), mask_);
      }
    };
    for (int64_t column = 0; column < tile.shape.columns; ++column) {
      if (tile.taps != Tile::Taps::of_border) store(column);
      else e_.when(e_.b.CreateICmpSGT(f->getArg(4), e_.num(column)), [&] { store(column); });
    }
  }

  // The taps that count in the window whose first row lies at `top`, as f32.
  Value* counted_down(Value* y, Value* top) {
    if (!counts_taps_) return llvm::ConstantFP::get(e_.f32, 0);
    if (down_) return e_.load(e_.f32, e_.b.CreateGEP(e_.f32, down_, y));
    return counted(frame_, top, p_.kernel_height, plane_.dilation_y, p_.height, 0);
  }
  Value* counted_across(const KernelFrame& frame, const Tile& tile, int64_t column) {
    Value* place = e_.b.CreateAdd(frame.function->getArg(7), e_.num(column));
    if (across_) return e_.load(e_.f32, e_.b.CreateGEP(e_.f32, across_, place));
    if (tile.is_inside()) return llvm::ConstantFP::get(e_.f32, static_cast<double>(plane_.kernel_width));
    Value* left = e_.b.CreateSub(e_.times(place, plane_.stride_x), p_.pad_left);
    return counted(frame, left, p_.kernel_width, plane_.dilation_x, p_.width, 1);
  }
  Value* counted(const KernelFrame& frame, Value* start, Value* taps, int64_t dilation, Value* extent, int side) {
    Value* before = e_.size<&A::counted>(frame, side);
    extent = e_.b.CreateAdd(e_.b.CreateAdd(extent, before), e_.size<&A::counted>(frame, 2 + side));
    const Taps inside = taps_inside(e_.b.CreateAdd(start, before), taps, dilation, extent);
    return e_.b.CreateSIToFP(e_.larger(inside.count, e_.num(0)), e_.f32);
  }

  X86Emitter& e_;
  const ReduceWindowPlan& plan_;
  const PlaneWindow& plane_;
  const int shrink_;
  const Scalar scalar_;
  const int64_t pixel_bytes_;
  Value* const mask_;
  const bool counts_taps_;
  llvm::GlobalVariable *down_ = nullptr, *across_ = nullptr;
  std::vector<Segment> segments_;   // of one plane
  Tile inner_, border_, first_;     // for any plane
  std::vector<Tile> last_, whole_;  // likewise, by what hangs over
  Tile single_;                     // where rows are not unrolled
  std::vector<Pixel> pixels_;       // of the border that is being emitted
  Value* x_zero_ = nullptr;         // in the tile that is being emitted
  KernelFrame frame_{};
  PlaneValues p_{};  // in the function that is being emitted
};

}  // namespace

void emit_reduce_window(X86Emitter& e, const ReduceWindowPlan& plan, const std::string& symbol, int shrink) {
  ReduceWindowEmitter(e, plan, shrink).run(symbol);
}

}  // namespace hone

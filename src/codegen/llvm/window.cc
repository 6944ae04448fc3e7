// Window kernels: depthwise convolutions, pools, reductions over an axis with channels behind it.
//
// Channels lie in the lanes. A tile is a few neighbouring columns of places times a few vectors of channels; its sums
// stay in registers while a loop goes down the rows of the window that lie in the plane. The taps along a row are
// unrolled: an element is loaded once and meets every place that it lies under. Where the window reaches past the left
// or right border, the tile is one of its own, from which the taps outside are left out. Windows wider than that are a
// loop over the taps, whose sums run in several chains that are joined in a fixed order.
//
// The last vector of channels starts where it ends with the last channel, so that nothing is masked; only fewer
// channels than lanes are. Channels that two vectors share get the same bits from both.
#include <algorithm>

#include "base/multiples.h"
#include "codegen/element_cost.h"
#include "codegen/elements.h"
#include "codegen/kernels/window/plan.h"
#include "codegen/kernels/window/prepack.h"
#include "codegen/kernels/window/shape.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/emit_def.h"
#include "codegen/llvm/expr_emit.h"
#include "codegen/llvm/panel.h"
#include "codegen/llvm/reduction.h"

namespace hone {
namespace {

using llvm::Value;

class WindowEmitter {
 public:
  WindowEmitter(Emitter& e, const WindowPlan& plan, int shrink)
      : e_(e),
        plan_(plan),
        plane_(plan.plane),
        tile_(window_tile(plan, e.target, shrink)),
        scalar_(compute_scalar(plan.x)),
        pixel_bytes_(plan.channels * size_bytes(plan.x)),
        mask_(plan.channels < e.lanes ? e.tail_mask(e.num(plan.channels)) : nullptr) {
    if (!reads_argument(plan.program, 1)) return;
    down_ = table_of(plan.taps_down);
    across_ = table_of(plan.taps_across);
  }

  void run(const std::string& symbol) {
    std::vector<Segment> segments = cut();
    for (size_t i = 0; i < segments.size(); ++i)
      segments[i].function = tile_function(fmt::format("{}_tile{}", symbol, i), segments[i]);
    llvm::Function* unpack = nullptr;
    if (!plan_.w_format.empty())
      unpack = emit_unpack(e_, symbol + "_unpack", weight_shape(plan_, e_.target), parse_format(plan_.w_format),
                           weight_bytes());
    frame_ = e_.begin_kernel(symbol);
    Value *x = e_.kernel_pointer(frame_, 0), *w = e_.kernel_pointer(frame_, 1);
    if (unpack) w = decoded_weights(unpack, w);
    const int64_t blocks = channel_blocks(plan_, e_.target);
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      Value* row = e_.b.CreateUDiv(item, e_.num(blocks));
      row_of_places(segments, x, w, row, e_.b.CreateURem(item, e_.num(blocks)));
      return Values{};
    });
    e_.end_function();
  }

 private:
  // Panel after panel beside the one before it in scratch.
  Value* decoded_weights(llvm::Function* unpack, Value* w) {
    const GemmShape shape = weight_shape(plan_, e_.target);
    const Emitter::Moving moving[] = {{w, shape.panel_bytes()}, {frame_.scratch, shape.row_bytes()}};
    e_.walk(e_.num(shape.panels()), moving, {}, [&](const Values& p, const Values&) {
      e_.b.CreateCall(unpack, {p[0], e_.num(0), p[1]});
      return Values{};
    });
    return frame_.scratch;
  }

  // Tiles of `columns` places, the first at column `first`; the taps of all lie inside the plane, or there is one tile.
  struct Segment {
    int64_t first, columns, tiles;
    bool inside;
    llvm::Function* function = nullptr;
  };

  std::vector<Segment> cut() const {
    std::vector<Segment> segments;
    if (!is_unrolled(plan_)) return {{0, 1, plane_.out_width, true}};
    for (int64_t x = 0; x < plane_.out_width; x += tile_.columns) {
      const int64_t columns = std::min(tile_.columns, plane_.out_width - x);
      const bool inside = in_plane(x, 0) && in_plane(x + columns - 1, plane_.kernel_width - 1);
      if (inside && !segments.empty() && segments.back().inside && segments.back().columns == columns)
        ++segments.back().tiles;
      else segments.push_back({x, columns, 1, inside});
    }
    return segments;
  }

  bool in_plane(int64_t column, int64_t tap) const {
    const int64_t x = column * plane_.stride_x - plane_.pad_left + tap * plane_.dilation_x;
    return x >= 0 && x < plane_.width;
  }

  llvm::GlobalVariable* table_of(const std::vector<int64_t>& counts) {
    const std::vector<float> floats(counts.begin(), counts.end());
    return e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(floats)));
  }

  // Taps [first, first + count) of those at start, start + dilation, … lie in [0, extent). `count` may be negative.
  struct Taps {
    Value *first, *count;
  };
  Taps taps_inside(Value* start, int64_t taps, int64_t dilation, int64_t extent) {
    auto steps = [&](Value* distance) {  // to go at least that far
      Value* positive = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, e_.num(0));
      return e_.b.CreateUDiv(e_.b.CreateAdd(positive, e_.num(dilation - 1)), e_.num(dilation));
    };
    Value* first = steps(e_.b.CreateNeg(start));
    Value* last =
        e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, steps(e_.b.CreateSub(e_.num(extent), start)), e_.num(taps));
    return {first, e_.b.CreateSub(last, first)};
  }

  // The channels of a block at every place of one row of places; `row` counts through all images.
  void row_of_places(const std::vector<Segment>& segments, Value* x, Value* w, Value* row, Value* block) {
    Value* y = e_.b.CreateURem(row, e_.num(plane_.out_height));
    Value* image = e_.b.CreateUDiv(row, e_.num(plane_.out_height));
    Value* top = e_.b.CreateSub(e_.times(y, plane_.stride_y), e_.num(plane_.pad_top));
    const Taps down = taps_inside(top, plane_.kernel_height, plane_.dilation_y, plane_.height);
    top = e_.b.CreateAdd(top, e_.times(down.first, plane_.dilation_y));
    x = e_.at(x, e_.times(e_.b.CreateAdd(e_.times(image, plane_.height), top), plane_.width * pixel_bytes_));
    w = e_.at(w, e_.times(down.first, plane_.kernel_width * weight_bytes()));
    Value* counted = down_ ? e_.load(e_.f32, e_.b.CreateGEP(e_.f32, down_, y)) : llvm::ConstantFP::get(e_.f32, 0);
    Value* first_place = e_.times(row, plane_.out_width);
    const int64_t vectors = channel_vectors(plan_, e_.target), in_block = block_vectors(plan_, e_.target);
    Value *begin = e_.times(block, in_block),
          *end = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e_.b.CreateAdd(begin, e_.num(in_block)),
                                            e_.num(vectors));
    for (const Segment& segment : segments)
      e_.loop(e_.num(0), e_.num(segment.tiles), 1, {}, [&](Value* tile, const Values&) {
        Value* column = e_.b.CreateAdd(e_.times(tile, segment.columns), e_.num(segment.first));
        Value* left = e_.b.CreateSub(e_.times(column, plane_.stride_x), e_.num(plane_.pad_left));
        Taps across{e_.num(0), e_.num(0)};
        if (!is_unrolled(plan_)) across = taps_inside(left, plane_.kernel_width, plane_.dilation_x, plane_.width);
        left = e_.b.CreateAdd(left, e_.times(across.first, plane_.dilation_x));
        Value *from = e_.at(x, e_.times(left, pixel_bytes_)),
              *weights = e_.at(w, e_.times(across.first, weight_bytes()));
        e_.loop(
            begin, end, tile_.vectors, {},
            [&](Value* v, const Values&) {
              Value* c = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e_.times(v, e_.lanes), e_.num(last_tile()));
              e_.b.CreateCall(segment.function, {frame_.args, e_.at(from, e_.times(c, size_bytes(plan_.x))),
                                                 e_.at(weights, e_.times(c, 4)), down.count, across.count,
                                                 e_.b.CreateAdd(first_place, column), c, column, counted});
              return Values{};
            },
            true);
        return Values{};
      });
  }

  int64_t weight_bytes() const { return weight_row_bytes(plan_, e_.target); }  // of one tap
  int64_t last_tile() const { return std::max<int64_t>(0, plan_.channels - tile_.vectors * e_.lanes); }
  // Where vector v of a tile starts, behind the tile's first channel.
  int64_t channel(int64_t v) const { return std::min(v * e_.lanes, std::max<int64_t>(0, plan_.channels - e_.lanes)); }

  // void(args, x, w, rows, taps, place, channel, column, counted): one tile. `x` and `w` are at its first tap and
  // channel; `rows` of the window lie in the plane, and `taps` of each row where they are not unrolled.
  llvm::Function* tile_function(const std::string& symbol, const Segment& segment) {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.ptr, e_.i64, e_.i64, e_.i64, e_.i64, e_.i64, e_.f32};
    llvm::Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    Values sums(static_cast<size_t>(segment.columns * tile_.vectors * tile_.chains),
                reduction_identity(e_, kind(), scalar_));
    const Emitter::Moving moving[] = {{f->getArg(1), plane_.dilation_y * plane_.width * pixel_bytes_},
                                      {f->getArg(2), plane_.kernel_width * weight_bytes()}};
    sums = e_.walk(f->getArg(3), moving, sums, [&](const Values& at, Values carried) {
      return is_unrolled(plan_) ? unrolled_row(segment, at[0], at[1], std::move(carried))
                                : row_in_chains(f->getArg(4), at[0], at[1], std::move(carried));
    });
    const auto wide = static_cast<size_t>(tile_.vectors);
    for (size_t chain = 1; chain < static_cast<size_t>(tile_.chains); ++chain)
      for (size_t v = 0; v < wide; ++v) sums[v] = emit_reduction(e_, kind(), scalar_, sums[v], sums[chain * wide + v]);
    for (int64_t v = 0; v < tile_.vectors; ++v) store_vector(f, segment, v, sums);
    e_.end_function();
    return f;
  }

  Reduction::Kind kind() const {
    switch (plan_.reduction) {
      case WindowPlan::Reduction::max:
        return Reduction::Kind::max;
      case WindowPlan::Reduction::min:
        return Reduction::Kind::min;
      default:
        return Reduction::Kind::sum;
    }
  }

  Value* element(Value* x, int64_t pixels, int64_t v) {
    return e_.load_elements(plan_.x, e_.at(x, pixels * pixel_bytes_ + channel(v) * size_bytes(plan_.x)), mask_);
  }
  Value* weight(Value* w, int64_t tap, int64_t v) {
    if (plan_.reduction != WindowPlan::Reduction::products) return nullptr;
    return e_.load(e_.v_f32, e_.at(w, tap * weight_bytes() + channel(v) * 4), 4);
  }
  Value* add(Value* sum, Value* element, Value* weight) {
    return weight ? e_.fma(element, weight, sum) : emit_reduction(e_, kind(), scalar_, sum, element);
  }

  Values unrolled_row(const Segment& segment, Value* x, Value* w, Values sums) {
    const int64_t taps = plane_.kernel_width;
    const int64_t reach = (segment.columns - 1) * plane_.stride_x + (taps - 1) * plane_.dilation_x;
    for (int64_t v = 0; v < tile_.vectors; ++v) {
      Values weights;
      for (int64_t tap = 0; tap < taps; ++tap) weights.push_back(weight(w, tap, v));
      for (int64_t pixel = 0; pixel <= reach; ++pixel) {
        Value* loaded = nullptr;
        for (int64_t column = 0; column < segment.columns; ++column)
          for (int64_t tap = 0; tap < taps; ++tap) {
            if (column * plane_.stride_x + tap * plane_.dilation_x != pixel) continue;
            if (!segment.inside && !in_plane(segment.first + column, tap)) continue;
            if (!loaded) loaded = element(x, pixel, v);
            Value*& sum = sums[static_cast<size_t>(v * segment.columns + column)];
            sum = add(sum, loaded, weights[static_cast<size_t>(tap)]);
          }
      }
    }
    return sums;
  }

  Values row_in_chains(Value* taps, Value* x, Value* w, Values sums) {
    auto step = [&](const Values& at, Values into, int64_t chains) {
      for (int64_t chain = 0; chain < chains; ++chain)
        for (int64_t v = 0; v < tile_.vectors; ++v) {
          Value*& sum = into[static_cast<size_t>(chain * tile_.vectors + v)];
          sum = add(sum, element(at[0], chain * plane_.dilation_x, v), weight(at[1], chain, v));
        }
      return into;
    };
    const int64_t x_step = plane_.dilation_x * pixel_bytes_;
    Value* rounds =
        e_.b.CreateUDiv(e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, taps, e_.num(0)), e_.num(tile_.chains));
    const Emitter::Moving whole[] = {{x, tile_.chains * x_step}, {w, tile_.chains * weight_bytes()}};
    sums = e_.walk(rounds, whole, sums, [&](const Values& at, const Values& s) { return step(at, s, tile_.chains); });
    Value* done = e_.times(rounds, tile_.chains);
    const Emitter::Moving rest[] = {{e_.at(x, e_.times(done, x_step)), x_step},
                                    {e_.at(w, e_.times(done, weight_bytes())), weight_bytes()}};
    return e_.walk(e_.b.CreateSub(taps, done), rest, sums,
                   [&](const Values& at, const Values& s) { return step(at, s, 1); });
  }

  // The v-th vector of channels at every column of the tile.
  void store_vector(llvm::Function* f, const Segment& segment, int64_t v, const Values& sums) {
    const KernelFrame frame{f, f->getArg(0), nullptr, nullptr, nullptr};
    Value* c = e_.b.CreateAdd(f->getArg(6), e_.num(channel(v)));
    const auto operands = static_cast<int>(plan_.operands.size());
    Values fixed(static_cast<size_t>(operands) + 2, nullptr);  // operands that are the same in every column
    for (int i = 0; i < operands; ++i) {
      const Epilogue::Operand& o = plan_.operands[static_cast<size_t>(i)];
      Value* base = e_.kernel_pointer(frame, 2 + i);
      Value*& known = fixed[static_cast<size_t>(i) + 2];
      if (o.access == Epilogue::Access::column)
        known = e_.load_elements(o.dtype, e_.at(base, e_.times(c, size_bytes(o.dtype))), mask_);
      if (o.access == Epilogue::Access::scalar) known = e_.load_broadcast(o.dtype, base);
    }
    const Values invariants = emit_invariants(e_, plan_.program, fixed);
    for (int64_t column = 0; column < segment.columns; ++column) {
      Value* place = e_.b.CreateAdd(f->getArg(5), e_.num(column));
      Value* at = e_.b.CreateAdd(e_.times(place, plan_.channels), c);  // of the result
      Values args = fixed;
      args[0] = sums[static_cast<size_t>(v * segment.columns + column)];
      if (down_) args[1] = counted_taps(f, column);
      for (int i = 0; i < operands; ++i) {
        const Epilogue::Operand& o = plan_.operands[static_cast<size_t>(i)];
        Value*& arg = args[static_cast<size_t>(i) + 2];
        if (arg) continue;
        const bool full = o.access == Epilogue::Access::full;
        Value* from = e_.at(e_.kernel_pointer(frame, 2 + i), e_.times(full ? at : place, size_bytes(o.dtype)));
        arg = full ? e_.load_elements(o.dtype, from, mask_) : e_.load_broadcast(o.dtype, from);
      }
      args.resize(plan_.program.args.size());
      const Values results = emit_program(e_, plan_.program, args, at, invariants);
      for (size_t j = 0; j < results.size(); ++j) {
        Value* base = e_.kernel_pointer(frame, 2 + operands + static_cast<int>(j));
        e_.store_elements(results[j], plan_.results[j], e_.at(base, e_.times(at, size_bytes(plan_.results[j]))), mask_);
      }
    }
  }

  Value* counted_taps(llvm::Function* f, int64_t column) {
    Value* across = e_.b.CreateGEP(e_.f32, across_, e_.b.CreateAdd(f->getArg(7), e_.num(column)));
    return e_.splat(e_.b.CreateFMul(f->getArg(8), e_.load(e_.f32, across)));
  }

  Emitter& e_;
  const WindowPlan& plan_;
  const PlaneWindow& plane_;
  const WindowTile tile_;
  const Scalar scalar_;
  const int64_t pixel_bytes_;
  Value* const mask_;
  llvm::GlobalVariable *down_ = nullptr, *across_ = nullptr;
  KernelFrame frame_{};
};

void emit(Emitter& e, const WindowPlan& plan, const std::string& symbol, int shrink) {
  WindowEmitter(e, plan, shrink).run(symbol);
}

}  // namespace

extern constinit const EmitterDef window_emitter_def = emitter_def<WindowPlan, emit>();

}  // namespace hone

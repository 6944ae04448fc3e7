// Products with scales of blocks: for each item, a panel of W and a block of rows of A; strips of rows go through the
// tile and the epilogue.
#include <llvm/IR/IntrinsicsX86.h>

#include "base/multiples.h"
#include "device/llvm/epilogue.h"
#include "device/x86/amx/block_tiles.h"
#include "device/x86/amx/pending_strip.h"
#include "device/x86/amx/tile_product.h"
#include "device/x86/amx/tile_registers.h"
#include "device/x86/amx/tile_rules.h"
#include "device/x86/block_gemm/shape.h"
#include "device/x86/copy.h"
#include "device/x86/emitter.h"
#include "device/x86/left_rows.h"
#include "device/x86/strips.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

// Rows of A as the tile reads them.
class RowLayout {
 public:
  RowLayout(X86Emitter& e, const BlockGemmShape& shape) : e_(e), s_(shape) {}

  // void(a, a_row_bytes, scales, rows, scratch)
  Function* emit(const std::string& symbol) {
    Function* codes =
        emit_code_rows(e_, symbol + "_codes",
                       {DType::i8, s_.dot ? CodeForm::bytes : CodeForm::words, s_.blocks.k, s_.starts_offset()});
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.ptr, e_.i64, e_.ptr};
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    Value* row_bytes = f->getArg(1);
    const X86Emitter::Moving moving[] = {
        {f->getArg(0), row_bytes}, {f->getArg(2), s_.blocks.count()}, {f->getArg(4), s_.a_row_bytes()}};
    e_.walk(f->getArg(3), moving, {}, [&](const Values& at, const Values&) {
      Value* const arguments[] = {at[0], row_bytes, e_.num(1), e_.num(s_.blocks.k), at[2]};
      e_.b.CreateCall(codes, arguments);
      if (s_.offset) starts(at[0], e_.at(at[2], s_.starts_offset()));
      if (s_.x_scales) steps(at[1], e_.at(at[2], s_.steps_offset()));
      return Values{};
    });
    e_.end_function();
    return f;
  }

 private:
  void starts(Value* a, Value* out) {
    const KBlocks& blocks = s_.blocks;
    const int64_t whole = blocks.k / blocks.length, rest = blocks.k % blocks.length;
    const X86Emitter::Moving moving[] = {{a, blocks.length}, {out, 4}};
    e_.walk(e_.num(whole), moving, {}, [&](const Values& at, const Values&) {
      e_.store(start(at[0], blocks.length), at[1], 4);
      return Values{};
    });
    if (rest) e_.store(start(e_.at(a, whole * blocks.length), rest), e_.at(out, whole * 4), 4);
  }

  // -offset times the sum of so many codes: codes 128 too large have no sign, and their sums are one instruction.
  Value* start(Value* a, int64_t k) {
    llvm::Type* const words = e_.vec(e_.i64, 4);
    Value* wide =
        e_.walk(e_.num(k / 32), std::array{X86Emitter::Moving{a, 32}}, {llvm::Constant::getNullValue(words)},
                [&](const Values& at, const Values& sums) {
                  return Values{e_.b.CreateAdd(sums[0], sum_of_bytes(llvm::Intrinsic::x86_avx2_psad_bw, at[0], 32))};
                })[0];
    const auto add = [&](Value* x, Value* y) { return e_.b.CreateAdd(x, y); };
    Value* sum = e_.reduce(wide, add);
    int64_t done = k / 32 * 32;
    if (k - done >= 16)
      sum = add(sum, e_.reduce(sum_of_bytes(llvm::Intrinsic::x86_sse2_psad_bw, e_.at(a, done), 16), add)), done += 16;
    for (; done < k; ++done)
      sum = add(sum, e_.b.CreateZExt(e_.b.CreateXor(e_.load(e_.i8, e_.at(a, done)), e_.b.getInt8(0x80)), e_.i64));
    return e_.b.CreateTrunc(e_.times(e_.b.CreateSub(e_.num(128 * k), sum), s_.offset), e_.i32);
  }
  Value* sum_of_bytes(llvm::Intrinsic::ID sum, Value* a, int count) {
    llvm::Type* const bytes = e_.vec(e_.i8, count);
    Value* x = e_.b.CreateXor(e_.load(bytes, a), llvm::ConstantInt::get(bytes, 0x80));
    return e_.b.CreateIntrinsic(sum, {}, {x, llvm::Constant::getNullValue(bytes)});
  }

  void steps(Value* scales, Value* out) {
    const int64_t count = s_.blocks.count();
    e_.loop(e_.num(0), e_.num(count), e_.lanes, {}, [&](Value* i, const Values&) {
      Value* mask = count % e_.lanes == 0 ? nullptr : e_.tail_mask(e_.b.CreateSub(e_.num(count), i));
      Value* codes = e_.load_elements(DType::u8, e_.at(scales, i), mask);
      e_.store_elements(block_steps(e_, codes, s_.unit), DType::f32, e_.at(out, e_.times(i, 4)), mask);
      return Values{};
    });
  }

  X86Emitter& e_;
  const BlockGemmShape& s_;
};

// The sums of `rows` rows of A, laid out, by one panel.
class BlockTile {
 public:
  BlockTile(X86Emitter& e, const BlockGemmShape& shape, int rows)
      : e_(e), s_(shape), rows_(rows), sums_(static_cast<size_t>(rows * shape.vectors)) {}

  // void(a, w, sums)
  Function* emit(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.ptr};
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    const KBlocks& blocks = s_.blocks;
    const int64_t whole = blocks.k / blocks.length, rest = blocks.k % blocks.length, per = blocks.per_weight_scale,
                  full = whole / per, left = whole % per;
    const Place start{f->getArg(0), e_.at(f->getArg(0), s_.starts_offset()), f->getArg(1)};
    Value* scales = e_.at(f->getArg(1), s_.scales_offset());
    Values sums(sums_, llvm::Constant::getNullValue(e_.v_f32));
    const X86Emitter::Moving moving[] = {{start.a, per * code_step()},
                                         {start.beside, per * 4},
                                         {start.w, per * weight_step()},
                                         {scales, s_.scale_row_bytes()}};
    sums = e_.walk(e_.num(full), moving, sums, [&](const Values& at, const Values& now) {
      return blocks_of_scale({at[0], at[1], at[2]}, at[3], per, 0, now);
    });
    if (left || rest)
      sums = blocks_of_scale(after(start, full * per), e_.at(scales, full * s_.scale_row_bytes()), left, rest, sums);
    for (size_t i = 0; i < sums_; ++i)
      e_.store(sums[i], e_.at(f->getArg(2), static_cast<int64_t>(i) * e_.lanes * 4), 4);
    e_.end_function();
    return f;
  }

 private:
  struct Place {
    Value *a, *beside, *w;  // codes of the first row, what its sum begins with, codes of W
  };
  Place after(const Place& place, int64_t blocks) {
    return {e_.at(place.a, blocks * code_step()), e_.at(place.beside, blocks * 4),
            e_.at(place.w, blocks * weight_step())};
  }
  int64_t code_step() const { return s_.blocks.length * s_.code_bytes(); }
  int64_t weight_step() const { return s_.code_rows(s_.blocks.length) * s_.row_bytes(); }
  Value* of_row(Value* pointer, int r, int64_t offset) { return e_.at(pointer, r * s_.a_row_bytes() + offset); }
  size_t index(int r, int v) const { return static_cast<size_t>(r * s_.vectors + v); }

  // Few rows meet codes of 4 bits faster than these come by themselves: 1.05 to 1.25 times as fast at one row, with
  // two streams from memory. Codes of 8 bits are read no faster so.
  static constexpr int64_t kAhead = 4096;
  void fetch_ahead(Value* from, int64_t bytes, int64_t distance) {
    if (!s_.halves || rows_ > 2) return;
    for (int64_t line = 0; line < bytes; line += 64) e_.prefetch(e_.at(from, distance + line));
  }

  // `count` whole blocks that share scales of W, and one of `rest` elements.
  Values blocks_of_scale(const Place& start, Value* scales, int64_t count, int64_t rest, Values sums) {
    Values w_steps;
    fetch_ahead(scales, s_.scale_row_bytes(),
                kAhead * s_.scale_row_bytes() / (s_.blocks.per_weight_scale * weight_step()));
    for (int v = 0; v < s_.vectors; ++v)
      w_steps.push_back(weight_steps(e_.at(scales, int64_t{v} * e_.lanes * size_bytes(s_.scale))));
    const X86Emitter::Moving moving[] = {{start.a, code_step()}, {start.beside, 4}, {start.w, weight_step()}};
    sums = e_.walk(e_.num(count), moving, sums, [&](const Values& at, const Values& now) {
      return block({at[0], at[1], at[2]}, s_.blocks.length, w_steps, now);
    });
    return rest ? block(after(start, count), rest, w_steps, sums) : sums;
  }

  Value* weight_steps(Value* scales) {
    Value* steps = s_.scale == DType::f8e8m0 ? block_powers(e_, e_.load_elements(DType::u8, scales))
                                             : e_.load_elements(s_.scale, scales);
    return s_.x_scales || s_.unit == 1 ? steps : e_.b.CreateFMul(steps, e_.c_f32(s_.unit));
  }

  Values block(const Place& at, int64_t k, const Values& w_steps, Values sums) {
    Values products;
    for (int r = 0; r < rows_; ++r) {
      Value* start = s_.offset ? e_.splat(e_.load(e_.i32, of_row(at.beside, r, 0), 4)) : e_.c_i32(0);
      products.insert(products.end(), static_cast<size_t>(s_.vectors), start);
    }
    products = quads(at.a, at.w, ceil_div(k, int64_t{4}), products);
    for (int r = 0; r < rows_; ++r) {
      Value* x_step = nullptr;
      if (s_.x_scales)
        x_step = e_.splat(e_.load(e_.f32, of_row(at.beside, r, s_.steps_offset() - s_.starts_offset()), 4));
      for (int v = 0; v < s_.vectors; ++v) {
        Value* step = w_steps[static_cast<size_t>(v)];
        if (x_step) step = e_.b.CreateFMul(x_step, step);
        sums[index(r, v)] = e_.fma(e_.b.CreateSIToFP(products[index(r, v)], e_.v_f32), step, sums[index(r, v)]);
      }
    }
    return sums;
  }

  // Blocks of MX formats are one body; longer ones loop over 32 k.
  Values quads(Value* a, Value* w, int64_t count, Values products) {
    constexpr int64_t kUnrolled = 8;
    const int64_t per_row = s_.halves ? 2 : 1, row_step = kUnrolled / per_row * s_.row_bytes(),
                  a_step = kUnrolled * 4 * s_.code_bytes(), trips = count / kUnrolled, rest = count % kUnrolled;
    const X86Emitter::Moving moving[] = {{a, a_step}, {w, row_step}};
    products = e_.walk(e_.num(trips), moving, products,
                       [&](const Values& at, Values now) { return some_quads(at[0], at[1], kUnrolled, now); });
    return rest ? some_quads(e_.at(a, trips * a_step), e_.at(w, trips * row_step), rest, products) : products;
  }

  Values some_quads(Value* a, Value* w, int64_t count, Values products) {
    for (int64_t q = 0; q < count; ++q) {
      const bool is_high = s_.halves && q % 2 == 1;
      if (!is_high) {
        rows_of_w_.clear();
        fetch_ahead(e_.at(w, q / (s_.halves ? 2 : 1) * s_.row_bytes()), s_.row_bytes(), kAhead);
        for (int v = 0; v < s_.vectors; ++v)
          rows_of_w_.push_back(e_.load(
              e_.v_i32, e_.at(w, q / (s_.halves ? 2 : 1) * s_.row_bytes() + int64_t{v} * e_.lanes * 4), e_.lanes * 4));
      }
      if (s_.dot) add_bytes(e_.at(a, q * 4), is_high, products);
      else add_words(e_.at(a, q * 8), is_high, products);
    }
    return products;
  }

  // A shift by bits that a mask then keeps.
  Value* field(Value* w, int shift, uint32_t mask) {
    if (shift) w = e_.b.CreateLShr(w, e_.c_i32(static_cast<uint32_t>(shift)));
    return e_.b.CreateAnd(w, e_.c_i32(mask));
  }

  void add_bytes(Value* a, bool is_high, Values& products) {
    Values weights = rows_of_w_;
    for (Value*& w : weights)
      if (s_.halves) w = field(w, is_high ? 4 : 0, 0x0f0f0f0f);
    for (int r = 0; r < rows_; ++r) {
      Value* x = e_.splat(e_.load(e_.i32, of_row(a, r, 0), 4));
      for (int v = 0; v < s_.vectors; ++v) {
        Value*& sum = products[index(r, v)];
        sum = e_.dot_bytes(sum, weights[static_cast<size_t>(v)], x);
      }
    }
  }

  // Even codes of the four, then odd ones.
  void add_words(Value* a, bool is_high, Values& products) {
    for (int odd = 0; odd < 2; ++odd) {
      Values weights = rows_of_w_;
      for (Value*& w : weights)
        w = s_.halves ? field(w, (is_high ? 4 : 0) + 8 * odd, 0x000f000f)
            : odd     ? e_.as(e_.split_bytes(w, false).second, e_.v_i32)
                      : field(w, 0, 0x00ff00ff);
      for (int r = 0; r < rows_; ++r) {
        Value* x = e_.splat(e_.load(e_.i32, of_row(a, r, 4 * odd), 4));
        for (int v = 0; v < s_.vectors; ++v) {
          Value*& sum = products[index(r, v)];
          sum = e_.dot_words(sum, x, weights[static_cast<size_t>(v)]);
        }
      }
    }
  }

  X86Emitter& e_;
  const BlockGemmShape& s_;
  const int rows_;
  const size_t sums_;
  Values rows_of_w_;
};

using A = X86BlockGemmArgs;
static_assert(shares_epilogue<&A::m, &A::epilogue>());

class BlockGemmKernel {
 public:
  BlockGemmKernel(X86Emitter& e, const X86BlockGemmPlan& plan, const std::string& symbol, int shrink)
      : e_(e), plan_(plan), s_(block_gemm_shape(plan, e.target, shrink)), tile_shape_(s_.tile_shape()) {
    const bool any = shrink > 0 || plan.tallest == 0;
    for (int rows = any ? 1 : plan.shortest; rows <= (any ? s_.rows : plan.tallest); ++rows)
      tiles_[rows] = BlockTile(e, s_, rows).emit(fmt::format("{}_tile{}", symbol, rows));
    lay_out_ = RowLayout(e, s_).emit(symbol + "_rows");
    GemmPlan like_gemm;
    static_cast<Epilogue&>(like_gemm) = plan;
    like_gemm.n = plan.n;
    epilogue_ = emit_epilogue(e, symbol + "_epilogue", like_gemm, SumTile{.vectors = s_.vectors});
    if (s_.tiles) {
      lay_out_tiles_ = emit_block_tile_rows(e, symbol + "_tile_rows", s_);
      decode_ = emit_block_tile_panel(e, symbol + "_panel", s_);
      pending_.next_rows = emit_next_rows(e, symbol + "_next_rows", epilogue_, s_.row_bytes());
      pending_.flush = emit_flush(e, symbol + "_flush", pending_.next_rows, s_.row_bytes());
      products_[2 * kTileRows] = emit_tile_product(e, symbol + "_tiles", tile_shape_, nullptr, &pending_);
    }
    frame_ = e.begin_kernel(symbol);
    allow_spills(frame_.function);
    generate_quickly(frame_.function);
  }

  void body() {
    sums_ = e_.stack(e_.v_f32, int64_t{s_.rows} * s_.vectors);
    if (s_.tiles) in_tiles_ = e_.stack(e_.i64, 1), tile_state_ = tile_state(e_);
    Value *m = e_.size<&A::m>(frame_), *panels = e_.num(s_.panels());
    block_rows_ = e_.size<&A::block_rows>(frame_);
    const Values start{e_.b.CreateURem(frame_.begin, panels), e_.b.CreateUDiv(frame_.begin, panels), e_.b.getTrue()};
    e_.loop(frame_.begin, frame_.end, 1, start, [&](Value*, const Values& at) {
      Value *panel = at[0], *first = e_.b.CreateMul(at[1], block_rows_);
      Value* rows = e_.smaller(block_rows_, e_.b.CreateSub(m, first));
      e_.when(at[2], [&] { begin_rows(first, rows); });
      Value* w = e_.at(e_.pointer<&A::w>(frame_), e_.times(panel, s_.panel_bytes()));
      Value* column = e_.times(panel, s_.panel_columns());
      if (s_.tiles) either(w, column, first, rows);
      else by_vectors(w, column, first, rows);
      Value* next = e_.b.CreateAdd(panel, e_.num(1));
      Value* wraps = e_.b.CreateICmpEQ(next, panels);
      return Values{e_.b.CreateSelect(wraps, e_.num(0), next), e_.b.CreateAdd(at[1], e_.b.CreateZExt(wraps, e_.i64)),
                    wraps};
    });
    if (s_.tiles) TileRegisters(e_).release();
    e_.end_function();
  }

 private:
  // Rows for tiles, where they are many and can be such, or else for vectors.
  void begin_rows(Value* first, Value* rows) {
    if (!s_.tiles) return lay_out(first, rows);
    e_.store(e_.num(0), in_tiles_, 8);
    e_.when(e_.b.CreateICmpSGE(rows, e_.num(kLeastTileRows)), [&] {
      Value* plain = e_.b.CreateCall(lay_out_tiles_, arguments(first, rows, scratch(s_.a_row_bytes())));
      e_.store(e_.b.CreateZExt(plain, e_.i64), in_tiles_, 8);
    });
    e_.when(e_.b.CreateNot(are_in_tiles()), [&] { lay_out(first, rows); });
  }
  Value* are_in_tiles() { return e_.b.CreateICmpNE(e_.load(e_.i64, in_tiles_, 8), e_.num(0)); }
  // Behind so many bytes for each row of an item, and some more.
  Value* scratch(int64_t of_one_row, int64_t fixed = 0) {
    return e_.at(frame_.scratch, e_.b.CreateAdd(e_.times(block_rows_, of_one_row), e_.num(fixed)));
  }

  void lay_out(Value* first, Value* rows) { e_.b.CreateCall(lay_out_, arguments(first, rows, frame_.scratch)); }
  // Rows of packed codes are padded to whole groups.
  Values arguments(Value* first, Value* rows, Value* out) {
    const int64_t row_bytes = s_.x_scales ? round_up(plan_.k, parse_format(plan_.x_format).geometry.columns) : plan_.k;
    Value* scales = llvm::ConstantPointerNull::get(e_.b.getPtrTy());
    if (s_.x_scales) {
      const auto position = static_cast<int>(plan_.operands.size() + plan_.results.size());
      scales = e_.at(e_.pointer<&A::epilogue>(frame_, position), e_.times(first, s_.blocks.count()));
    }
    return {e_.at(e_.pointer<&A::a>(frame_), e_.times(first, row_bytes)), e_.num(row_bytes), scales, rows, out};
  }

  void either(Value* w, Value* column, Value* first, Value* rows) {
    Value *laid_out = are_in_tiles(),
          *plain = e_.b.CreateICmpNE(e_.load(e_.i32, e_.at(w, s_.word_offset()), 4), e_.b.getInt32(0));
    Value* tiles = e_.b.CreateAnd(laid_out, plain);
    e_.when(tiles, [&] { by_tiles(w, column, first, rows); });
    e_.when(e_.b.CreateNot(tiles), [&] {
      e_.when(laid_out, [&] { lay_out(first, rows); });
      by_vectors(w, column, first, rows);
    });
  }

  void by_vectors(Value* w, Value* column, Value* first, Value* rows) {
    for_each_strip(e_, cut_into_strips(e_, rows, s_.rows, tiles_), [&](Value* tile, Value* height, Value* offset) {
      Value* const operands[] = {e_.at(frame_.scratch, e_.times(offset, s_.a_row_bytes())), w, sums_};
      e_.b.CreateCall(tiles_.begin()->second->getFunctionType(), tile, operands);
      finish(e_.b.CreateAdd(first, offset), column, height);
    });
  }

  // Some blocks of the panel after the other meet all rows.
  void by_tiles(Value* w, Value* column, Value* first, Value* rows) {
    const int64_t row = s_.tile_row_bytes(), of_rows = s_.a_row_bytes() + row, panel = tile_shape_.unpacked_bytes();
    Value *a = scratch(s_.a_row_bytes()), *decoded = scratch(of_rows), *sums = scratch(of_rows, panel);
    emit_zero(e_, sums, e_.times(rows, s_.row_bytes()));
    const TileStrips strips = cut_into_strips(e_, rows, 2 * kTileRows, products_);
    Value* half = tile_half(e_, tallest(e_, strips));
    e_.loop(e_.num(0), e_.num(s_.tile_k()), tile_shape_.block_k(), {}, [&](Value* k, const Values&) {
      Value* count = e_.smaller(e_.num(tile_shape_.block_k()), e_.b.CreateSub(e_.num(s_.tile_k()), k));
      Value* const blocks[] = {w, e_.b.CreateUDiv(k, e_.num(kTileK)), e_.b.CreateUDiv(count, e_.num(kTileK)), decoded};
      e_.b.CreateCall(decode_, blocks);
      for_each_strip(e_, strips, [&](Value* product, Value* height, Value* offset) {
        Value* const operands[] = {tile_state_,
                                   e_.at(a, e_.b.CreateAdd(e_.times(offset, row), e_.times(k, 2))),
                                   decoded,
                                   llvm::ConstantPointerNull::get(e_.b.getPtrTy()),
                                   e_.at(sums, e_.times(offset, s_.row_bytes())),
                                   e_.num(row),
                                   count,
                                   height,
                                   half,
                                   offset};
        e_.b.CreateCall(products_.begin()->second->getFunctionType(), product, operands);
        Value* is_last = e_.b.CreateICmpSGE(e_.b.CreateAdd(k, count), e_.num(s_.tile_k()));
        e_.when(is_last, [&] {
          Value* row_of_result = e_.b.CreateAdd(first, offset);
          finish_later(e_, tile_state_, {frame_.args, row_of_result, column, height, e_.num(0), e_.num(0)});
        });
      });
      return Values{};
    });
    e_.b.CreateCall(pending_.flush, {tile_state_});  // the next item's sums are in the same scratch
  }

  void finish(Value* row, Value* column, Value* rows) {
    Value* const operands[] = {frame_.args, sums_, row, column, rows, e_.num(0), e_.num(0)};
    e_.b.CreateCall(epilogue_, operands);
  }

  X86Emitter& e_;
  const X86BlockGemmPlan& plan_;
  const BlockGemmShape s_;
  const GemmShape tile_shape_;
  TilesByHeight tiles_, products_;  // by vectors, and by tile registers
  Function *lay_out_ = nullptr, *lay_out_tiles_ = nullptr, *decode_ = nullptr, *epilogue_ = nullptr;
  KernelFrame frame_{};
  Value *sums_ = nullptr, *block_rows_ = nullptr;
  Value *in_tiles_ = nullptr, *tile_state_ = nullptr;  // whether rows are laid out for tiles; what these hold
  PendingStrip pending_;
};

}  // namespace

void emit_block_gemm(X86Emitter& e, const X86BlockGemmPlan& plan, const std::string& symbol, int shrink) {
  BlockGemmKernel(e, plan, symbol, shrink).body();
}

}  // namespace hone

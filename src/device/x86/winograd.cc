#include "device/x86/winograd.h"

#include <cmath>

#include "device/x86/conv/winograd_shape.h"
#include "device/x86/copy.h"
#include "device/x86/plane.h"
#include "device/x86/product_epilogue.h"
#include "device/x86/strips.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;
using A = WinogradArgs;
static_assert(shares_epilogue<&A::rows, &A::epilogue>());

// y = m x for vectors x, with what ± pairs of columns or rows have in common computed once.
class LinearMap {
 public:
  LinearMap(X86Emitter& e, const Matrix& m, const Values& x) : e_(e), rows_(m.size()) {
    std::vector<bool> paired(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t j = i + 1; j < x.size() && !paired[i]; ++j)
        if (!paired[j] && same_magnitudes(column(m, i), column(m, j))) {
          add_pair(column(m, i), column(m, j), x[i], x[j]);
          paired[i] = paired[j] = true;
        }
      if (!paired[i]) terms_.push_back({column(m, i), x[i]});
    }
  }

  Values result() {
    Values y(rows_, nullptr);
    for (size_t r = 0; r < rows_; ++r) {
      for (size_t s = r + 1; s < rows_ && !y[r]; ++s)
        if (!y[s] && same_magnitudes(row(r), row(s))) pair_of_rows(r, s, y);
      if (!y[r]) y[r] = sum(r, [](size_t) { return true; });
    }
    return y;
  }

 private:
  struct Term {
    std::vector<double> column;
    Value* x;
  };
  static std::vector<double> column(const Matrix& m, size_t i) {
    std::vector<double> values;
    for (const std::vector<double>& r : m) values.push_back(r[i]);
    return values;
  }
  std::vector<double> row(size_t r) const {
    std::vector<double> values;
    for (const Term& t : terms_) values.push_back(t.column[r]);
    return values;
  }
  static bool same_magnitudes(const std::vector<double>& a, const std::vector<double>& b) {
    int count = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i]) != std::abs(b[i])) return false;
      count += a[i] != 0;
    }
    return count > 1;
  }

  void add_pair(std::vector<double> a, const std::vector<double>& b, Value* x, Value* y) {
    std::vector<double> opposite(a.size());
    for (size_t r = 0; r < a.size(); ++r)
      if (a[r] == -b[r]) std::swap(a[r], opposite[r]);
    terms_.push_back({a, e_.b.CreateFAdd(x, y)});
    terms_.push_back({opposite, e_.b.CreateFSub(x, y)});
  }

  // Rows that differ in the signs of some terms: what they share, plus and minus the rest.
  void pair_of_rows(size_t r, size_t s, Values& y) {
    const std::vector<double> a = row(r), b = row(s);
    Value* same = sum(r, [&](size_t i) { return a[i] == b[i]; });
    Value* other = sum(r, [&](size_t i) { return a[i] != b[i]; });
    y[r] = e_.b.CreateFAdd(same, other);
    y[s] = e_.b.CreateFSub(same, other);
  }

  template <class Wanted>
  Value* sum(size_t r, Wanted wanted) {
    Value* total = nullptr;
    for (size_t i = 0; i < terms_.size(); ++i) {
      const Term& t = terms_[i];
      const double c = t.column[r];
      if (!wanted(i) || c == 0) continue;
      if (!total) total = c == 1 ? t.x : e_.b.CreateFMul(t.x, e_.c_f32(c));
      else if (c == 1) total = e_.b.CreateFAdd(total, t.x);
      else if (c == -1) total = e_.b.CreateFSub(total, t.x);
      else total = e_.fma(t.x, e_.c_f32(c), total);
    }
    return total;
  }

  X86Emitter& e_;
  size_t rows_;
  std::vector<Term> terms_;
};

// m x mᵀ for a square of vectors that are loaded and stored one at a time: load(row, column), store(row, column, y).
// Loops keep the code a sixth of what it would be; what is between lies on the stack.
template <class Load, class Store>
void transform_square(X86Emitter& e, const Matrix& m, Value* stack, Load load, Store store) {
  const auto side = static_cast<int64_t>(m[0].size()), out = static_cast<int64_t>(m.size());
  const int64_t vector = int64_t{e.lanes} * 4;
  e.loop(e.num(0), e.num(side), 1, {}, [&](Value* c, const Values&) {
    Values x;
    for (int64_t r = 0; r < side; ++r) x.push_back(load(r, c));
    const Values y = LinearMap(e, m, x).result();
    Value* column = e.at(stack, e.times(c, vector));
    for (int64_t r = 0; r < out; ++r) e.store(y[static_cast<size_t>(r)], e.at(column, r * side * vector), 64);
    return Values{};
  });
  e.loop(e.num(0), e.num(out), 1, {}, [&](Value* r, const Values&) {
    Values x;
    Value* row = e.at(stack, e.times(r, side * vector));
    for (int64_t c = 0; c < side; ++c) x.push_back(e.load(e.v_f32, e.at(row, c * vector), 64));
    const Values y = LinearMap(e, m, x).result();
    for (int64_t c = 0; c < out; ++c) store(r, c, y[static_cast<size_t>(c)]);
    return Values{};
  });
}

class WinogradKernel {
 public:
  WinogradKernel(X86Emitter& e, const X86ConvPlan& plan, const std::string& symbol, int shrink)
      : e_(e), plan_(plan), w_(plan.window), symbol_(symbol), s_(winograd_shape(plan, e.target, shrink)) {}

  void emit() {
    Function* transform = emit_transform();
    Function* border = emit_border();
    add_tiles();
    restore_ = emit_restore();
    epilogue_ = emit_epilogue(e_, symbol_ + "_epilogue", plan_.product, s_.gemm);
    frame_ = e_.begin_kernel(symbol_);
    allow_spills(frame_.function);
    generate_quickly(frame_.function);
    sums_ = e_.at(frame_.scratch, s_.w->products() * s_.data_plane);
    patch_ = e_.at(sums_, s_.w->products() * s_.sums_plane);
    result_ = e_.at(patch_, s_.patch_bytes);
    p_ = plane_values(e_, w_, plan_.any_plane, frame_, place_of<&A::window>);
    pieces_ = size(s_.pieces(), place_of<&A::pieces>), pieces_x_ = size(s_.pieces_x, place_of<&A::pieces_across>);
    Value* block_pieces = size(s_.block_pieces, place_of<&A::block_pieces>);
    Value* all = e_.times(e_.size<&A::images>(frame_), pieces_);
    e_.loop(frame_.begin, frame_.end, 1, {e_.num(-1)}, [&](Value* item, const Values& previous) {
      Value* block = e_.b.CreateUDiv(item, e_.num(s_.gemm.panels()));
      Value* panel = e_.b.CreateURem(item, e_.num(s_.gemm.panels()));
      Value* first = e_.times(block, block_pieces);
      Value* count = e_.smaller(e_.b.CreateSub(all, first), block_pieces);
      e_.when(e_.b.CreateICmpNE(block, previous[0]), [&] { data(transform, border, first, count); });
      products(panel, count);
      results(first, count, panel);
      return Values{block};
    });
    e_.end_function();
  }

 private:
  Value* size(int64_t constant, int derived) {
    return plan_.any_plane ? e_.kernel_dim(frame_, derived) : e_.num(constant);
  }
  int64_t element() const { return size_bytes(plan_.product.a); }
  int64_t pixel() const { return plan_.channels * element(); }

  // void(patch, row_bytes, out): x under one piece, rows row_bytes apart, to the piece's row in each product's plane.
  Function* emit_transform() {
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.ptr};
    Function* f = e_.begin_function(symbol_ + "_transform", e_.b.getVoidTy(), params, false);
    allow_spills(f);
    Value *patch = f->getArg(0), *row_bytes = f->getArg(1), *out = f->getArg(2);
    Value* stack = e_.stack(e_.v_f32, s_.w->products());
    Values rows;
    for (int64_t r = 0; r < s_.w->side(); ++r) rows.push_back(e_.at(patch, e_.times(row_bytes, r)));
    const int64_t whole = plan_.channels / e_.lanes, rest = plan_.channels % e_.lanes,
                  vector = int64_t{e_.lanes} * element();
    const auto channels = [&](Value* offset, Value* mask) {
      transform_square(
          e_, s_.w->data, stack,
          [&](int64_t r, Value* c) {
            Value* p = e_.at(e_.at(rows[static_cast<size_t>(r)], offset), e_.times(c, pixel()));
            return e_.load_elements(plan_.product.a, p, mask);
          },
          [&](Value* r, int64_t c, Value* y) {
            Value* plane = e_.at(e_.at(out, offset), e_.times(r, s_.w->side() * s_.data_plane));
            e_.store_elements(y, plan_.product.a, e_.at(plane, c * s_.data_plane));
          });
    };
    e_.loop(e_.num(0), e_.num(whole * vector), vector, {}, [&](Value* offset, const Values&) {
      channels(offset, nullptr);
      return Values{};
    });
    if (rest) channels(e_.num(whole * vector), e_.tail_mask(e_.num(rest)));
    e_.end_function();
    return f;
  }

  // void(args, x, y, column, patch): x under a piece that leaves the plane, with zeros outside.
  Function* emit_border() {
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.i64, e_.i64, e_.ptr};
    Function* f = e_.begin_function(symbol_ + "_border", e_.b.getVoidTy(), params, false);
    allow_spills(f);
    const PlaneValues p =
        plane_values(e_, w_, plan_.any_plane, {f, f->getArg(0), nullptr, nullptr, nullptr}, place_of<&A::window>);
    const int64_t side = s_.w->side();
    e_.loop(e_.num(0), e_.num(side * side), 1, {}, [&](Value* i, const Values&) {
      Value* y = e_.b.CreateAdd(f->getArg(2), e_.b.CreateUDiv(i, e_.num(side)));
      Value* x = e_.b.CreateAdd(f->getArg(3), e_.b.CreateURem(i, e_.num(side)));
      Value* to = e_.at(f->getArg(4), e_.times(i, pixel()));
      Value* inside = e_.b.CreateAnd(e_.b.CreateICmpULT(y, p.height), e_.b.CreateICmpULT(x, p.width));
      e_.when(inside, [&] {
        Value* element = e_.b.CreateAdd(e_.times(y, p.width), x);
        emit_copy(e_, e_.at(f->getArg(1), e_.times(element, pixel())), to, pixel());
      });
      e_.when(e_.b.CreateNot(inside), [&] { emit_zero(e_, to, pixel()); });
      return Values{};
    });
    e_.end_function();
    return f;
  }

  // Of every height: 25 pieces are 7 + 6 + 6 + 6, not 4 x 8.
  void add_tiles() {
    for (int rows = 1; rows <= s_.gemm.rows; ++rows) {
      TileSpec spec = tile_spec(s_.gemm, nullptr, rows);
      spec.a_row_bytes = s_.data_row;
      tiles_[rows] = emit_tile(e_, fmt::format("{}_tile{}", symbol_, rows), spec);
    }
  }

  // void(sums, out): the results of one piece, [m, m, panel columns], from its row in each product's plane.
  Function* emit_restore() {
    llvm::Type* const params[] = {e_.ptr, e_.ptr};
    Function* f = e_.begin_function(symbol_ + "_restore", e_.b.getVoidTy(), params, false);
    allow_spills(f);
    Value* stack = e_.stack(e_.v_f32, s_.w->products());
    const int64_t vector = int64_t{e_.lanes} * 4;
    e_.loop(e_.num(0), e_.num(s_.gemm.vectors * vector), vector, {}, [&](Value* offset, const Values&) {
      transform_square(
          e_, s_.w->result, stack,
          [&](int64_t r, Value* c) {
            Value* plane = e_.at(e_.at(f->getArg(0), offset), e_.times(c, s_.sums_plane));
            return e_.load(e_.v_f32, e_.at(plane, r * s_.w->side() * s_.sums_plane), 4);
          },
          [&](Value* r, int64_t c, Value* y) {
            Value* row = e_.at(e_.at(f->getArg(1), offset), e_.times(r, s_.w->piece * s_.sums_row));
            e_.store(y, e_.at(row, c * s_.sums_row), 4);
          });
      return Values{};
    });
    e_.end_function();
    return f;
  }

  struct Piece {
    Value *image, *y, *x;  // of its first result
  };
  Piece piece(Value* number) {
    Value *image = e_.b.CreateUDiv(number, pieces_), *rest = e_.b.CreateURem(number, pieces_);
    return {image, e_.times(e_.b.CreateUDiv(rest, pieces_x_), s_.w->piece),
            e_.times(e_.b.CreateURem(rest, pieces_x_), s_.w->piece)};
  }

  void data(Function* transform, Function* border, Value* first, Value* count) {
    e_.loop(e_.num(0), count, 1, {}, [&](Value* i, const Values&) {
      const Piece at = piece(e_.b.CreateAdd(first, i));
      Value *y = e_.b.CreateSub(at.y, p_.pad_top), *x = e_.b.CreateSub(at.x, p_.pad_left);
      Value* plane_bytes = e_.times(e_.times(p_.height, p_.width), pixel());
      Value* image = e_.at(e_.pointer<&A::x>(frame_), e_.times(at.image, plane_bytes));
      Value* out = e_.at(frame_.scratch, e_.times(i, s_.data_row));
      const auto fits = [&](Value* from, Value* extent) {
        Value* last = e_.b.CreateSub(extent, e_.num(s_.w->side()));
        return e_.b.CreateAnd(e_.b.CreateICmpSGE(from, e_.num(0)), e_.b.CreateICmpSLE(from, last));
      };
      Value* inside = e_.b.CreateAnd(fits(y, p_.height), fits(x, p_.width));
      e_.when(inside, [&] {
        Value* element = e_.b.CreateAdd(e_.times(y, p_.width), x);
        Value* const arguments[] = {e_.at(image, e_.times(element, pixel())), e_.times(p_.width, pixel()), out};
        e_.b.CreateCall(transform, arguments);
      });
      e_.when(e_.b.CreateNot(inside), [&] {
        Value* const place[] = {frame_.args, image, y, x, patch_};
        e_.b.CreateCall(border, place);
        Value* const arguments[] = {patch_, e_.num(s_.w->side() * pixel()), out};
        e_.b.CreateCall(transform, arguments);
      });
      return Values{};
    });
  }

  void products(Value* panel, Value* count) {
    Value* w = e_.at(e_.pointer<&A::w>(frame_), e_.times(panel, s_.w->products() * s_.gemm.panel_bytes()));
    const TileStrips strips = cut_into_strips(e_, count, s_.gemm.rows, tiles_);
    const X86Emitter::Moving moving[] = {
        {frame_.scratch, s_.data_plane}, {w, s_.gemm.panel_bytes()}, {sums_, s_.sums_plane}};
    Value* fetched_per_row = e_.b.CreateUDiv(e_.num(s_.gemm.panel_bytes()), count);  // of the next product's weights
    e_.walk(e_.num(s_.w->products()), moving, {}, [&](const Values& p, const Values&) {
      for_each_strip(e_, strips, [&](Value* tile, Value* height, Value* row) {
        Value *a = e_.at(p[0], e_.times(row, s_.data_row)), *to = e_.at(p[2], e_.times(row, s_.sums_row));
        Values arguments{a, p[1], p[1], to, e_.num(s_.data_row), e_.num(plan_.channels)};
        if (s_.gemm.fetches_next()) {
          Value* next = e_.at(p[1], s_.gemm.panel_bytes());
          arguments.push_back(e_.at(next, e_.b.CreateMul(row, fetched_per_row)));
          arguments.push_back(e_.b.CreateMul(height, fetched_per_row));
        }
        e_.b.CreateCall(tiles_.begin()->second->getFunctionType(), tile, arguments);
      });
      return Values{};
    });
  }

  void results(Value* first, Value* count, Value* panel) {
    Value* column = e_.times(panel, s_.gemm.panel_columns());
    e_.loop(e_.num(0), count, 1, {}, [&](Value* i, const Values&) {
      Value* const arguments[] = {e_.at(sums_, e_.times(i, s_.sums_row)), result_};
      e_.b.CreateCall(restore_, arguments);
      const Piece at = piece(e_.b.CreateAdd(first, i));
      const auto left = [&](Value* from, Value* extent) {
        return e_.smaller(e_.b.CreateSub(extent, from), e_.num(s_.w->piece));
      };
      Value* width = left(at.x, p_.out_width);
      e_.loop(e_.num(0), left(at.y, p_.out_height), 1, {}, [&](Value* r, const Values&) {
        Value* row = e_.b.CreateAdd(e_.b.CreateAdd(e_.times(at.image, p_.out_height), at.y), r);
        row = e_.b.CreateAdd(e_.times(row, p_.out_width), at.x);
        Value* from = e_.at(result_, e_.times(r, s_.w->piece * s_.sums_row));
        Value* const operands[] = {frame_.args, from, row, column, width, e_.num(0), e_.num(0)};
        e_.b.CreateCall(epilogue_, operands);
        return Values{};
      });
      return Values{};
    });
  }

  X86Emitter& e_;
  const X86ConvPlan& plan_;
  const PlaneWindow& w_;
  const std::string symbol_;
  const WinogradShape s_;
  TilesByHeight tiles_;
  Function *restore_ = nullptr, *epilogue_ = nullptr;
  KernelFrame frame_{};
  Value *sums_ = nullptr, *patch_ = nullptr, *result_ = nullptr;
  PlaneValues p_{};
  Value *pieces_ = nullptr, *pieces_x_ = nullptr;
};

}  // namespace

void emit_winograd(X86Emitter& e, const X86ConvPlan& plan, const std::string& symbol, int shrink) {
  WinogradKernel(e, plan, symbol, shrink).emit();
}

}  // namespace hone

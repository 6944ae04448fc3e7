#include "device/x86/amx/tile_product.h"

#include <algorithm>
#include <array>
#include <optional>

#include "device/x86/amx/tile_registers.h"
#include "device/x86/copy.h"
#include "device/x86/decode.h"
#include "device/x86/tile.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

// Which tile is what: C of both halves of the rows and both of the columns, A of the rows, B of the columns.
constexpr const auto& kC = kSumTiles;
constexpr int kA[2] = {4, 5}, kB[2] = {6, 7};

// A configuration for each number of rows that both halves have.
llvm::GlobalVariable* configurations(X86Emitter& e) {
  std::vector<uint8_t> bytes;
  for (int rows = 1; rows <= kTileRows; ++rows) {
    TileConfig config{.palette = 1};
    const auto set = [&](int tile, int own) {
      config.rows[tile] = static_cast<uint8_t>(own), config.row_bytes[tile] = TileConfig::kRowBytes;
    };
    for (int half : {0, 1}) {
      for (int c : kC[half]) set(c, rows);
      set(kA[half], rows);
      set(kB[half], kTileStepBytes / 4);
    }
    const auto* raw = reinterpret_cast<const uint8_t*>(&config);
    bytes.insert(bytes.end(), raw, raw + sizeof config);
  }
  return e.table(e.bytes(bytes));
}

// Where both halves of the rows of A are, and W.
struct Places {
  Value *first, *second, *w;
};

// What comes into the second-level cache beside each step: every second line of so many bytes, if any.
struct Ahead {
  Value* from = nullptr;
  int64_t bytes = 0;
};

class TileStrip {
 public:
  // `a`: the type of A. `to_second`: bytes from the first half of A to the second. `once`: A is not read again soon.
  TileStrip(X86Emitter& e, DType a, int64_t columns, int64_t sums_row_bytes, const TileHalves& rows, Value* a_row_bytes,
            Value* to_second, bool once = true)
      : e_(e),
        tiles_(e),
        a_(a),
        columns_(static_cast<int>(columns / kTileColumns)),
        w_row_bytes_(columns * 4),
        sums_row_bytes_(sums_row_bytes),
        once_(once),
        rows_(rows),
        a_row_bytes_(a_row_bytes),
        to_second_(to_second),
        has_second_(e.b.CreateICmpNE(rows.second, e.num(0))) {}

  // Of a kernel whose tiles are in `state`; what is `pending` there, if anything can be, is stored and finished beside
  // this strip, whose sums then are pending.
  void configure(Value* state, const PendingStrip* pending = nullptr) {
    state_ = state, pending_ = pending;
    Value* configured = field(offsetof(TileState, half_rows));
    e_.when(e_.b.CreateICmpNE(e_.load(e_.i64, configured, 8), rows_.rows), [&] {
      if (pending) e_.b.CreateCall(pending->flush, {state});
      Value* place = e_.times(e_.b.CreateSub(rows_.rows, e_.num(1)), int64_t{sizeof(TileConfig)});
      tiles_.configure(e_.at(configurations(e_), place));
      e_.store(rows_.rows, configured, 8);
    });
  }

  // walk(places) goes over K, in `steps` steps, and calls run() or step(). Rows that both halves have are loaded before
  // either is stored, or both are stored before: the same bits.
  template <class Walk>
  void multiply(Value* a, Value* w, Value* sums, bool adds, Value* steps, const Walk& walk) {
    sums_ = sums, adds_ = adds;
    if (pending_) find_pending(steps);
    const auto with = [&](int halves) {
      halves_ = halves, begun_ = false;
      if (!pending_) begin_all();
      walk(Places{a, halves > 1 ? e_.at(a, to_second_) : a, w});
      begin_all();  // of a walk without steps
      if (pending_) return leave_sums();
      each_sum([&](int half, int c) { tiles_.store(kC[half][c], place_of(half, c), e_.num(sums_row_bytes_)); });
    };
    if (llvm::isa<llvm::ConstantInt>(has_second_))
      return with(llvm::cast<llvm::ConstantInt>(has_second_)->isOne() ? 2 : 1);
    e_.when(has_second_, [&] { with(2); });
    e_.when(e_.b.CreateNot(has_second_), [&] { with(1); });
  }

  // Begins the sums by `act`, the first step, or else, if it turns out that there is none, without.
  template <class Act>
  void begin_by(Value* has_steps, const Act& act) {
    if (llvm::isa<llvm::ConstantInt>(has_steps)) return act();
    e_.when(has_steps, [&] { act(); });
    begun_ = false;
    e_.when(e_.b.CreateNot(has_steps), [&] { begin_all(); });
  }

  // Steps of k that lie together.
  void run(const Places& from, Value* steps, const Ahead& ahead = {}) {
    std::vector<X86Emitter::Moving> moving{{from.first, kTileStepBytes},
                                           {from.second, kTileStepBytes},
                                           {from.w, step_bytes()},
                                           {ahead.bytes ? ahead.from : from.w, ahead.bytes}};
    const auto one = [&](const Values& p) {
      for (int64_t line = 0; line < ahead.bytes; line += 128) e_.prefetch(e_.at(p[3], line));
      step({p[0], p[1], p[2]}, a_row_bytes_);
    };
    if (!begun_) {
      const auto* known = llvm::dyn_cast<llvm::ConstantInt>(steps);
      if (known && known->isZero()) return;
      Values first;
      for (X86Emitter::Moving& m : moving) first.push_back(m.pointer), m.pointer = e_.at(m.pointer, m.step);
      begin_by(e_.b.CreateICmpSGT(steps, e_.num(0)), [&] { one(first); });
      steps = e_.b.CreateSub(steps, e_.num(1));
    }
    e_.walk(steps, moving, {}, [&](const Values& p, const Values&) {
      one(p);
      finish_rows(rows_a_step_);
      return Values{};
    });
  }

  // The panel's block stays in the first-level cache; rows of A come from the second, and are read once for each panel.
  // Two loads from there lie apart. The first step of a strip begins its sums, each before its product: while a tile of
  // the strip before is stored the others multiply.
  void step(const Places& p, Value* a_row_bytes) {
    const auto dot = [&](int half, int c) {
      if (!begun_) begin(half, c);
      tiles_.dot(a_, kC[half][c], kA[half], kB[c]);
    };
    tiles_.load(kA[0], p.first, a_row_bytes, once_);
    for (int c = 0; c < columns_; ++c) {
      tiles_.load(kB[c], e_.at(p.w, int64_t{c} * TileConfig::kRowBytes), e_.num(w_row_bytes_));
      dot(0, c);
    }
    if (halves_ > 1) {
      tiles_.load(kA[1], p.second, a_row_bytes, once_);
      for (int c = 0; c < columns_; ++c) dot(1, c);
    } else if (!begun_) {
      for (int c = 0; c < columns_; ++c) begin(1, c);
    }
    begun_ = true;
  }

  int64_t step_bytes() const { return kTileStepBytes / 4 * w_row_bytes_; }  // of W

 private:
  template <class Act>
  void each_sum(const Act& act) {
    for (int half = 0; half < halves_; ++half)
      for (int c = 0; c < columns_; ++c) act(half, c);
  }
  Value* place_of(int half, int c = 0) {
    Value* row = half ? e_.at(sums_, e_.times(rows_.second, sums_row_bytes_)) : sums_;
    return e_.at(row, int64_t{c} * TileConfig::kRowBytes);
  }

  // Stores what is pending in a tile of C, and makes it this strip's.
  void begin(int half, int c) {
    if (pending_) store_pending(e_, pending_sums_[half], half, c, sums_row_bytes_);
    if (half >= halves_) return;
    if (adds_) tiles_.load(kC[half][c], place_of(half, c), e_.num(sums_row_bytes_));
    else tiles_.zero(kC[half][c]);
  }
  void begin_all() {
    if (begun_) return;
    for (int half : {0, 1})
      for (int c = 0; c < columns_; ++c) begin(half, c);
    begun_ = true;
  }

  Value* field(size_t offset) { return state_field(e_, state_, offset); }
  Value* pending_rows() { return e_.load(e_.i64, field(offsetof(TileState, rows)), 8); }
  void find_pending(Value* steps) {
    pending_sums_[0] = e_.load(e_.ptr, field(offsetof(TileState, first)), 8);
    pending_sums_[1] = e_.load(e_.ptr, field(offsetof(TileState, second)), 8);
    steps = e_.larger(steps, e_.num(1));
    rows_a_step_ = e_.b.CreateUDiv(e_.b.CreateAdd(pending_rows(), e_.b.CreateSub(steps, e_.num(1))), steps);
  }
  void finish_rows(Value* most) {
    if (!pending_) return;
    e_.when(e_.b.CreateICmpNE(pending_rows(), e_.num(0)), [&] {
      e_.b.CreateCall(pending_->next_rows, {state_, most});
    });
  }
  void leave_sums() {
    finish_rows(e_.num(2 * kTileRows));
    e_.store(place_of(0), field(offsetof(TileState, first)), 8);
    Value* second = halves_ > 1 ? place_of(1) : llvm::ConstantPointerNull::get(e_.b.getPtrTy());
    e_.store(second, field(offsetof(TileState, second)), 8);
  }

  X86Emitter& e_;
  TileRegisters tiles_;
  const DType a_;
  const int columns_;  // tiles of them
  const int64_t w_row_bytes_, sums_row_bytes_;
  const bool once_;
  const TileHalves rows_;
  Value *a_row_bytes_, *to_second_, *has_second_;
  Value* state_ = nullptr;
  const PendingStrip* pending_ = nullptr;
  Value *pending_sums_[2] = {}, *rows_a_step_ = nullptr;
  Value* sums_ = nullptr;  // of this strip
  bool adds_ = false;      // to what is there
  int halves_ = 0;
  bool begun_ = false;  // its tiles of C
};

// Of plain rows, with scales where the weights have some that bf16 can't take.
class TileProduct {
 public:
  TileProduct(X86Emitter& e, const GemmShape& shape, const Format* format, const PendingStrip* pending, Function* f)
      : e_(e),
        s_(shape),
        a_row_bytes_(f->getArg(5)),
        height_(f->getArg(7)),
        first_row_(f->getArg(9)),
        rows_{f->getArg(8), e.b.CreateSub(height_, f->getArg(8))},
        strip_(e, shape.a, shape.panel_columns(), shape.row_bytes(), rows_, a_row_bytes_,
               e.b.CreateMul(rows_.second, a_row_bytes_)) {
    if (s_.scale_in_loop()) decoder_.emplace(e, *s_.codec, *format);
    strip_.configure(f->getArg(0), pending);
  }

  void run(Value* a, Value* w, Value* scales, Value* sums, Value* before) {
    Value* factor = s_.global_in_sums()
                        ? e_.load_broadcast(DType::f32, e_.at(scales, s_.global_offset() - s_.scales_offset()))
                        : nullptr;
    Value* k = is_told_k() ? before : e_.num(s_.block_k());
    if (!s_.scale_in_loop() && !factor) return product(a, w, k, sums, s_.adds_blocks());
    part_ = e_.stack(e_.v_f32, int64_t{2} * kTileRows * s_.vectors);
    if (!s_.adds_blocks()) emit_zero(e_, sums, e_.times(height_, s_.row_bytes()));
    if (!s_.scale_in_loop()) return scaled_product(a, w, k, Values(vectors(), factor), sums);
    Value* groups = e_.b.CreateUDiv(before, e_.num(s_.group));
    scales = e_.at(scales, e_.times(groups, s_.scale_row_bytes()));
    const int64_t whole = s_.block_k() / s_.group, rest = s_.block_k() % s_.group, a_step = s_.group * 2,
                  w_step = s_.group / 2 * s_.row_bytes();
    const X86Emitter::Moving moving[] = {{a, a_step}, {w, w_step}, {scales, s_.scale_row_bytes()}};
    e_.walk(e_.num(whole), moving, {}, [&](const Values& p, const Values&) {
      scaled_product(p[0], p[1], e_.num(s_.group), scales_at(p[2], factor), sums);
      return Values{};
    });
    if (rest)
      scaled_product(e_.at(a, whole * a_step), e_.at(w, whole * w_step), e_.num(rest),
                     scales_at(e_.at(scales, whole * s_.scale_row_bytes()), factor), sums);
  }

 private:
  // Of an activation, a block of k of it has as many as its caller says.
  // The strip's part of the next block of a dense panel, or of the next panel: 128 rows, four strips, fetch one.
  Ahead ahead(Value* w) {
    if (!s_.from<DensePanels>() || !s_.adds_blocks()) return {};
    const int64_t block = s_.rows_of(s_.panel(), s_.block_k()) * s_.row_bytes();
    return {e_.at(e_.at(w, block), e_.times(first_row_, block / 128)), strip_.step_bytes() / 4};
  }
  bool is_told_k() const { return s_.from<ActivationPanels>() && s_.adds_blocks(); }
  size_t vectors() const { return static_cast<size_t>(s_.vectors); }

  // Of each vector of columns.
  Values scales_at(Value* row, Value* factor) {
    Values scales;
    for (int v = 0; v < s_.vectors; ++v) {
      Value* own = decoder_->scales(e_.at(row, v * s_.scale_vector_bytes()), factor);
      scales.push_back(s_.slots == 1 ? e_.splat(e_.b.CreateExtractElement(own, uint64_t{0})) : own);
    }
    return scales;
  }

  void scaled_product(Value* a, Value* w, Value* k, const Values& scales, Value* sums) {
    product(a, w, k, part_, false);
    const X86Emitter::Moving moving[] = {{part_, s_.row_bytes()}, {sums, s_.row_bytes()}};
    e_.walk(height_, moving, {}, [&](const Values& p, const Values&) {
      for (size_t v = 0; v < vectors(); ++v) {
        const int64_t at = static_cast<int64_t>(v) * e_.lanes * 4;
        Value* sum = e_.at(p[1], at);
        e_.store(e_.fma(e_.load(e_.v_f32, e_.at(p[0], at)), scales[v], e_.load(e_.v_f32, sum)), sum);
      }
      return Values{};
    });
  }

  // Rows of codes have whole steps, in scratch if nowhere else.
  void product(Value* a, Value* w, Value* k, Value* sums, bool adds) {
    const int64_t step = step_k(s_.panel());
    Value* filled = s_.integers() ? e_.b.CreateAdd(k, e_.num(step - 1)) : k;
    Value *steps = e_.b.CreateUDiv(filled, e_.num(step)), *rest = e_.b.CreateURem(k, e_.num(step));
    const auto end = [&] {
      last_step(e_.at(a, e_.times(steps, kTileStepBytes)), e_.at(w, e_.times(steps, strip_.step_bytes())), rest);
    };
    strip_.multiply(a, w, sums, adds, steps, [&](const Places& from) {
      strip_.run(from, steps, ahead(w));
      if (s_.integers()) return;
      const auto* known = llvm::dyn_cast<llvm::ConstantInt>(rest);
      if (!known) e_.when(e_.b.CreateICmpNE(rest, e_.num(0)), end);
      else if (!known->isZero()) end();
    });
  }

  // Rows of A end where the next begin: what they have of a last step is copied between zeros.
  void last_step(Value* a, Value* w, Value* k) {
    const int64_t row_bytes = kTileStepBytes;
    if (!padded_) padded_ = e_.stack(e_.i8, int64_t{2} * kTileRows * row_bytes);
    emit_filled_rows(e_, a, a_row_bytes_, padded_, height_, e_.times(k, 2));
    strip_.step({padded_, e_.at(padded_, e_.times(rows_.second, row_bytes)), w}, e_.num(row_bytes));
  }

  X86Emitter& e_;
  const GemmShape& s_;
  Value *a_row_bytes_, *height_, *first_row_;
  TileHalves rows_;
  TileStrip strip_;
  Value *part_ = nullptr, *padded_ = nullptr;  // sums before they are scaled; rows of A in a last step
  std::optional<WeightDecoder> decoder_;
};

Function* begin(X86Emitter& e, const std::string& symbol, int pointers, int numbers) {
  std::vector<llvm::Type*> params(static_cast<size_t>(pointers), e.ptr);
  params.insert(params.end(), static_cast<size_t>(numbers), e.i64);
  return e.begin_function(symbol, e.b.getVoidTy(), params, false);
}

}  // namespace

Value* tile_half(X86Emitter& e, Value* tallest) {
  Value* half = e.b.CreateLShr(e.b.CreateAdd(tallest, e.num(1)), e.num(1));
  return e.b.CreateSelect(e.b.CreateICmpSGT(tallest, e.num(kTileRows)), half, tallest);
}

bool keeps_sums_in_tiles(const GemmShape& shape) {
  return shape.tiles() && !shape.scale_in_loop() && !shape.global_in_sums();
}

Function* emit_tile_product(X86Emitter& e, const std::string& symbol, const GemmShape& shape, const Format* format,
                            const PendingStrip* pending) {
  CHECK(shape.tiles() && shape.panel() != PanelType::f32 && shape.panel_columns() % kTileColumns == 0);
  CHECK(!pending || keeps_sums_in_tiles(shape));
  Function* f = begin(e, symbol, 5, 5);
  if (pending) allow_spills(f);
  TileProduct(e, shape, format, pending, f).run(f->getArg(1), f->getArg(2), f->getArg(3), f->getArg(4), f->getArg(6));
  e.end_function();
  return f;
}

Function* emit_tile_block(X86Emitter& e, const std::string& symbol, const TileBlock& block) {
  CHECK(block.rows <= kTileRows && block.columns % kTileColumns == 0 && block.k % kTileK == 0);
  Function* f = begin(e, symbol, 4, 2);
  Value* a_row_bytes = block.a_row_bytes ? e.num(block.a_row_bytes) : f->getArg(4);
  Value* steps = block.k ? e.num(block.k / kTileK) : e.b.CreateUDiv(f->getArg(5), e.num(kTileK));
  TileStrip strip(e, DType::bf16, block.columns, block.sums_row_bytes, {e.num(block.rows), e.num(0)}, a_row_bytes,
                  e.num(0), false);
  strip.configure(f->getArg(0));
  strip.multiply(f->getArg(1), f->getArg(2), f->getArg(3), block.accumulate, steps,
                 [&](const Places& from) { strip.run(from, steps); });
  e.end_function();
  return f;
}

Function* emit_tile_window(X86Emitter& e, const std::string& symbol, const GemmShape& shape, const TileRuns& runs,
                           const PendingStrip& pending) {
  CHECK(shape.tiles() && shape.panel() != PanelType::f32 && runs.segment_bytes % kTileStepBytes == 0);
  Function* f = begin(e, symbol, 5, 5);
  TileStrip strip(e, shape.a, shape.panel_columns(), shape.row_bytes(), {f->getArg(7), f->getArg(8)},
                  e.num(runs.a_row_bytes), f->getArg(9));
  allow_spills(f);
  strip.configure(f->getArg(0), &pending);
  const int64_t steps = runs.segment_bytes / kTileStepBytes, w_step = steps * strip.step_bytes(),
                fetched = runs.fetched_bytes;
  Value* all_steps = e.times(f->getArg(6), runs.segments_x * steps);
  strip.multiply(f->getArg(1), f->getArg(2), f->getArg(3), false, all_steps, [&](const Places& from) {
    strip.begin_by(e.b.CreateICmpSGT(f->getArg(6), e.num(0)), [&] { strip.step(from, e.num(runs.a_row_bytes)); });
    const X86Emitter::Moving down[] = {{from.first, f->getArg(5)},
                                       {from.second, f->getArg(5)},
                                       {from.w, runs.segments_x * w_step},
                                       {f->getArg(4), runs.segments_x * steps * fetched}};
    e.walk(f->getArg(6), down, {e.num(1)}, [&](const Values& p, const Values& in_row) {  // steps that are done
      const X86Emitter::Moving across[] = {
          {p[0], runs.a_step_x}, {p[1], runs.a_step_x}, {p[2], w_step}, {p[3], steps * fetched}};
      return e.walk(e.num(runs.segments_x), across, in_row, [&](const Values& q, const Values& done) {
        Value* a_bytes = e.times(done[0], kTileStepBytes);
        const Places rest{e.at(q[0], a_bytes), e.at(q[1], a_bytes), e.at(q[2], e.times(done[0], strip.step_bytes()))};
        strip.run(rest, e.b.CreateSub(e.num(steps), done[0]), {q[3], fetched});
        return Values{e.num(0)};
      });
    });
  });
  e.end_function();
  return f;
}

}  // namespace hone

#include "codegen/llvm/tile_product.h"

#include <optional>

#include "codegen/llvm/copy.h"
#include "codegen/llvm/decode.h"
#include "codegen/llvm/tile_registers.h"

namespace hone {
namespace {

using llvm::Value;

// Which tile is what: C of both halves of the rows and both of the columns, A of the rows, B of the columns.
constexpr int kC[2][2] = {{0, 1}, {2, 3}}, kA[2] = {4, 5}, kB[2] = {6, 7};

// Rows in the first half of a strip, which has a second one where they do not fit one tile.
constexpr int first_half(int height) { return height > kTileRows ? (height + 1) / 2 : height; }

// A configuration for each height from 1 on.
llvm::GlobalVariable* configurations(Emitter& e) {
  std::vector<uint8_t> bytes;
  for (int height = 1; height <= 2 * kTileRows; ++height) {
    const int halves[2] = {first_half(height), std::max(1, height - first_half(height))};
    TileConfig config{.palette = 1};
    const auto set = [&](int tile, int rows) {
      config.rows[tile] = static_cast<uint8_t>(rows), config.row_bytes[tile] = TileConfig::kRowBytes;
    };
    for (int half : {0, 1}) {
      for (int c : kC[half]) set(c, halves[half]);
      set(kA[half], halves[half]);
      set(kB[half], kTileK / 2);
    }
    const auto* raw = reinterpret_cast<const uint8_t*>(&config);
    bytes.insert(bytes.end(), raw, raw + sizeof config);
  }
  return e.table(e.bytes(bytes));
}

class TileProduct {
 public:
  TileProduct(Emitter& e, const GemmShape& shape, const Format* format, llvm::Function* f)
      : e_(e),
        s_(shape),
        tiles_(e),
        columns_(static_cast<int>(shape.panel_columns() / kTileColumns)),
        a_row_bytes_(f->getArg(4)),
        height_(f->getArg(6)) {
    if (s_.scale_in_loop) decoder_.emplace(e, *s_.codec, *format);
  }

  void run(Value* a, Value* w, Value* scales, Value* sums, Value* before, Value* configured) {
    configure(configured);
    second_ = e_.b.CreateICmpSGT(height_, e_.num(kTileRows));
    Value* half = e_.b.CreateLShr(e_.b.CreateAdd(height_, e_.num(1)), e_.num(1));
    first_rows_ = e_.b.CreateSelect(second_, half, height_);
    Value* factor = s_.global_in_sums()
                        ? e_.load_broadcast(DType::f32, e_.at(scales, s_.global_offset() - s_.scales_offset()))
                        : nullptr;
    if (!s_.scale_in_loop && !factor) return product(a, w, s_.block_k, sums, s_.adds_blocks);
    part_ = e_.stack(e_.v_f32, int64_t{2} * kTileRows * s_.vectors);
    if (!s_.adds_blocks) emit_zero(e_, sums, e_.times(height_, s_.row_bytes()));
    if (!s_.scale_in_loop) return scaled_product(a, w, s_.block_k, Values(vectors(), factor), sums);
    Value* groups = e_.b.CreateUDiv(before, e_.num(s_.group));
    scales = e_.at(scales, e_.times(groups, s_.scale_row_bytes()));
    const int64_t whole = s_.block_k / s_.group, rest = s_.block_k % s_.group, a_step = s_.group * 2,
                  w_step = s_.group / 2 * s_.row_bytes();
    const Emitter::Moving moving[] = {{a, a_step}, {w, w_step}, {scales, s_.scale_row_bytes()}};
    e_.walk(e_.num(whole), moving, {}, [&](const Values& p, const Values&) {
      scaled_product(p[0], p[1], s_.group, scales_at(p[2], factor), sums);
      return Values{};
    });
    if (rest)
      scaled_product(e_.at(a, whole * a_step), e_.at(w, whole * w_step), rest,
                     scales_at(e_.at(scales, whole * s_.scale_row_bytes()), factor), sums);
  }

 private:
  size_t vectors() const { return static_cast<size_t>(s_.vectors); }

  void configure(Value* configured) {
    Value* other = e_.b.CreateICmpNE(e_.load(e_.i64, configured, 8), height_);
    e_.when(other, [&] {
      Value* place = e_.times(e_.b.CreateSub(height_, e_.num(1)), int64_t{sizeof(TileConfig)});
      tiles_.configure(e_.at(configurations(e_), place));
      e_.store(height_, configured, 8);
    });
  }

  // Of each vector of columns.
  Values scales_at(Value* row, Value* factor) {
    Values scales;
    for (int v = 0; v < s_.vectors; ++v) {
      Value* own = decoder_->scales(e_.at(row, v * s_.scale_vector_bytes()), factor);
      scales.push_back(s_.slots == 1 ? e_.splat(e_.b.CreateExtractElement(own, uint64_t{0})) : own);
    }
    return scales;
  }

  void scaled_product(Value* a, Value* w, int64_t k, const Values& scales, Value* sums) {
    product(a, w, k, part_, false);
    const Emitter::Moving moving[] = {{part_, s_.row_bytes()}, {sums, s_.row_bytes()}};
    e_.walk(height_, moving, {}, [&](const Values& p, const Values&) {
      for (size_t v = 0; v < vectors(); ++v) {
        const int64_t at = static_cast<int64_t>(v) * e_.lanes * 4;
        Value* sum = e_.at(p[1], at);
        e_.store(e_.fma(e_.load(e_.v_f32, e_.at(p[0], at)), scales[v], e_.load(e_.v_f32, sum)), sum);
      }
      return Values{};
    });
  }

  void product(Value* a, Value* w, int64_t k, Value* sums, bool adds) {
    e_.when(second_, [&] { halves(a, w, k, sums, adds, 2); });
    e_.when(e_.b.CreateNot(second_), [&] { halves(a, w, k, sums, adds, 1); });
  }

  template <class Act>
  void each_sum(Value* sums, int rows, const Act& act) {
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns_; ++c) {
        Value* row = r ? e_.at(sums, e_.times(first_rows_, s_.row_bytes())) : sums;
        act(kC[r][c], e_.at(row, int64_t{c} * TileConfig::kRowBytes));
      }
  }

  void halves(Value* a, Value* w, int64_t k, Value* sums, bool adds, int rows) {
    Value* stride = e_.num(s_.row_bytes());
    each_sum(sums, rows, [&](int tile, Value* place) {
      if (adds) tiles_.load(tile, place, stride);
      else tiles_.zero(tile);
    });
    Value* second = rows > 1 ? e_.at(a, e_.b.CreateMul(first_rows_, a_row_bytes_)) : a;
    const int64_t steps = k / kTileK, a_step = kTileK * 2, w_step = kTileK / 2 * s_.row_bytes();
    const Emitter::Moving moving[] = {{a, a_step}, {second, a_step}, {w, w_step}};
    e_.walk(e_.num(steps), moving, {}, [&](const Values& p, const Values&) {
      step({p[0], p[1]}, a_row_bytes_, p[2], rows);
      return Values{};
    });
    if (k % kTileK) rest(e_.at(a, steps * a_step), e_.at(w, steps * w_step), k % kTileK, rows);
    each_sum(sums, rows, [&](int tile, Value* place) { tiles_.store(tile, place, stride); });
  }

  // The panel's block stays in the first-level cache; rows of A come from the second, and are read once for each panel.
  // Two loads from there lie apart.
  void step(std::array<Value*, 2> a, Value* a_stride, Value* w, int rows) {
    Value* stride = e_.num(s_.row_bytes());
    const auto load_b = [&](int c) { tiles_.load(kB[c], e_.at(w, int64_t{c} * TileConfig::kRowBytes), stride); };
    tiles_.load(kA[0], a[0], a_stride, true);
    for (int c = 0; c < columns_; ++c) load_b(c), tiles_.dot_bf16(kC[0][c], kA[0], kB[c]);
    if (rows == 1) return;
    tiles_.load(kA[1], a[1], a_stride, true);
    for (int c = 0; c < columns_; ++c) tiles_.dot_bf16(kC[1][c], kA[1], kB[c]);
  }

  // Rows of A end where the next begin: what they have of a last step is copied between zeros.
  void rest(Value* a, Value* w, int64_t k, int rows) {
    const int64_t row_bytes = TileConfig::kRowBytes;
    if (!padded_) padded_ = e_.stack(e_.i8, int64_t{2} * kTileRows * row_bytes);
    const Emitter::Moving moving[] = {{a, a_row_bytes_}, {padded_, row_bytes}};
    e_.walk(height_, moving, {}, [&](const Values& p, const Values&) {
      emit_zero(e_, p[1], row_bytes);
      emit_copy(e_, p[0], p[1], k * 2);
      return Values{};
    });
    step({padded_, e_.at(padded_, e_.times(first_rows_, row_bytes))}, e_.num(row_bytes), w, rows);
  }

  Emitter& e_;
  const GemmShape& s_;
  TileRegisters tiles_;
  const int columns_;  // tiles of them
  Value *a_row_bytes_, *height_;
  Value *second_ = nullptr, *first_rows_ = nullptr;      // whether there is a second half; rows of the first
  Value *part_ = nullptr, *padded_ = nullptr;            // sums before they are scaled; rows of A in a last step
  std::optional<WeightDecoder> decoder_;
};

}  // namespace

llvm::Function* emit_tile_product(Emitter& e, const std::string& symbol, const GemmShape& shape, const Format* format) {
  CHECK(shape.tiles && shape.panel == PanelType::pairs && shape.panel_columns() % kTileColumns == 0);
  llvm::Type* const params[] = {e.ptr, e.ptr, e.ptr, e.ptr, e.i64, e.i64, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  TileProduct product(e, shape, format, f);
  product.run(f->getArg(0), f->getArg(1), f->getArg(2), f->getArg(3), f->getArg(5), f->getArg(7));
  e.end_function();
  return f;
}

}  // namespace hone

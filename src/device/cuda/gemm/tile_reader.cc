#include "device/cuda/gemm/tile_reader.h"

#include <cmath>
#include <limits>

namespace hone {

using llvm::Value;
using Meaning = CodeMeaning::By;

namespace {

constexpr uint8_t kAndOr = (0xf0 & 0xcc) | 0xaa;  // lop3: x & y | z
constexpr uint32_t kMinusZeros = 0x80008000, kOnes = 0x3f803f80;

bool is_power_of_two(float x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5f;
}

// Exact in bf16 with every number of the format.
bool folds(const CodeMeaning& m) {
  if (m.minimum_sign != 0) return false;
  if (m.scale.by == ScaleMeaning::By::power_of_two) return true;
  if (m.scale.by != ScaleMeaning::By::minifloat) return false;
  for (float scale : m.scale.values)
    for (float v : m.values)
      if (!exact_in_bf16(double{v} * scale)) return false;
  return true;
}

}  // namespace

PairScales pair_scales(const WeightTiles& t) {
  if (!t.meaning || t.scale_bytes() == 0) return PairScales::none;
  return folds(*t.meaning) ? PairScales::folded : PairScales::on_sums;
}

TileReader::TileReader(CudaEmitter& e, const WeightTiles& tiles, const std::string& format, Value* w)
    : e_(e), t_(tiles), w_(w), scales_(pair_scales(tiles)), groups_(t_.groups() > 1 ? t_.block_groups() : 1) {
  if (t_.meaning) numbers_ = std::make_unique<CodeNumbers>(e, *t_.meaning, parse_format(format));
  by_ = choose_way();
  // 2^-127 with a unit down to 2^-6 is a subnormal of bf16.
  const float unit = t_.meaning ? t_.meaning->unit : 1;
  const bool small = unit <= 1 && unit >= 0x1p-6f && is_power_of_two(unit);
  unit_in_scale_ = t_.meaning && t_.meaning->scale.by == ScaleMeaning::By::power_of_two && small &&
                   (by_ == By::bytes || by_ == By::nibbles);
}

TileReader::By TileReader::choose_way() const {
  if (!t_.meaning) return By::plain;
  const CodeMeaning& m = *t_.meaning;
  if (m.zero_point_bytes || t_.order == TileOrder::runs) return By::numbers;
  const bool unit_fits = m.unit == 1 || (scales_ == PairScales::folded && is_power_of_two(m.unit) && m.unit <= 1 &&
                                         m.unit >= 0x1p-6f && m.scale.by == ScaleMeaning::By::power_of_two);
  if (m.by == Meaning::integer && m.is_signed && unit_fits && m.bits == 8) return By::bytes;
  if (m.by == Meaning::integer && m.is_signed && unit_fits && t_.nibble_pairs) return By::nibbles;
  const bool plain_fields = m.infinity == CodeMeaning::kNone && m.nan_from == CodeMeaning::kNone;
  if (m.by == Meaning::minifloat && t_.nibble_pairs && plain_fields && m.exponent_offset >> 23 <= 127)
    return By::fields;
  return By::numbers;
}

// --- reading

Values TileReader::read_codes(Value* column_tile, Value* depth_tile) {
  Value* tile = e_.b.CreateAdd(e_.b.CreateMul(e_.wide(column_tile), e_.num(t_.depth_tiles())), e_.wide(depth_tile));
  Value* at = e_.at(w_, e_.times(tile, t_.tile_bytes()));
  Values words;
  for (const WordRun& run : word_runs(t_.bits)) {
    Value* own = e_.b.CreateAdd(e_.n32(run.first * 128), e_.b.CreateMul(e_.lane(), e_.n32(run.count * 4)));
    const Values some = e_.load_words(e_.at(at, e_.wide(own)), run.count);
    words.insert(words.end(), some.begin(), some.end());
  }
  return words;
}

// The block of groups that a tile's k are in.
Value* TileReader::group_block(Value* depth_tile) {
  if (t_.groups() <= 1) return e_.n32(0);
  if (t_.group <= t_.depth()) return depth_tile;
  return e_.b.CreateUDiv(depth_tile, e_.n32(t_.group / t_.depth()));
}

Value* TileReader::scale_index(Value* column_tile, Value* block, Value* column) {
  Value* index = e_.b.CreateAdd(e_.b.CreateMul(column_tile, e_.n32(t_.group_blocks())), block);
  if (t_.slots > 1) index = e_.b.CreateAdd(e_.b.CreateMul(index, e_.n32(t_.slots)), column);
  return e_.b.CreateMul(index, e_.n32(t_.block_groups()));
}

// `bytes` at the index-th number of them behind `offset`, with zeros above.
Value* TileReader::load_raw(Value* index, int bytes, int64_t offset, int alignment) {
  llvm::Type* type = e_.b.getIntNTy(static_cast<unsigned>(8 * bytes));
  Value* at = e_.at(w_, e_.b.CreateAdd(e_.wide(index), e_.num(offset)));
  return e_.b.CreateZExt(e_.load(type, at, alignment), e_.i32);
}

Values TileReader::read(Value* column_tile, Value* depth_tile) {
  Values tile = read_codes(column_tile, depth_tile);
  if (!t_.meaning) return tile;
  Value *block = group_block(depth_tile), *g = e_.b.CreateLShr(e_.lane(), 2), *t = e_.b.CreateAnd(e_.lane(), 3);
  const int bytes = t_.scale_bytes(), zero_bytes = t_.zero_point_bytes();
  for (int j = 0; j < 2; ++j) {
    const auto scale_at = [&](Value* column, int group, int level) {
      Value* index =
          e_.b.CreateAdd(scale_index(column_tile, block, e_.b.CreateAdd(column, e_.n32(8 * j))), e_.n32(group));
      if (t_.levels() > 1) index = e_.b.CreateAdd(e_.b.CreateMul(index, e_.n32(t_.levels())), e_.n32(level));
      return load_raw(e_.b.CreateMul(index, e_.n32(bytes)), bytes, t_.scales_offset(), bytes);
    };
    if (scales_ == PairScales::folded) {
      Value* first = scale_index(column_tile, block, e_.b.CreateAdd(g, e_.n32(8 * j)));
      tile.push_back(load_raw(first, groups_, t_.scales_offset(), groups_));
    }
    for (int group = 0; group < groups_; ++group) {
      for (int level = 0; level < t_.levels() && scales_ == PairScales::on_sums; ++level)
        for (int e = 0; e < 2; ++e)
          tile.push_back(scale_at(e_.b.CreateAdd(e_.b.CreateShl(t, 1), e_.n32(e)), group, level));
      if (!zero_bytes) continue;
      Value* index = e_.b.CreateAdd(scale_index(column_tile, block, e_.b.CreateAdd(g, e_.n32(8 * j))), e_.n32(group));
      tile.push_back(
          load_raw(e_.b.CreateMul(index, e_.n32(zero_bytes)), zero_bytes, t_.zero_points_offset(), zero_bytes));
    }
  }
  return tile;
}

// --- codes

Value* TileReader::code(const Values& words, int index) {
  auto& b = e_.b;
  const int bit = t_.first_bit(index), shift = bit % 32;
  const auto word = static_cast<size_t>(bit / 32);
  Value* v = shift ? b.CreateLShr(words[word], e_.n32(shift)) : words[word];
  if (shift + t_.bits > 32) v = b.CreateOr(v, b.CreateShl(words[word + 1], e_.n32(32 - shift)));
  if (t_.bits < 32 && shift + t_.bits != 32) v = b.CreateAnd(v, e_.n32((int64_t{1} << t_.bits) - 1));
  return t_.flipped ? b.CreateXor(v, e_.n32(t_.flipped)) : v;
}

Value* TileReader::codes(const Values& words, int first) {
  Values four;
  for (int i = 0; i < 4; ++i) four.push_back(code(words, first + i));
  return e_.vector_of(four);
}

std::pair<Value*, Value*> TileReader::pairs(const Values& tile, int j, int s) {
  if (by_ == By::plain) return {tile[static_cast<size_t>(8 * j + 2 * s)], tile[static_cast<size_t>(8 * j + 2 * s + 1)]};
  if (by_ == By::numbers) return by_numbers(tile, j, s);
  Value* word = tile[static_cast<size_t>(t_.bits == 8 ? 4 * j + s : 2 * j + s / 2)];
  Value* scale = scales_ == PairScales::folded ? scale_pair(tile, j, s) : nullptr;
  const auto pair = [&](int r) {
    Value* v = by_ == By::bytes     ? byte_pair(word, r)
               : by_ == By::nibbles ? nibble_pair(word, s % 2 * 2 + r)
                                    : field_pair(word, s % 2 * 2 + r);
    return scale ? e_.fma_bf16x2(v, scale, e_.n32(kMinusZeros)) : v;
  };
  Value* low = pair(0);
  return {low, pair(1)};
}

Value* TileReader::byte_pair(Value* word, int half) {
  Value* x = e_.prmt(word, e_.n32(0x43434343), half ? 0x7372u : 0x7170u);  // 43 c1 43 c0
  Value* low = e_.b.CreateAnd(x, e_.n32(0xff7fff7f));
  Value* less = e_.lop3(x, e_.n32(0x43804380), e_.n32(kMinusZeros), kAndOr);  // -128, or -256
  return e_.fma_bf16x2(low, e_.n32(kOnes), less);
}

Value* TileReader::nibble_pair(Value* word, int p) {
  Value* v = p ? e_.b.CreateLShr(word, e_.n32(4 * p)) : word;
  v = e_.lop3(v, e_.n32(0x000f000f), e_.n32(0x43004300), kAndOr);  // 128 + what is stored
  return e_.fma_bf16x2(v, e_.n32(kOnes), e_.n32(0xc308c308));      // -136
}

// Sign and fields to their places; the number so far is small by 2^(127 - bias), which may be a subnormal.
Value* TileReader::field_pair(Value* word, int p) {
  auto& b = e_.b;
  const int up = 7 - t_.meaning->mantissa_bits - 4 * p;
  const auto mask = static_cast<int64_t>((7u << (7 - t_.meaning->mantissa_bits)) * 0x00010001u);
  Value* fields = up > 0 ? b.CreateShl(word, e_.n32(up)) : up < 0 ? b.CreateLShr(word, e_.n32(-up)) : word;
  fields = b.CreateAnd(fields, e_.n32(mask));
  Value* sign = p < 3 ? b.CreateShl(word, e_.n32(12 - 4 * p)) : word;
  const uint32_t power = (t_.meaning->exponent_offset >> 23) + 127;
  return e_.fma_bf16x2(e_.lop3(sign, e_.n32(kMinusZeros), fields, kAndOr), e_.n32((power << 7) * 0x00010001u),
                       e_.n32(kMinusZeros));
}

std::pair<Value*, Value*> TileReader::by_numbers(const Values& tile, int j, int s) {
  const int group = s * groups_ / 4;
  Value* zero = nullptr;
  if (t_.zero_point_bytes()) {
    const int per_j = scales_ == PairScales::folded    ? 1 + groups_
                      : scales_ == PairScales::on_sums ? group_words() * groups_
                                                       : groups_;
    const int first = scales_ == PairScales::folded    ? 1 + group
                      : scales_ == PairScales::on_sums ? group_words() * (group + 1) - 1
                                                       : group;
    zero = numbers_->zero_point(e_.splat(tile[static_cast<size_t>(t_.bits + j * per_j + first)]));
  }
  Value* x = numbers_->number(codes(tile, 16 * j + 4 * s), zero);
  if (scales_ == PairScales::folded) x = e_.b.CreateFMul(x, e_.splat(scale_number(raw_scale(tile, j, group))));
  const Values four = e_.elements(x);
  const auto pair = [&](size_t i) { return e_.prmt(e_.word(four[i]), e_.word(four[i + 1]), 0x7632u); };  // exact
  Value* low = pair(0);
  return {low, pair(2)};
}

// --- scales

Value* TileReader::raw_scale(const Values& tile, int j, int group) {
  const int per_j = 1 + (t_.zero_point_bytes() ? groups_ : 0);
  Value* all = tile[static_cast<size_t>(t_.bits + j * per_j)];
  if (group) all = e_.b.CreateLShr(all, e_.n32(8 * group));
  return group + 1 < groups_ ? e_.b.CreateAnd(all, e_.n32(255)) : all;
}

Value* TileReader::scale_number(Value* raw) {
  using By = ScaleMeaning::By;
  auto& b = e_.b;
  const ScaleMeaning& s = t_.meaning->scale;
  switch (s.by) {
    case By::none:
    case By::unknown:
      CHECK(false, "no scales that are read");
    case By::integer:  // of two levels
    case By::code:
    case By::f32:
      return e_.as(raw, e_.f32);
    case By::bf16:
      return e_.as(b.CreateShl(raw, 16), e_.f32);
    case By::f16:
      return e_.widen(DType::f16, b.CreateTrunc(raw, e_.i16));
    case By::power_of_two: {  // code 0 is 2^-127, the largest subnormal power of two
      Value* bits = b.CreateShl(raw, 23);
      bits = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bits, e_.n32(0x00400000));
      return e_.as(b.CreateSelect(b.CreateICmpEQ(raw, e_.n32(255)), e_.n32(0x7fc00000), bits), e_.f32);
    }
    case By::minifloat: {
      const auto up = static_cast<uint32_t>(23 - s.mantissa_bits);
      Value* bits = b.CreateShl(b.CreateAnd(raw, e_.n32(127)), e_.n32(up));
      Value* sign = b.CreateShl(b.CreateAnd(raw, e_.n32(128)), e_.n32(24));
      Value* scale = b.CreateFMul(e_.as(b.CreateOr(bits, sign), e_.f32), llvm::ConstantFP::get(e_.f32, double{s.unit}));
      return b.CreateSelect(b.CreateICmpEQ(bits, e_.n32(int64_t{127} << up)),
                            llvm::ConstantFP::get(e_.f32, std::numeric_limits<double>::quiet_NaN()), scale);
    }
  }
  CHECK(false);
}

Value* TileReader::scale_pair(const Values& tile, int j, int s) {
  Value* scale = scale_number(raw_scale(tile, j, s * groups_ / 4));
  if (unit_in_scale_ && t_.meaning->unit != 1)
    scale = e_.b.CreateFMul(scale, llvm::ConstantFP::get(e_.f32, double{t_.meaning->unit}));
  return e_.prmt(e_.word(scale), e_.word(scale), 0x3232u);
}

std::pair<Value*, Value*> TileReader::minimums(const Values& tile, int j, int group) {
  auto [low, high] = factor(tile, j, group, 1);
  if (t_.meaning->minimum_sign < 0) low = e_.b.CreateFNeg(low), high = e_.b.CreateFNeg(high);
  return {low, high};
}

std::pair<Value*, Value*> TileReader::factor(const Values& tile, int j, int group, int level) {
  const int first = t_.bits + (j * groups_ + group) * group_words() + 2 * level;
  const auto at = [&](int i) { return scale_number(tile[static_cast<size_t>(first + i)]); };
  Value* low = at(0);
  return {low, at(1)};
}

Value* TileReader::global_scale() {
  return t_.meaning && t_.meaning->has_global ? e_.load(e_.f32, e_.at(w_, t_.global_offset()), 4) : nullptr;
}

// --- runs

Value* TileReader::group_of_code(Value* column, Value* depth_tile, int i) {
  auto& b = e_.b;
  Value* k = b.CreateAdd(b.CreateShl(depth_tile, 5), b.CreateAdd(b.CreateShl(b.CreateAnd(e_.lane(), 3), 3), e_.n32(i)));
  Value* at = e_.wide(k);
  if (t_.crossing)  // elements of its first group in the columns before
    at = b.CreateAdd(at, b.CreateURem(b.CreateMul(e_.wide(column), e_.num(t_.k)), e_.num(t_.group)));
  Value* g = b.CreateTrunc(b.CreateUDiv(at, e_.num(t_.group)), e_.i32);
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, g, e_.n32(t_.groups() - 1));  // behind the last k
}

CodeNumbers::Group TileReader::group_of_run(Value* column_tile, Value* depth_tile, int j, int h) {
  auto& b = e_.b;
  Value* column = b.CreateAdd(b.CreateLShr(e_.lane(), 2), e_.n32(8 * j));
  const bool one = t_.groups() <= 1 || (t_.groups_fit() && t_.group >= 4);  // of four codes
  Values indices;
  for (int i = 0; i < (one ? 1 : 4); ++i) {
    if (one) {
      Value* index = scale_index(column_tile, group_block(depth_tile), column);
      if (t_.groups() > 1 && t_.group < t_.depth()) {
        Value* k = b.CreateAdd(b.CreateShl(b.CreateAnd(e_.lane(), 3), 3), e_.n32(4 * h));
        index = b.CreateAdd(index, b.CreateUDiv(k, e_.n32(t_.group)));
      }
      indices.push_back(index);
    } else {
      Value* whole_column = b.CreateAdd(b.CreateMul(column_tile, e_.n32(t_.columns())), column);
      Value* g = group_of_code(whole_column, depth_tile, 4 * h + i);
      Value* side = e_.n32(t_.block_groups());
      Value* index = scale_index(column_tile, b.CreateUDiv(g, side), column);
      indices.push_back(b.CreateAdd(index, b.CreateURem(g, side)));
    }
  }
  const auto vector = [&](auto number) {
    Values all;
    for (Value* index : indices) all.push_back(number(index));
    return one ? e_.splat(all[0]) : e_.vector_of(all);
  };
  Values scales;
  const int bytes = t_.scale_bytes(), levels = t_.levels(), zero_bytes = t_.zero_point_bytes();
  Value* global = global_scale();
  for (int level = 0; level < levels && bytes; ++level)
    scales.push_back(vector([&](Value* index) {
      Value* at = b.CreateMul(b.CreateAdd(b.CreateMul(index, e_.n32(levels)), e_.n32(level)), e_.n32(bytes));
      Value* scale = scale_number(load_raw(at, bytes, t_.scales_offset(), bytes));
      return global ? b.CreateFMul(scale, global) : scale;
    }));
  Value* zero = nullptr;
  if (zero_bytes)
    zero = numbers_->zero_point(vector([&](Value* index) {
      return load_raw(b.CreateMul(index, e_.n32(zero_bytes)), zero_bytes, t_.zero_points_offset(), zero_bytes);
    }));
  return numbers_->group(std::move(scales), zero);
}

Value* TileReader::numbers(const Values& words, Value* column_tile, Value* depth_tile, int j, int h) {
  Value* four = codes(words, 8 * j + 4 * h);
  if (!t_.meaning) {
    if (t_.bits == 32) return e_.as(four, e_.v_f32);
    return e_.as(e_.b.CreateShl(four, e_.c_i32(16)), e_.v_f32);
  }
  return numbers_->value(four, group_of_run(column_tile, depth_tile, j, h));
}

}  // namespace hone

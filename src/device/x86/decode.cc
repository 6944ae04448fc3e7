#include "device/x86/decode.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_bits.h"

namespace hone {

using llvm::Value;

using Decode = WeightCodec::Decode;

WeightDecoder::WeightDecoder(X86Emitter& e, const WeightCodec& codec, const Format& format)
    : e_(e), codec_(codec), numbers_(e, codec, format) {
  if (codec.decode == Decode::lanes) return;
  const size_t codes = size_t{1} << codec.stored_bits, below = codec.zero_in_index ? codes : 0;
  words_.resize(below + codes);
  for (size_t i = 0; i < below; ++i) words_[i] = f32_to_bf16(-static_cast<float>(below - i));
  for (size_t code = 0; code < codec.values.size(); ++code)
    words_[below + codec.recode[code]] = f32_to_bf16(codec.values[code]);
  if (codec.decode != Decode::mirrored) return;
  for (size_t code = 0; code < codec.values.size(); ++code)  // magnitudes that occur with a negative sign only
    if (const size_t rank = codec.recode[code] & 0x7f; rank > 0 && codec.recode[code] & 0x80)
      words_[rank] = f32_to_bf16(std::abs(codec.values[code]));
}

Value* WeightDecoder::pair(const ChunkLanes& chunk, int j, Value* zero) {
  switch (codec_.decode) {
    case Decode::words:
      return word_pair(chunk, j, zero);
    case Decode::mirrored:
    case Decode::bytes256:
      return byte_pair(chunk.rows[0], j);
    case Decode::lanes:
      return e_.join_pair(value(chunk, 2 * j, zero), value(chunk, 2 * j + 1, zero));
  }
  CHECK(false);
}

Value* WeightDecoder::value(const ChunkLanes& chunk, int i, Value* zero) {
  if (codec_.decode == Decode::lanes) return numbers_.number(code(chunk, i), zero);
  const auto [low, high] = e_.split_pair(pair(chunk, i / 2, zero));
  Value* x = i % 2 ? high : low;
  return zero && !codec_.zero_in_index ? e_.b.CreateFSub(x, zero) : x;
}

Value* WeightDecoder::value(const ChunkLanes& chunk, int i, const CodeNumbers::Group& group) {
  if (codec_.decode == Decode::lanes) return numbers_.value(code(chunk, i), group);
  Value* x = value(chunk, i, group.zero);
  return group.scales.empty() ? x : e_.b.CreateFMul(x, group.scales[0]);
}

// Sixteen-bit halves hold the even and the odd codes. What lies above the bits that a lookup reads is not looked at;
// what lies below a code in them only repeats table entries, so that codes share a shift.
Value* WeightDecoder::word_pair(const ChunkLanes& chunk, int j, Value* zero) {
  const int bits = codec_.stored_bits, read = index_bits(), mask = (1 << bits) - 1;
  if (codec_.zero_in_index) return e_.as(e_.lookup_words(less_zero(chunk, j, zero), bits + 1, words_), e_.v_i32);
  auto [index, below] = codec_.order == WeightCodec::Order::fields ? field_index(chunk, j) : plane_index(chunk, j);
  const int down = std::max(0, below + bits - read);
  index = shifted(index, -down);
  std::vector<uint16_t> table;
  for (int i = 0; i < 1 << read; ++i) table.push_back(words_[static_cast<size_t>(i >> (below - down) & mask)]);
  return e_.as(e_.lookup_words(index, read, table), e_.v_i32);
}

// Codes of both bytes of a half are masked and added to at once.
Value* WeightDecoder::less_zero(const ChunkLanes& chunk, int j, Value* zero) {
  const int mask = (1 << codec_.stored_bits) - 1, per_row = 16 / codec_.stored_bits,
            position = j % per_row * codec_.stored_bits;
  const bool in_fields = codec_.order == WeightCodec::Order::fields;
  Value* index = nullptr;
  if (in_fields) {
    const Index field = field_index(chunk, j);
    index = shifted(field.value, -field.below);
  } else {
    index = shifted(e_.as(chunk.rows[static_cast<size_t>(j / per_row)], halves(0)->getType()), -(position % 8));
  }
  index = e_.b.CreateAnd(index, halves(in_fields ? mask : 0x0101 * mask));
  index = e_.b.CreateAdd(index, e_.as(zero, index->getType()));
  return in_fields ? index : shifted(index, -(position / 8 * 8));
}

// Those that one permute reads.
int WeightDecoder::index_bits() const { return e_.avx512 ? std::max(5, codec_.stored_bits) : codec_.stored_bits; }

Value* WeightDecoder::halves(int x) const {
  return llvm::ConstantInt::get(e_.vec(e_.i16, 2 * e_.lanes), static_cast<uint64_t>(x));
}

// Sixteen-bit halves shifted up, or down.
Value* WeightDecoder::shifted(Value* v, int up) {
  if (up > 0) return e_.b.CreateShl(v, halves(up));
  return up < 0 ? e_.b.CreateLShr(v, halves(-up)) : v;
}

// Codes that a lookup can tell from one another share a shift; bits of several planes are put together where they meet.
WeightDecoder::Index WeightDecoder::plane_index(const ChunkLanes& chunk, int j) {
  llvm::Type* type = e_.vec(e_.i16, 2 * e_.lanes);
  const bool single = codec_.planes.size() == 1;
  Value* index = nullptr;
  int done = 0, row = 0, below = 0;
  for (const int width : codec_.planes) {
    const int per_row = 16 / width, position = j % per_row * width;
    const bool in_upper = position >= 8 && !chunk.upper.empty();
    const int at = in_upper ? position - 8 : position;
    if (single) below = at % (index_bits() / width * width);
    Value* v = e_.as((in_upper ? chunk.upper : chunk.rows)[static_cast<size_t>(row + j / per_row)], type);
    v = shifted(v, done + below - at);
    const int known = (1 << done) - 1;
    index = index ? e_.b.CreateOr(e_.b.CreateAnd(index, halves(known)), e_.b.CreateAnd(v, halves(0xffff & ~known))) : v;
    done += width;
    row += codec_.chunk_k() * width / 32;
  }
  return {index, below};
}

// A byte of each half, brought down: its field holds one code or two.
WeightDecoder::Index WeightDecoder::field_index(const ChunkLanes& chunk, int j) {
  const int in_field = codec_.field_bits / codec_.stored_bits, field = j / in_field,
            below = j % in_field * codec_.stored_bits;
  llvm::Type* type = e_.vec(e_.i16, 2 * e_.lanes);
  const int word = field / 2;
  const bool in_row = word < codec_.chunk_rows(), upper = field % 2 != 0;
  if (in_row && upper && !chunk.upper.empty()) return {e_.as(chunk.upper[static_cast<size_t>(word)], type), below};
  Value* v = in_row ? e_.as(chunk.rows[static_cast<size_t>(word)], type) : nullptr;
  for (const FieldPiece& piece : field_pieces(codec_.field_bits)) {
    if (piece.word != word) continue;
    Value* bits = shifted(e_.as(chunk.rows[static_cast<size_t>(piece.row)], type), piece.to - piece.from);
    bits = e_.b.CreateAnd(bits, halves(0x0101 * (((1 << piece.bits) - 1) << piece.to)));
    v = v ? e_.b.CreateOr(v, bits) : bits;
  }
  return {upper ? shifted(v, -8) : v, below};
}

// The low or the high byte of the bf16 value of each of 64 codes.
Value* WeightDecoder::byte_half(Value* codes, int shift) {
  std::vector<uint8_t> table(codec_.decode == Decode::bytes256 ? 256 : 128);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(words_[i] >> shift);
  Value* half = e_.lookup_bytes(codes, table);
  if (table.size() == 256) return half;
  llvm::Type* bytes = e_.vec(e_.i8, 64);
  if (shift == 8) half = e_.b.CreateOr(half, e_.b.CreateAnd(codes, llvm::ConstantInt::get(bytes, 0x80)));
  const uint8_t lone = static_cast<uint8_t>(f32_to_bf16(codec_.lone_value) >> shift);
  if (lone == 0) return half;  // -0 or a value whose low byte is that of 0
  Value* is_lone = e_.b.CreateICmpEQ(codes, llvm::ConstantInt::get(bytes, 0x80));
  return e_.b.CreateSelect(is_lone, llvm::ConstantInt::get(bytes, lone), half);
}

// Low and high bytes are interleaved inside each 128-bit part, as the byte unpack instructions do it; prepack has put
// the bytes where that leaves pairs of k in their columns. Both halves share the lookups: the back end merges equal
// nodes.
Value* WeightDecoder::byte_pair(Value* codes, int half) {
  codes = e_.as(codes, e_.vec(e_.i8, 64));
  std::vector<int> order;
  for (int part = 0; part < 4; ++part)
    for (int i = 0; i < 8; ++i) {
      order.push_back(part * 16 + half * 8 + i);
      order.push_back(64 + part * 16 + half * 8 + i);
    }
  return e_.as(e_.b.CreateShuffleVector(byte_half(codes, 0), byte_half(codes, 8), order), e_.v_i32);
}

// The i-th stored code, with zeros above.
Value* WeightDecoder::code(const ChunkLanes& chunk, int i) {
  auto& b = e_.b;
  const bool halves = codec_.order == WeightCodec::Order::halves;
  Value* code = nullptr;
  int done = 0, row = 0;
  for (const int width : codec_.planes) {
    const int per_row = 32 / width, in_row = i % per_row;
    const int shift = halves ? in_row % 2 * 16 + in_row / 2 * width : in_row * width;
    Value* v = chunk.rows[static_cast<size_t>(row + i / per_row)];
    if (shift) v = b.CreateLShr(v, e_.c_i32(static_cast<uint32_t>(shift)));
    if (shift + width < 32) v = b.CreateAnd(v, e_.c_i32((1u << width) - 1));
    if (done) v = b.CreateShl(v, e_.c_i32(static_cast<uint32_t>(done)));
    code = code ? b.CreateOr(code, v) : v;
    done += width;
    row += codec_.chunk_k() * width / 32;
  }
  return code;
}

Value* WeightDecoder::scales(Value* pointer, Value* global) {
  using By = ScaleMeaning::By;
  auto& b = e_.b;
  const auto stored = [&](llvm::Type* type) { return e_.load(e_.vec(type), pointer); };
  switch (codec_.scale.by) {
    case By::none:
    case By::integer:  // laid out as what they come to, f32
    case By::unknown:
      CHECK(false, "no scales that are read");
    case By::code:
      return e_.as(b.CreateZExt(stored(e_.i8), e_.v_i32), e_.v_f32);
    case By::f32:
      return stored(e_.f32);
    case By::bf16:
      return e_.widen(DType::bf16, stored(e_.i16));
    case By::f16:
      return e_.widen(DType::f16, stored(e_.i16));
    case By::power_of_two: {
      Value* bits = b.CreateShl(b.CreateZExt(stored(e_.i8), e_.v_i32), e_.c_i32(23));
      // Code 0 is 2^-127, the largest f32 subnormal power of two.
      return e_.as(b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bits, e_.c_i32(0x00400000)), e_.v_f32);
    }
    case By::minifloat: {
      const auto up = static_cast<uint32_t>(23 - codec_.scale.mantissa_bits);
      Value* bits = b.CreateShl(b.CreateSExt(stored(e_.i8), e_.v_i32), e_.c_i32(up));
      bits = b.CreateAnd(bits, e_.c_i32(0x80000000 | 0x7fu << up));
      Value* scale = b.CreateFMul(e_.as(bits, e_.v_f32), e_.c_f32(codec_.scale.unit));
      if (global) scale = b.CreateFMul(scale, global);
      Value* is_nan = b.CreateICmpEQ(bits, e_.c_i32(0x7fu << up));
      return b.CreateSelect(is_nan, e_.c_f32(std::numeric_limits<double>::quiet_NaN()), scale);
    }
  }
  CHECK(false);
}

Value* WeightDecoder::zero_points(Value* pointer) {
  if (!codec_.zero_point_bytes) return nullptr;
  Value* zero = e_.load(e_.vec(codec_.zero_point_bytes == 1 ? e_.i8 : e_.i16), pointer);
  zero = e_.b.CreateZExt(zero, e_.v_i32);
  if (codec_.decode == Decode::lanes) return numbers_.zero_point(zero);
  if (!codec_.zero_in_index) return e_.b.CreateUIToFP(zero, e_.v_f32);
  Value* offset = e_.b.CreateSub(e_.c_i32(1u << codec_.stored_bits), zero);
  offset = e_.b.CreateOr(offset, e_.b.CreateShl(offset, e_.c_i32(8)));
  return e_.b.CreateOr(offset, e_.b.CreateShl(offset, e_.c_i32(16)));
}

}  // namespace hone

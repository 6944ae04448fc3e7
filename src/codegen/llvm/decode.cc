#include "codegen/llvm/decode.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <bit>

#include "base/float_bits.h"
#include "codegen/llvm/expr_emit.h"

namespace hone {

using llvm::Value;

WeightDecoder::WeightDecoder(Emitter& e, const WeightCodec& codec, const Format& format) : e_(e), codec_(codec) {
  if (codec.decode == WeightCodec::Decode::expression)
    decode_ = flatten(cast(Scalar::f32, format.codec->decode(format.element, Expr::arg(0, Scalar::u32))));
  if (codec.pairs)
    for (float v : codec.values) words_.push_back(f32_to_bf16(v));
}

Value* WeightDecoder::pair(Value* codes, int j) {
  switch (codec_.decode) {
    case WeightCodec::Decode::words:
      return word_pair(codes, j);
    case WeightCodec::Decode::bytes64:
    case WeightCodec::Decode::mirrored:
    case WeightCodec::Decode::bytes256:
      return byte_pair(codes, j);
    default:
      return e_.join_pair(natural_value(codes, 2 * j), natural_value(codes, 2 * j + 1));
  }
}

Value* WeightDecoder::value(Value* codes, int i) {
  if (codec_.order == WeightCodec::Order::natural) return natural_value(codes, i);
  const auto [low, high] = e_.split_pair(pair(codes, i / 2));
  return i % 2 ? high : low;
}

// Sixteen-bit halves hold the even and the odd codes; a shift brings the j-th pair of them down.
Value* WeightDecoder::word_pair(Value* codes, int j) {
  llvm::Type* halves = e_.vec(e_.i16, 2 * e_.lanes);
  Value* v = e_.as(codes, halves);
  llvm::Constant* shift = llvm::ConstantInt::get(halves, static_cast<uint64_t>(codec_.stored_bits * j));
  return e_.as(e_.lookup_words(j ? e_.b.CreateLShr(v, shift) : v, codec_.stored_bits, words_), e_.v_i32);
}

// The low or the high byte of the bf16 value of each of 64 codes.
Value* WeightDecoder::byte_half(Value* codes, int shift) {
  const auto part = [&](size_t first) {
    std::vector<uint8_t> table(64);
    for (size_t i = 0; i < 64; ++i) table[i] = static_cast<uint8_t>(words_[first + i] >> shift);
    return e_.bytes(table);
  };
  const auto of128 = [&](size_t first) {
    Value* const operands[] = {part(first), codes, part(first + 64)};
    return e_.call(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {}, operands);
  };
  if (codec_.decode == WeightCodec::Decode::bytes64) {
    Value* const operands[] = {part(0), codes};
    return e_.call(llvm::Intrinsic::x86_avx512_permvar_qi_512, {}, operands);
  }
  llvm::Type* bytes = e_.vec(e_.i8, 64);
  if (codec_.decode == WeightCodec::Decode::bytes256) {
    Value* negative = e_.b.CreateICmpSLT(codes, llvm::Constant::getNullValue(bytes));
    return e_.b.CreateSelect(negative, of128(128), of128(0));
  }
  Value* half = of128(0);
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

Value* WeightDecoder::natural_value(Value* codes, int i) {
  auto& b = e_.b;
  const int bits = codec_.stored_bits, top_shift = 32 - bits * (i + 1);
  const auto to_top = [&] {
    return top_shift ? b.CreateShl(codes, e_.c_i32(static_cast<uint32_t>(top_shift))) : codes;
  };
  const auto to_bottom = [&](Value* top) {
    return bits == 32 ? top : b.CreateLShr(top, e_.c_i32(static_cast<uint32_t>(32 - bits)));
  };
  switch (codec_.decode) {
    case WeightCodec::Decode::integer: {
      Value* integer = codec_.is_signed ? b.CreateAShr(to_top(), e_.c_i32(24)) : to_bottom(to_top());
      Value* number = b.CreateSIToFP(integer, e_.v_f32);
      return codec_.unit == 1 ? number : b.CreateFMul(number, e_.c_f32(codec_.unit));
    }
    case WeightCodec::Decode::minifloat:
      return minifloat(to_top());
    case WeightCodec::Decode::table:
      return e_.lookup_f32(to_bottom(to_top()), codec_.values);
    case WeightCodec::Decode::expression: {
      Value* const code[] = {to_bottom(to_top())};
      return emit_program(e_, decode_, code, nullptr)[0];
    }
    default:
      CHECK(false, "codes are looked up in pairs");
  }
}

// weight_codec.cc, minifloat_value() is the same computation. `top` has the byte in its highest bits.
Value* WeightDecoder::minifloat(Value* top) {
  auto& b = e_.b;
  constexpr uint32_t kStep = 1u << 23;
  const uint32_t offset = codec_.exponent_offset;
  Value* magnitude =
      b.CreateLShr(b.CreateAnd(top, e_.c_i32(0x7f000000)), e_.c_i32(1 + static_cast<uint32_t>(codec_.mantissa_bits)));
  Value* normal = b.CreateAdd(magnitude, e_.c_i32(offset));
  Value* shifted = e_.as(b.CreateAdd(magnitude, e_.c_i32(offset + kStep)), e_.v_f32);
  Value* subnormal = e_.as(b.CreateFSub(shifted, e_.as(e_.c_i32(offset + kStep), e_.v_f32)), e_.v_i32);
  Value* bits = b.CreateSelect(b.CreateICmpULT(magnitude, e_.c_i32(kStep)), subnormal, normal);
  if (codec_.nan_from < 128) {
    Value* limit = e_.c_i32(codec_.nan_from << (23 - codec_.mantissa_bits));
    bits = b.CreateSelect(b.CreateICmpUGE(magnitude, limit), e_.c_i32(0x7fc00000), bits);
  }
  return e_.as(b.CreateOr(bits, b.CreateAnd(top, e_.c_i32(0x80000000))), e_.v_f32);
}

Value* WeightDecoder::scales(Value* pointer) {
  if (codec_.scale == WeightCodec::Scale::f32) return e_.load(e_.v_f32, pointer);
  CHECK(codec_.scale == WeightCodec::Scale::e8m0);
  Value* exponent = e_.b.CreateZExt(e_.load(e_.vec(e_.i8), pointer), e_.v_i32);
  Value* bits = e_.b.CreateShl(exponent, e_.c_i32(23));
  // Code 0 is 2^-127, the largest f32 subnormal power of two.
  return e_.as(e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bits, e_.c_i32(0x00400000)), e_.v_f32);
}

}  // namespace hone

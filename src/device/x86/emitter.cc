#include "device/x86/emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/error.h"
#include "device/x86/x86_kernel.h"

namespace hone {

using llvm::Intrinsic::ID;
namespace Intrinsic = llvm::Intrinsic;

namespace {

constexpr uint32_t kCurrentRounding = 4;  // an operand of instructions that take a rounding mode

}  // namespace

X86Emitter::X86Emitter(llvm::Module& m, const X86Target& t)
    : Emitter(m, t.lanes()),
      target(t),
      avx512(t.avx512()),
      bf16(t.has(Feature::avx512_bf16)),
      vbmi(t.has(Feature::avx512_vbmi)) {}

X86Emitter& x86_emitter(Emitter& e) { return static_cast<X86Emitter&>(e); }

void X86Emitter::describe_machine(llvm::Function& function) {
  function.addFnAttr("prefer-vector-width", avx512 ? "512" : "256");
}

llvm::Value* X86Emitter::nearest(llvm::Value* x) {
  llvm::Value* ordered = b.CreateFCmpORD(x, x);
  if (!avx512) {
    llvm::Value* whole = b.CreateIntrinsic(Intrinsic::x86_avx_cvt_ps2dq_256, {}, {x});
    return b.CreateAnd(whole, b.CreateSExt(ordered, v_i32));
  }
  return b.CreateIntrinsic(
      Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
      {x, llvm::Constant::getNullValue(v_i32), b.CreateBitCast(ordered, i16), b.getInt32(kCurrentRounding)});
}

llvm::Value* X86Emitter::scale_by_power(llvm::Value* value, llvm::Value* n) {
  if (!avx512) return Emitter::scale_by_power(value, n);
  llvm::Value* none = llvm::Constant::getNullValue(v_f32);
  return b.CreateIntrinsic(Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                           {value, n, none, b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
}

llvm::Value* X86Emitter::fraction(llvm::Value* x) {
  if (!avx512) return nullptr;
  constexpr uint32_t kToNearest = 8;  // and without exceptions
  llvm::Value* none = llvm::Constant::getNullValue(v_f32);
  return b.CreateIntrinsic(Intrinsic::x86_avx512_mask_reduce_ps_512, {},
                           {x, b.getInt32(kToNearest), none, b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
}

std::pair<llvm::Value*, llvm::Value*> X86Emitter::split_pair(llvm::Value* pair) {
  pair = as(pair, v_i32);
  return {as(b.CreateShl(pair, c_i32(16)), v_f32), as(b.CreateAnd(pair, c_i32(0xffff0000)), v_f32)};
}

llvm::Value* X86Emitter::join_pair(llvm::Value* low, llvm::Value* high) {
  return b.CreateOr(b.CreateLShr(as(low, v_i32), c_i32(16)), b.CreateAnd(as(high, v_i32), c_i32(0xffff0000)));
}

llvm::Value* X86Emitter::join_pair_rounded(llvm::Value* low, llvm::Value* high) {
  auto rounded = [&](llvm::Value* value) {
    value = as(value, v_i32);
    return b.CreateAdd(value, b.CreateAdd(b.CreateAnd(b.CreateLShr(value, c_i32(16)), c_i32(1)), c_i32(0x7fff)));
  };
  return join_pair(rounded(low), rounded(high));
}

llvm::Value* X86Emitter::dot_bf16(llvm::Value* acc, llvm::Value* x, llvm::Value* y) {
  if (bf16) {
    llvm::Type* pairs = vec(b.getBFloatTy(), 2 * lanes);
    return b.CreateIntrinsic(Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, {acc, as(x, pairs), as(y, pairs)});
  }
  const auto [x_low, x_high] = split_pair(x);
  const auto [y_low, y_high] = split_pair(y);
  return fma(x_high, y_high, fma(x_low, y_low, acc));
}

// LLVM may not add products up before they join the sum: they would wait in registers, of which there are too few.
llvm::Value* X86Emitter::dot_words(llvm::Value* acc, llvm::Value* x, llvm::Value* y) {
  llvm::Type* pairs = vec(i16, 2 * lanes);
  const ID products = avx512 ? Intrinsic::x86_avx512_pmaddw_d_512 : Intrinsic::x86_avx2_pmadd_wd;
  if (!llvm::isa<llvm::Constant>(acc))
    acc = as(b.CreateIntrinsic(Intrinsic::arithmetic_fence, {v_f32}, {as(acc, v_f32)}), v_i32);
  return b.CreateAdd(acc, b.CreateIntrinsic(products, {}, {as(x, pairs), as(y, pairs)}));
}

std::pair<llvm::Value*, llvm::Value*> X86Emitter::split_bytes(llvm::Value* x, bool is_signed) {
  llvm::Type* v_words = vec(i16, 2 * lanes);
  llvm::Value *pairs = as(x, v_words), *eight = llvm::ConstantInt::get(v_words, 8);
  if (is_signed) return {b.CreateAShr(b.CreateShl(pairs, eight), eight), b.CreateAShr(pairs, eight)};
  return {b.CreateAnd(pairs, llvm::ConstantInt::get(v_words, 0xff)), b.CreateLShr(pairs, eight)};
}

// An emulated unit has the products of the CPU's own, without its saturation: vpdpbusd has none either.
llvm::Value* X86Emitter::dot_bytes(llvm::Value* acc, llvm::Value* x, llvm::Value* y) {
  if (target.has(avx512 ? Feature::avx512_vnni : Feature::avx_vnni)) {
    const ID dot = avx512 ? Intrinsic::x86_avx512_vpdpbusd_512 : Intrinsic::x86_avx512_vpdpbusd_256;
    return b.CreateIntrinsic(dot, {}, {acc, x, y});
  }
  const auto [x_even, x_odd] = split_bytes(x, false);
  const auto [y_even, y_odd] = split_bytes(y, true);
  return dot_words(dot_words(acc, x_even, y_even), x_odd, y_odd);
}

llvm::Value* X86Emitter::lookup_words(llvm::Value* index, int bits, std::span<const uint16_t> table) {
  CHECK(bits <= (avx512 ? 6 : 4) && table.size() == size_t{1} << bits);
  const size_t wrap = table.size() - 1;
  llvm::Type* v_words = vec(i16, 2 * lanes);
  index = as(index, v_words);
  if (avx512) {  // vpermw reads five index bits: the table is repeated up to 32 entries instead of masking the index
    if (bits == 6)
      return b.CreateIntrinsic(Intrinsic::x86_avx512_vpermi2var_hi_512, {},
                               {words(table.first(32)), index, words(table.last(32))});
    std::vector<uint16_t> repeated(32);
    for (size_t k = 0; k < 32; ++k) repeated[k] = table[k & wrap];
    return b.CreateIntrinsic(Intrinsic::x86_avx512_permvar_hi_512, {}, {words(repeated), index});
  }
  // Two byte shuffles of 16 entries, one for each byte of a word; an index byte with the top bit set gives 0.
  auto c = [&](uint16_t v) { return llvm::ConstantInt::get(v_words, v); };
  std::vector<uint8_t> low(32), high(32);
  for (size_t k = 0; k < 32; ++k) low[k] = uint8_t(table[k & wrap]), high[k] = uint8_t(table[k & wrap] >> 8);
  llvm::Type* v_bytes = vec(i8, 4 * lanes);
  auto shuffle = [&](const std::vector<uint8_t>& entries, llvm::Value* at) {
    return as(b.CreateIntrinsic(Intrinsic::x86_avx2_pshuf_b, {}, {bytes(entries), as(at, v_bytes)}), v_words);
  };
  llvm::Value* masked = b.CreateAnd(index, c(static_cast<uint16_t>(wrap)));
  return b.CreateOr(shuffle(low, b.CreateOr(masked, c(0x8000))),
                    shuffle(high, b.CreateOr(b.CreateShl(masked, c(8)), c(0x80))));
}

llvm::Value* X86Emitter::permute(llvm::Value* x, llvm::Value* index) {
  const ID of_floats = avx512 ? ID(Intrinsic::x86_avx512_permvar_sf_512) : ID(Intrinsic::x86_avx2_permps);
  return as(b.CreateIntrinsic(of_floats, {}, {as(x, v_f32), index}), x->getType());
}

llvm::Value* X86Emitter::lookup_f32(llvm::Value* index, std::span<const float> table) {
  const size_t size = table.size(), step = static_cast<size_t>(lanes);
  CHECK(size > 0 && (size & (size - 1)) == 0);
  // A gather takes about one nanosecond a lane on Zen 4: as long as a dozen permutes and blends for the whole vector.
  if (size > (avx512 ? 256 : 64)) return gather_f32(index, table);
  // Registers of the table are permuted by the low index bits (which is all that the permute reads); the next bits
  // choose.
  Values parts;
  for (size_t first = 0; first < size; first += step) {
    std::vector<float> part(step);
    for (size_t k = 0; k < step; ++k) part[k] = table[(first + k) & (size - 1)];
    parts.push_back(llvm::ConstantDataVector::get(context, llvm::ArrayRef<float>(part)));
  }
  auto bit = static_cast<uint32_t>(lanes);
  if (avx512 && parts.size() > 1) {  // vpermi2ps permutes two registers at once
    Values pairs;
    for (size_t k = 0; k < parts.size(); k += 2)
      pairs.push_back(b.CreateIntrinsic(Intrinsic::x86_avx512_vpermi2var_ps_512, {}, {parts[k], index, parts[k + 1]}));
    parts = pairs, bit *= 2;
  } else {
    for (llvm::Value*& part : parts) part = permute(part, index);
  }
  for (; parts.size() > 1; bit *= 2) {
    llvm::Value* upper = b.CreateICmpNE(b.CreateAnd(index, c_i32(bit)), c_i32(0));
    Values next;
    for (size_t k = 0; k < parts.size(); k += 2) next.push_back(b.CreateSelect(upper, parts[k + 1], parts[k]));
    parts = next;
  }
  return parts[0];
}

llvm::Value* X86Emitter::lookup_bytes(llvm::Value* index, std::span<const uint8_t> table) {
  CHECK(vbmi && avx512 && table.size() <= 256);
  const auto part = [&](size_t first) {
    std::vector<uint8_t> bytes(64);
    for (size_t i = 0; i < 64 && first + i < table.size(); ++i) bytes[i] = table[first + i];
    return this->bytes(bytes);
  };
  const auto of128 = [&](size_t first) {
    llvm::Value* const operands[] = {part(first), index, part(first + 64)};
    return call(Intrinsic::x86_avx512_vpermi2var_qi_512, {}, operands);
  };
  if (table.size() <= 128) return of128(0);
  llvm::Value* is_upper = b.CreateICmpSLT(index, llvm::Constant::getNullValue(index->getType()));
  return b.CreateSelect(is_upper, of128(128), of128(0));
}

llvm::Value* X86Emitter::lookup_low_bytes(llvm::Value* index, std::span<const uint8_t> table) {
  // Up to 32 entries fit two registers of words.
  if (!vbmi || !avx512 || table.size() <= 32 || table.size() > 256) return nullptr;
  // Of each lane the lowest byte: the others, which are 0, find the first entry.
  return as(lookup_bytes(as(index, vec(i8, 64)), table), v_i32);
}

}  // namespace hone

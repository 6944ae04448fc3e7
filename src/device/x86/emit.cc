#include "device/x86/emit.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cstddef>

#include "base/error.h"
#include "kernels/kernel.h"

namespace hone {

using llvm::FixedVectorType;
using llvm::Intrinsic::ID;
namespace Intrinsic = llvm::Intrinsic;

Emitter::Emitter(llvm::Module& m, const Target& t)
    : context(m.getContext()),
      module(m),
      b(m.getContext()),
      target(t),
      lanes(t.lanes()),
      avx512(t.avx512()),
      bf16(t.has(Feature::avx512_bf16)),
      vbmi(t.has(Feature::avx512_vbmi)),
      f32(b.getFloatTy()),
      f64(b.getDoubleTy()),
      i8(b.getInt8Ty()),
      i16(b.getInt16Ty()),
      i32(b.getInt32Ty()),
      i64(b.getInt64Ty()),
      ptr(b.getPtrTy()),
      v_f32(FixedVectorType::get(f32, static_cast<unsigned>(lanes))),
      v_i32(FixedVectorType::get(i32, static_cast<unsigned>(lanes))) {}

llvm::Type* Emitter::vec(llvm::Type* element, int count) const {
  return FixedVectorType::get(element, static_cast<unsigned>(count ? count : lanes));
}

llvm::Constant* Emitter::words(std::span<const uint16_t> values) const {
  return llvm::ConstantDataVector::get(context, llvm::ArrayRef<uint16_t>(values.data(), values.size()));
}

llvm::Constant* Emitter::bytes(std::span<const uint8_t> values) const {
  return llvm::ConstantDataVector::get(context, llvm::ArrayRef<uint8_t>(values.data(), values.size()));
}

llvm::Constant* Emitter::lane_numbers(llvm::Type* element) const {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(i)));
  return llvm::ConstantVector::get(numbers);
}

llvm::GlobalVariable* Emitter::table(llvm::Constant* value, int alignment) {
  auto* global =
      new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "table");
  global->setAlignment(llvm::Align(static_cast<uint64_t>(alignment)));
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

llvm::Function* Emitter::begin_function(const std::string& symbol, llvm::Type* result,
                                        std::span<llvm::Type* const> params, bool external) {
  auto* type = llvm::FunctionType::get(result, llvm::ArrayRef<llvm::Type*>(params.data(), params.size()), false);
  const auto linkage = external ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage;
  llvm::Function* function = llvm::Function::Create(type, linkage, symbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("prefer-vector-width", avx512 ? "512" : "256");
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  return function;
}

KernelFrame Emitter::begin_kernel(const std::string& symbol, bool external) {
  llvm::Type* const params[] = {ptr, i64, i64, ptr};
  llvm::Function* f = begin_function(symbol, b.getVoidTy(), params, external);
  return {f, f->getArg(0), f->getArg(1), f->getArg(2), f->getArg(3)};
}

llvm::Value* Emitter::kernel_pointer(const KernelFrame& frame, int index) {
  return load(ptr, at(frame.args, static_cast<int64_t>(offsetof(KernelArgs, pointers)) + 8 * index), 8);
}

llvm::Value* Emitter::kernel_dim(const KernelFrame& frame, int index) {
  return load(i64, at(frame.args, static_cast<int64_t>(offsetof(KernelArgs, dims)) + 8 * index), 8);
}

llvm::Value* Emitter::stack(llvm::Type* type, int64_t count, int alignment) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(llvm::ArrayType::get(type, static_cast<uint64_t>(count)));
  slot->setAlignment(llvm::Align(static_cast<uint64_t>(alignment)));
  return slot;
}

llvm::Value* Emitter::load(llvm::Type* type, llvm::Value* pointer, int alignment) {
  return b.CreateAlignedLoad(type, pointer, llvm::Align(static_cast<uint64_t>(alignment)));
}

void Emitter::prefetch(llvm::Value* pointer) {
  constexpr uint32_t kRead = 0, kSecondLevel = 2, kData = 1;
  b.CreateIntrinsic(Intrinsic::prefetch, {ptr},
                    {pointer, b.getInt32(kRead), b.getInt32(kSecondLevel), b.getInt32(kData)});
}

void Emitter::prefetch_to_write(llvm::Value* pointer) {
  constexpr uint32_t kWrite = 1, kFirstLevel = 3, kData = 1;
  b.CreateIntrinsic(Intrinsic::prefetch, {ptr},
                    {pointer, b.getInt32(kWrite), b.getInt32(kFirstLevel), b.getInt32(kData)});
}

void Emitter::store(llvm::Value* value, llvm::Value* pointer, int alignment) {
  b.CreateAlignedStore(value, pointer, llvm::Align(static_cast<uint64_t>(alignment)));
}

llvm::Value* Emitter::call(ID id, std::span<llvm::Type* const> overloads, std::span<llvm::Value* const> arguments) {
  return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(overloads.data(), overloads.size()),
                           llvm::ArrayRef<llvm::Value*>(arguments.data(), arguments.size()));
}

llvm::Value* Emitter::fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
}

llvm::Value* Emitter::tail_mask(llvm::Value* count) {
  // Compared in 32 bits, which is one instruction on both levels; a count beyond the lanes is clamped first.
  llvm::Value* clamped = b.CreateSelect(b.CreateICmpSLT(count, num(lanes)), count, num(lanes));
  return b.CreateICmpSLT(lane_numbers(i32), splat(b.CreateTrunc(clamped, i32)));
}

llvm::Value* Emitter::masked_load(llvm::Type* type, llvm::Value* pointer, llvm::Value* mask) {
  if (!mask) return load(type, pointer);
  return b.CreateMaskedLoad(type, pointer, llvm::Align(1), mask, llvm::Constant::getNullValue(type));
}

void Emitter::masked_store(llvm::Value* value, llvm::Value* pointer, llvm::Value* mask) {
  if (!mask) return store(value, pointer);
  b.CreateMaskedStore(value, pointer, llvm::Align(1), mask);
}

llvm::Type* Emitter::scalar_type(Scalar type) const {
  switch (type) {
    case Scalar::f32:
      return f32;
    case Scalar::f64:
      return f64;
    case Scalar::i32:
    case Scalar::u32:
      return i32;
    case Scalar::i64:
    case Scalar::u64:
      return i64;
    case Scalar::boolean:
      return llvm::Type::getInt1Ty(context);
  }
  CHECK(false);
}

llvm::Type* Emitter::memory_type(DType dtype) const {
  switch (dtype) {
    case DType::boolean:
    case DType::i8:
    case DType::u8:
      return i8;
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return i16;
    case DType::i32:
    case DType::u32:
      return i32;
    case DType::i64:
    case DType::u64:
      return i64;
    case DType::f32:
      return f32;
    case DType::f64:
      return f64;
    default:
      CHECK(false, "no code for elements of type {}", hone::to_string(dtype));
  }
}

llvm::Value* Emitter::widen(DType dtype, llvm::Value* raw) {
  auto* vector = llvm::dyn_cast<FixedVectorType>(raw->getType());
  auto shaped = [&](llvm::Type* element) -> llvm::Type* {
    return vector ? FixedVectorType::get(element, vector->getNumElements()) : element;
  };
  switch (dtype) {
    case DType::boolean:
      return b.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
    case DType::i8:
    case DType::i16:
      return b.CreateSExt(raw, shaped(i32));
    case DType::u8:
    case DType::u16:
      return b.CreateZExt(raw, shaped(i32));
    case DType::f16:
      return b.CreateFPExt(as(raw, shaped(b.getHalfTy())), shaped(f32));
    case DType::bf16: {
      llvm::Value* bits = b.CreateZExt(raw, shaped(i32));
      return as(b.CreateShl(bits, llvm::ConstantInt::get(bits->getType(), 16)), shaped(f32));
    }
    default:
      return raw;
  }
}

namespace {

// f32_to_bf16 (base/float_bits.h) bit for bit. vcvtneps2bf16 is not it: that one flushes subnormals and keeps NaN
// payloads.
llvm::Value* round_to_bf16(Emitter& e, llvm::Value* value) {
  llvm::Type* type = value->getType()->getWithNewType(e.i32);
  auto c = [&](uint32_t v) { return llvm::ConstantInt::get(type, v); };
  llvm::Value* bits = e.as(value, type);
  llvm::Value* odd = e.b.CreateAnd(e.b.CreateLShr(bits, c(16)), c(1));
  llvm::Value* rounded = e.b.CreateLShr(e.b.CreateAdd(bits, e.b.CreateAdd(odd, c(0x7fff))), c(16));
  llvm::Value* quiet = e.b.CreateOr(e.b.CreateAnd(e.b.CreateLShr(bits, c(16)), c(0x8000)), c(0x7fc0));
  llvm::Value* chosen = e.b.CreateSelect(e.b.CreateFCmpUNO(value, value), quiet, rounded);
  return e.b.CreateTrunc(chosen, type->getWithNewType(e.i16));
}

}  // namespace

llvm::Value* Emitter::narrow(DType dtype, llvm::Value* value) {
  llvm::Type* type = value->getType();
  switch (dtype) {
    case DType::boolean:
      return b.CreateZExt(value, type->getWithNewType(i8));
    case DType::i8:
    case DType::u8:
      return b.CreateTrunc(value, type->getWithNewType(i8));
    case DType::i16:
    case DType::u16:
      return b.CreateTrunc(value, type->getWithNewType(i16));
    case DType::f16:
      return as(b.CreateFPTrunc(value, type->getWithNewType(b.getHalfTy())), type->getWithNewType(i16));
    case DType::bf16:
      return round_to_bf16(*this, value);
    default:
      return value;
  }
}

llvm::Value* Emitter::load_elements(DType dtype, llvm::Value* pointer, llvm::Value* mask) {
  return widen(dtype, masked_load(vec(memory_type(dtype)), pointer, mask));
}

llvm::Value* Emitter::load_strided(DType dtype, llvm::Value* pointer, llvm::Value* byte_stride, llvm::Value* mask) {
  llvm::Value* offsets = b.CreateMul(lane_numbers(i64), splat(byte_stride));
  llvm::Value* pointers = b.CreateGEP(i8, pointer, offsets);
  llvm::Type* type = vec(memory_type(dtype));
  if (!mask) mask = llvm::Constant::getAllOnesValue(vec(b.getInt1Ty()));
  return widen(dtype, b.CreateMaskedGather(type, pointers, llvm::Align(1), mask, llvm::Constant::getNullValue(type)));
}

llvm::Value* Emitter::load_broadcast(DType dtype, llvm::Value* pointer) {
  return splat(widen(dtype, load(memory_type(dtype), pointer)));
}

void Emitter::store_elements(llvm::Value* value, DType dtype, llvm::Value* pointer, llvm::Value* mask) {
  masked_store(narrow(dtype, value), pointer, mask);
}

std::pair<llvm::Value*, llvm::Value*> Emitter::split_pair(llvm::Value* pair) {
  pair = as(pair, v_i32);
  return {as(b.CreateShl(pair, c_i32(16)), v_f32), as(b.CreateAnd(pair, c_i32(0xffff0000)), v_f32)};
}

llvm::Value* Emitter::join_pair(llvm::Value* low, llvm::Value* high) {
  return b.CreateOr(b.CreateLShr(as(low, v_i32), c_i32(16)), b.CreateAnd(as(high, v_i32), c_i32(0xffff0000)));
}

llvm::Value* Emitter::join_pair_rounded(llvm::Value* low, llvm::Value* high) {
  auto rounded = [&](llvm::Value* value) {
    value = as(value, v_i32);
    return b.CreateAdd(value, b.CreateAdd(b.CreateAnd(b.CreateLShr(value, c_i32(16)), c_i32(1)), c_i32(0x7fff)));
  };
  return join_pair(rounded(low), rounded(high));
}

llvm::Value* Emitter::dot_bf16(llvm::Value* acc, llvm::Value* x, llvm::Value* y) {
  if (bf16) {
    llvm::Type* pairs = vec(b.getBFloatTy(), 2 * lanes);
    return b.CreateIntrinsic(Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, {acc, as(x, pairs), as(y, pairs)});
  }
  const auto [x_low, x_high] = split_pair(x);
  const auto [y_low, y_high] = split_pair(y);
  return fma(x_high, y_high, fma(x_low, y_low, acc));
}

// LLVM may not add products up before they join the sum: they would wait in registers, of which there are too few.
llvm::Value* Emitter::dot_words(llvm::Value* acc, llvm::Value* x, llvm::Value* y) {
  llvm::Type* pairs = vec(i16, 2 * lanes);
  const ID products = avx512 ? Intrinsic::x86_avx512_pmaddw_d_512 : Intrinsic::x86_avx2_pmadd_wd;
  if (!llvm::isa<llvm::Constant>(acc))
    acc = as(b.CreateIntrinsic(Intrinsic::arithmetic_fence, {v_f32}, {as(acc, v_f32)}), v_i32);
  return b.CreateAdd(acc, b.CreateIntrinsic(products, {}, {as(x, pairs), as(y, pairs)}));
}

std::pair<llvm::Value*, llvm::Value*> Emitter::split_bytes(llvm::Value* x, bool is_signed) {
  llvm::Type* v_words = vec(i16, 2 * lanes);
  llvm::Value *pairs = as(x, v_words), *eight = llvm::ConstantInt::get(v_words, 8);
  if (is_signed) return {b.CreateAShr(b.CreateShl(pairs, eight), eight), b.CreateAShr(pairs, eight)};
  return {b.CreateAnd(pairs, llvm::ConstantInt::get(v_words, 0xff)), b.CreateLShr(pairs, eight)};
}

// An emulated unit has the products of the CPU's own, without its saturation: vpdpbusd has none either.
llvm::Value* Emitter::dot_bytes(llvm::Value* acc, llvm::Value* x, llvm::Value* y) {
  if (target.has(avx512 ? Feature::avx512_vnni : Feature::avx_vnni)) {
    const ID dot = avx512 ? Intrinsic::x86_avx512_vpdpbusd_512 : Intrinsic::x86_avx512_vpdpbusd_256;
    return b.CreateIntrinsic(dot, {}, {acc, x, y});
  }
  const auto [x_even, x_odd] = split_bytes(x, false);
  const auto [y_even, y_odd] = split_bytes(y, true);
  return dot_words(dot_words(acc, x_even, y_even), x_odd, y_odd);
}

llvm::Value* Emitter::lookup_words(llvm::Value* index, int bits, std::span<const uint16_t> table) {
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

llvm::Value* Emitter::permute(llvm::Value* x, llvm::Value* index) {
  const ID of_floats = avx512 ? ID(Intrinsic::x86_avx512_permvar_sf_512) : ID(Intrinsic::x86_avx2_permps);
  return as(b.CreateIntrinsic(of_floats, {}, {as(x, v_f32), index}), x->getType());
}

llvm::Value* Emitter::lookup_f32(llvm::Value* index, std::span<const float> table) {
  const size_t size = table.size(), step = static_cast<size_t>(lanes);
  CHECK(size > 0 && (size & (size - 1)) == 0);
  // A gather takes about one nanosecond a lane on Zen 4: as long as a dozen permutes and blends for the whole vector.
  if (size > (avx512 ? 256 : 64)) {
    llvm::Constant* all = llvm::ConstantDataArray::get(context, llvm::ArrayRef<float>(table.data(), size));
    llvm::Value* pointers = b.CreateGEP(f32, this->table(all), index);
    llvm::Value* every = llvm::Constant::getAllOnesValue(vec(b.getInt1Ty()));
    return b.CreateMaskedGather(v_f32, pointers, llvm::Align(4), every);
  }
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

llvm::Value* Emitter::lookup_bytes(llvm::Value* index, std::span<const uint8_t> table) {
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

}  // namespace hone

#include "device/llvm/emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "base/error.h"
#include "kernels/kernel.h"

namespace hone {

using llvm::FixedVectorType;
using llvm::Intrinsic::ID;
namespace Intrinsic = llvm::Intrinsic;

Emitter::Emitter(llvm::Module& m, int lanes_of_vectors)
    : context(m.getContext()),
      module(m),
      b(m.getContext()),
      lanes{lanes_of_vectors},
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
  describe_machine(*function);
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
  return b.CreateAlignedLoad(type, pointer,
                             llvm::Align(static_cast<uint64_t>(alignment ? alignment : least_alignment(type))));
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
  if (!alignment) alignment = least_alignment(value->getType());
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
  // Compared in 32 bits, which is one instruction; a count beyond the lanes is clamped first.
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

// f32_to_bf16 (base/float_bits.h) bit for bit. Instructions of CPUs are not it: they flush subnormals and keep NaN
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

llvm::Value* Emitter::scale_by_power(llvm::Value* value, llvm::Value* n) {
  // In two steps, of which the first is exact: each factor is a normal number.
  llvm::Value* whole = b.CreateFPToSI(n, v_i32);
  llvm::Value* half = b.CreateAShr(whole, c_i32(1));
  auto power = [&](llvm::Value* k) { return as(b.CreateShl(b.CreateAdd(k, c_i32(127)), c_i32(23)), v_f32); };
  return b.CreateFMul(b.CreateFMul(value, power(half)), power(b.CreateSub(whole, half)));
}

llvm::Value* Emitter::gather_f32(llvm::Value* index, std::span<const float> entries) {
  llvm::Constant* all = llvm::ConstantDataArray::get(context, llvm::ArrayRef<float>(entries.data(), entries.size()));
  llvm::Value* pointers = b.CreateGEP(f32, table(all), index);
  llvm::Value* every = llvm::Constant::getAllOnesValue(vec(b.getInt1Ty()));
  return b.CreateMaskedGather(v_f32, pointers, llvm::Align(4), every);
}

void allow_spills(llvm::Function* function) { function->addFnAttr("warn-stack-size", "1000000"); }

void generate_quickly(llvm::Function* function) {
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::OptimizeNone);
}

}  // namespace hone

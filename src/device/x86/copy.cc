#include "device/x86/copy.h"

#include <numeric>
#include <vector>

namespace hone {
namespace {

constexpr int64_t kFilledBytes = 64;

// piece(offset, type) for whole vectors in a loop, then for halves, quarters, … of one: those whose bit is set.
template <class Piece>
void in_pieces(X86Emitter& e, llvm::Value* bytes, Piece piece) {
  const int64_t vector = int64_t{e.lanes} * 4;
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  e.loop(e.num(0), e.b.CreateAnd(bytes, e.num(-vector)), vector, {}, [&](llvm::Value* offset, const Values&) {
    piece(offset, e.v_i32);
    return Values{};
  });
  for (int64_t size = vector / 2; size >= 1; size /= 2) {
    llvm::Value* done = e.b.CreateAnd(bytes, e.num(-2 * size));
    llvm::Type* type = size >= 4 ? e.vec(e.i32, static_cast<int>(size / 4)) : size == 2 ? e.i16 : e.i8;
    if (!known) e.when(e.b.CreateICmpNE(e.b.CreateAnd(bytes, e.num(size)), e.num(0)), [&] { piece(done, type); });
    else if (known->getSExtValue() & size) piece(done, type);
  }
}

// Of a vector of bytes, which of them are the first so many.
llvm::Value* first_bytes(X86Emitter& e, llvm::Value* bytes) {
  std::vector<uint8_t> numbers(kFilledBytes);
  std::iota(numbers.begin(), numbers.end(), 0);
  return e.b.CreateICmpULT(llvm::ConstantDataVector::get(e.context, numbers),
                           e.b.CreateVectorSplat(static_cast<unsigned>(kFilledBytes), e.b.CreateTrunc(bytes, e.i8)));
}

llvm::Value* load_masked(X86Emitter& e, llvm::Value* from, llvm::Value* mask) {
  return e.as(e.masked_load(e.vec(e.i8, static_cast<int>(kFilledBytes)), from, mask), e.v_i32);
}

}  // namespace

void emit_copy(X86Emitter& e, llvm::Value* from, llvm::Value* to, llvm::Value* bytes) {
  in_pieces(e, bytes, [&](llvm::Value* offset, llvm::Type* type) {
    e.store(e.load(type, e.at(from, offset)), e.at(to, offset));
  });
}

void emit_zero(X86Emitter& e, llvm::Value* to, llvm::Value* bytes) {
  in_pieces(e, bytes, [&](llvm::Value* offset, llvm::Type* type) {
    e.store(llvm::Constant::getNullValue(type), e.at(to, offset));
  });
}

void emit_copy(X86Emitter& e, llvm::Value* from, llvm::Value* to, int64_t bytes) {
  emit_copy(e, from, to, e.num(bytes));
}

void emit_zero(X86Emitter& e, llvm::Value* to, int64_t bytes) { emit_zero(e, to, e.num(bytes)); }

llvm::Value* load_first(X86Emitter& e, llvm::Value* from, llvm::Value* bytes) {
  CHECK(e.avx512);
  return load_masked(e, from, first_bytes(e, bytes));
}

void emit_filled_rows(X86Emitter& e, llvm::Value* from, llvm::Value* from_stride, llvm::Value* to, llvm::Value* rows,
                      llvm::Value* bytes) {
  const X86Emitter::Moving moving[] = {{from, from_stride}, {to, kFilledBytes}};
  llvm::Value* mask = e.avx512 ? first_bytes(e, bytes) : nullptr;
  e.walk(rows, moving, {}, [&](const Values& p, const Values&) {
    if (mask) {
      e.store(load_masked(e, p[0], mask), p[1]);
    } else {
      emit_zero(e, p[1], kFilledBytes);
      emit_copy(e, p[0], p[1], bytes);
    }
    return Values{};
  });
}

}  // namespace hone

#include "codegen/llvm/copy.h"

namespace hone {
namespace {

// piece(offset, type) for whole vectors in a loop, then for halves, quarters, … of one: those whose bit is set.
template <class Piece>
void in_pieces(Emitter& e, llvm::Value* bytes, Piece piece) {
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

}  // namespace

void emit_copy(Emitter& e, llvm::Value* from, llvm::Value* to, llvm::Value* bytes) {
  in_pieces(e, bytes, [&](llvm::Value* offset, llvm::Type* type) {
    e.store(e.load(type, e.at(from, offset)), e.at(to, offset));
  });
}

void emit_zero(Emitter& e, llvm::Value* to, llvm::Value* bytes) {
  in_pieces(e, bytes, [&](llvm::Value* offset, llvm::Type* type) {
    e.store(llvm::Constant::getNullValue(type), e.at(to, offset));
  });
}

void emit_copy(Emitter& e, llvm::Value* from, llvm::Value* to, int64_t bytes) { emit_copy(e, from, to, e.num(bytes)); }

void emit_zero(Emitter& e, llvm::Value* to, int64_t bytes) { emit_zero(e, to, e.num(bytes)); }

}  // namespace hone

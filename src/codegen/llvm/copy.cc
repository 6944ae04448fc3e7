#include "codegen/llvm/copy.h"

namespace hone {
namespace {

// piece(offset, type) for whole vectors in a loop, then for halves, quarters, … of one.
template <class Piece>
void in_pieces(Emitter& e, int64_t bytes, Piece piece) {
  const int64_t vector = int64_t{e.lanes} * 4, whole = bytes / vector * vector;
  e.loop(e.num(0), e.num(whole), vector, {}, [&](llvm::Value* offset, const Values&) {
    piece(offset, e.v_i32);
    return Values{};
  });
  int64_t done = whole;
  for (int64_t size = vector / 2; size >= 1; size /= 2) {
    if (bytes - done < size) continue;
    piece(e.num(done), size >= 4 ? e.vec(e.i32, static_cast<int>(size / 4)) : size == 2 ? e.i16 : e.i8);
    done += size;
  }
}

}  // namespace

void emit_copy(Emitter& e, llvm::Value* from, llvm::Value* to, int64_t bytes) {
  in_pieces(e, bytes, [&](llvm::Value* offset, llvm::Type* type) {
    e.store(e.load(type, e.at(from, offset)), e.at(to, offset));
  });
}

void emit_zero(Emitter& e, llvm::Value* to, int64_t bytes) {
  in_pieces(e, bytes, [&](llvm::Value* offset, llvm::Type* type) {
    e.store(llvm::Constant::getNullValue(type), e.at(to, offset));
  });
}

}  // namespace hone

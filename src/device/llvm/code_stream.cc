#include "device/llvm/code_stream.h"

#include <algorithm>
#include <bit>

namespace hone {
namespace {

using llvm::Value;

// Bytes of `count` codes.
Value* stream_bytes(Emitter& e, Value* count, int bits) {
  return e.b.CreateLShr(e.b.CreateAdd(e.times(count, bits), e.num(7)), e.num(3));
}

bool is_known(Value* count) { return llvm::isa<llvm::ConstantInt>(count); }
int known_bytes(Value* count, int bits) {
  return static_cast<int>((llvm::cast<llvm::ConstantInt>(count)->getSExtValue() * bits + 7) / 8);
}

// The first `bytes` bytes of a vector.
Value* first_bytes(Emitter& e, Value* vector, int bytes) {
  std::vector<int> order;
  for (int i = 0; i < bytes; ++i) order.push_back(i);
  return e.b.CreateShuffleVector(vector, order);
}

// All lanes' bytes from a byte vector: every lane gets those its code lies in, which a shift brings down; bytes that
// the vector lacks are 0. A code of up to 25 bits never needs more than four bytes.
Value* spread(Emitter& e, Value* raw, int bits) {
  const bool wide = bits > 25 && bits < 32;
  const int lane_bytes = wide ? 8 : 4,
            zero = static_cast<int>(llvm::cast<llvm::FixedVectorType>(raw->getType())->getNumElements());
  llvm::Type* lane = wide ? e.i64 : e.i32;
  std::vector<int> order;
  std::vector<llvm::Constant*> shifts;
  for (int i = 0; i < e.lanes; ++i) {
    const int first = i * bits / 8, last = (i * bits + bits - 1) / 8;
    for (int k = 0; k < lane_bytes; ++k) order.push_back(first + k <= last ? std::min(first + k, zero) : zero);
    shifts.push_back(llvm::ConstantInt::get(lane, static_cast<uint64_t>(i * bits % 8)));
  }
  Value* lanes = e.as(e.b.CreateShuffleVector(raw, llvm::Constant::getNullValue(raw->getType()), order), e.vec(lane));
  lanes = e.b.CreateLShr(lanes, llvm::ConstantVector::get(shifts));
  lanes = e.b.CreateAnd(lanes, llvm::ConstantInt::get(e.vec(lane), (uint64_t{1} << bits) - 1));
  return wide ? e.b.CreateTrunc(lanes, e.v_i32) : lanes;
}

// Neighbouring codes join until 64-bit lanes hold as many as fit: the low half with the high half moved down beside it.
struct Pieces {
  Value* words;  // 64-bit lanes
  int count, bits;
};
Pieces join(Emitter& e, Value* codes, int bits) {
  unsigned lane = std::max(8u, std::bit_ceil(static_cast<unsigned>(bits)));
  unsigned used = static_cast<unsigned>(bits);
  int count = e.lanes;
  Value* v = lane == 32 ? codes : e.b.CreateTrunc(codes, e.vec(e.b.getIntNTy(lane)));
  for (; lane < 64; lane *= 2, used *= 2) {
    count /= 2;
    llvm::Type* type = e.vec(e.b.getIntNTy(2 * lane), count);
    v = e.as(v, type);
    if (used == lane) continue;
    const auto c = [&](uint64_t value) { return llvm::ConstantInt::get(type, value); };
    const uint64_t low = (uint64_t{1} << used) - 1;
    v = e.b.CreateOr(e.b.CreateAnd(v, c(low)), e.b.CreateAnd(e.b.CreateLShr(v, c(lane - used)), c(low << used)));
  }
  return {v, count, static_cast<int>(used)};
}

// Pieces that are whole bytes follow each other by a shuffle.
Value* bytes_of(Emitter& e, const Pieces& pieces) {
  std::vector<int> order;
  for (int i = 0; i < pieces.count; ++i)
    for (int k = 0; k < pieces.bits / 8; ++k) order.push_back(8 * i + k);
  return e.b.CreateShuffleVector(e.as(pieces.words, e.vec(e.i8, 8 * pieces.count)), order);
}

// Others are put into place one by one.
Value* bytes_one_by_one(Emitter& e, const Pieces& pieces) {
  const int total = pieces.count * pieces.bits;
  Values words(static_cast<size_t>((total + 63) / 64), e.num(0));
  for (int i = 0; i < pieces.count; ++i) {
    const auto word = static_cast<size_t>(i * pieces.bits / 64);
    const int shift = i * pieces.bits % 64;
    Value* piece = e.b.CreateExtractElement(pieces.words, static_cast<uint64_t>(i));
    words[word] = e.b.CreateOr(words[word], e.b.CreateShl(piece, e.num(shift)));
    if (shift + pieces.bits > 64)
      words[word + 1] = e.b.CreateOr(words[word + 1], e.b.CreateLShr(piece, e.num(64 - shift)));
  }
  const int count = static_cast<int>(words.size());
  Value* vector = llvm::Constant::getNullValue(e.vec(e.i64, count));
  for (int i = 0; i < count; ++i)
    vector = e.b.CreateInsertElement(vector, words[static_cast<size_t>(i)], static_cast<uint64_t>(i));
  return first_bytes(e, e.as(vector, e.vec(e.i8, 8 * count)), total / 8);
}

}  // namespace

Value* load_codes(Emitter& e, Value* pointer, int bits, Value* count) {
  const bool known = !count || is_known(count);
  if (known && (bits == 8 || bits == 16 || bits == 32)) {
    llvm::Type* type = e.vec(e.b.getIntNTy(static_cast<unsigned>(bits)));
    return e.b.CreateZExt(e.masked_load(type, pointer, count ? e.tail_mask(count) : nullptr), e.v_i32);
  }
  if (known)
    return spread(e, e.load(e.vec(e.i8, count ? known_bytes(count, bits) : e.lanes * bits / 8), pointer), bits);
  const int bytes = e.lanes * bits / 8;
  llvm::Type* type = e.vec(e.i8, bytes);
  Value* held = e.stack(e.i8, bytes);
  e.store(llvm::Constant::getNullValue(type), held);
  e.b.CreateMemCpy(held, llvm::MaybeAlign(1), pointer, llvm::MaybeAlign(1), stream_bytes(e, count, bits));
  return load_codes(e, held, bits);
}

void store_codes(Emitter& e, Value* codes, Value* pointer, int bits, Value* count) {
  const Pieces pieces = join(e, codes, bits);
  Value* bytes = pieces.bits % 8 == 0 ? bytes_of(e, pieces) : bytes_one_by_one(e, pieces);
  if (!count) return e.store(bytes, pointer);
  if (is_known(count)) return e.store(first_bytes(e, bytes, known_bytes(count, bits)), pointer);
  Value* held = e.stack(e.i8, e.lanes * bits / 8);
  e.store(bytes, held);
  e.b.CreateMemCpy(pointer, llvm::MaybeAlign(1), held, llvm::MaybeAlign(1), stream_bytes(e, count, bits));
}

}  // namespace hone

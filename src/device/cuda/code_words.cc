#include "device/cuda/code_words.h"

#include <algorithm>

#include "base/multiples.h"

namespace hone {
namespace {

using llvm::Value;

int pieces_of(int bytes, int alignment) { return bytes / std::min(4, access_alignment(bytes, alignment)); }

}  // namespace

int access_alignment(int64_t bytes, int64_t alignment) {
  const int64_t both = bytes | alignment;
  return static_cast<int>(std::min<int64_t>(16, both & -both));
}

Values load_code_words(Emitter& e, Value* pointer, int bytes, int alignment) {
  const int aligned = access_alignment(bytes, alignment), piece = std::min(4, aligned),
            count = pieces_of(bytes, alignment);
  llvm::Type* type = e.b.getIntNTy(static_cast<unsigned>(piece) * 8);
  Value* loaded = e.load(count == 1 ? type : e.vec(type, count), pointer, aligned);
  Values words(static_cast<size_t>(ceil_div(bytes, 4)), nullptr);
  for (int i = 0; i < count; ++i) {
    Value* part = count == 1 ? loaded : e.b.CreateExtractElement(loaded, static_cast<uint64_t>(i));
    part = e.b.CreateZExt(part, e.i32);
    Value*& word = words[static_cast<size_t>(i * piece / 4)];
    if (const int shift = i * piece % 4 * 8) part = e.b.CreateShl(part, e.b.getInt32(static_cast<uint32_t>(shift)));
    word = word ? e.b.CreateOr(word, part) : part;
  }
  return words;
}

Value* codes_of_words(Emitter& e, const Values& words, int bits) {
  Value* codes = llvm::PoisonValue::get(e.v_i32);
  for (int i = 0; i < e.lanes; ++i) {
    const auto word = static_cast<size_t>(i * bits / 32);
    const auto shift = static_cast<uint32_t>(i * bits % 32);
    Value* code = e.b.CreateLShr(words[word], e.b.getInt32(shift));
    if (static_cast<int>(shift) + bits > 32)
      code = e.b.CreateOr(code, e.b.CreateShl(words[word + 1], e.b.getInt32(32 - shift)));
    if (bits < 32) code = e.b.CreateAnd(code, e.b.getInt32((uint32_t{1} << bits) - 1));
    codes = e.b.CreateInsertElement(codes, code, static_cast<uint64_t>(i));
  }
  return codes;
}

Values words_of_codes(Emitter& e, Value* codes, int bits) {
  Values words(static_cast<size_t>(ceil_div(e.lanes * bits, 32)), e.b.getInt32(0));
  for (int i = 0; i < e.lanes; ++i) {
    const auto word = static_cast<size_t>(i * bits / 32);
    const auto shift = static_cast<uint32_t>(i * bits % 32);
    Value* code = e.b.CreateExtractElement(codes, static_cast<uint64_t>(i));
    if (bits < 32) code = e.b.CreateAnd(code, e.b.getInt32((uint32_t{1} << bits) - 1));
    words[word] = e.b.CreateOr(words[word], e.b.CreateShl(code, e.b.getInt32(shift)));
    if (static_cast<int>(shift) + bits > 32)
      words[word + 1] = e.b.CreateOr(words[word + 1], e.b.CreateLShr(code, e.b.getInt32(32 - shift)));
  }
  return words;
}

void store_code_words(Emitter& e, const Values& words, Value* pointer, int bytes, int alignment) {
  const int aligned = access_alignment(bytes, alignment), piece = std::min(4, aligned),
            count = pieces_of(bytes, alignment);
  llvm::Type* type = e.b.getIntNTy(static_cast<unsigned>(piece) * 8);
  const auto part = [&](int i) {
    Value* word = words[static_cast<size_t>(i * piece / 4)];
    return e.b.CreateTrunc(e.b.CreateLShr(word, e.b.getInt32(static_cast<uint32_t>(i * piece % 4 * 8))), type);
  };
  if (count == 1) return e.store(part(0), pointer, aligned);
  Value* all = llvm::PoisonValue::get(e.vec(type, count));
  for (int i = 0; i < count; ++i) all = e.b.CreateInsertElement(all, part(i), static_cast<uint64_t>(i));
  e.store(all, pointer, aligned);
}

void store_code_bytes(Emitter& e, const Values& words, Value* pointer, int bits, Value* count) {
  Value* bytes = e.b.CreateLShr(e.b.CreateAdd(e.times(count, bits), e.num(7)), e.num(3));
  for (int i = 0; i < ceil_div(e.lanes * bits, 8); ++i)
    e.when(e.b.CreateICmpSLT(e.num(i), bytes), [&] {
      Value* word = words[static_cast<size_t>(i / 4)];
      e.store(e.b.CreateTrunc(e.b.CreateLShr(word, e.b.getInt32(static_cast<uint32_t>(i % 4 * 8))), e.i8),
              e.at(pointer, i));
    });
}

}  // namespace hone

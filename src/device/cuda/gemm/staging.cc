#include "device/cuda/gemm/staging.h"

#include <bit>

#include "base/error.h"

namespace hone {
namespace {

using llvm::Value;

constexpr int kPieces = 8;  // of 16 bytes in a line

int log2_of(int power) {
  CHECK(std::has_single_bit(static_cast<unsigned>(power)), "{}", power);
  return std::countr_zero(static_cast<unsigned>(power));
}

}  // namespace

Staging::Staging(CudaEmitter& e, Operand& operand, bool pairs, Area area)
    : e_(e), operand_(operand), pairs_(pairs), area_(area), lines_of_k_(pairs && operand.by_columns) {}

void Staging::fetch(Value* row, Value* k, Value* stage) {
  const bool turned = !pairs_ && operand_.by_columns;
  const int count = area_.slabs * area_.rows * (turned ? 32 : kPieces);
  CHECK(count % e_.threads == 0, "{} pieces for {} threads", count, e_.threads);
  const auto each = [&](auto copy) {
    for (int c = 0; c < count / e_.threads; ++c) copy(e_.b.CreateAdd(e_.thread(), e_.n32(c * e_.threads)));
  };
  if (turned) return each([&](Value* number) { copy_turned(number, row, k, stage); });
  const auto wholes = [&] { each([&](Value* number) { copy_whole(piece(number, row, k, stage)); }); };
  const auto elements = [&] { each([&](Value* number) { copy_elements(piece(number, row, k, stage)); }); };
  if (!operand_.whole) return elements();
  e_.when(operand_.whole, wholes);
  e_.when(e_.b.CreateNot(operand_.whole), elements);
}

// Eight pieces of a line side by side, then the next line, then the next slab.
Staging::Piece Staging::piece(Value* number, Value* row, Value* k, Value* stage) {
  auto& b = e_.b;
  const int side = pairs_ ? 8 : 4, depth = kPieces * side;
  Value *q = b.CreateAnd(number, kPieces - 1), *line = b.CreateLShr(number, 3);
  Value *slab = b.CreateLShr(line, log2_of(area_.rows)), *own = b.CreateAnd(line, area_.rows - 1);
  Value* along = b.CreateMul(q, e_.n32(side));
  Value* slab_k = b.CreateAdd(k, b.CreateMul(slab, e_.n32(depth)));
  Value *at_row = nullptr, *at_k = nullptr;
  if (lines_of_k_) {
    at_k = b.CreateAdd(slab_k, b.CreateAnd(own, depth - 1));
    at_row = b.CreateAdd(row, b.CreateAdd(b.CreateAnd(own, e_.n32(-depth)), along));
  } else {
    at_k = b.CreateAdd(slab_k, along);
    at_row = b.CreateAdd(row, own);
  }
  Value* place = b.CreateShl(b.CreateXor(q, b.CreateAnd(own, 7)), 4);
  Value* to = b.CreateAdd(b.CreateAdd(stage, b.CreateMul(slab, e_.n32(area_.slab_bytes))),
                          b.CreateAdd(b.CreateShl(own, 7), b.CreateAdd(place, e_.n32(area_.offset))));
  return {at_row, at_k, e_.at(e_.shared(), e_.wide(to))};
}

void Staging::copy_whole(const Piece& piece) {
  const auto [from, is_there] = operand_.place(piece.row, piece.k);
  if (pairs_ || operand_.dtype == DType::f32) return e_.copy_async(piece.to, from, 16, is_there);
  Values words;
  for (Value* pair : e_.load_words(e_.b.CreateSelect(is_there, from, operand_.safe), 2)) {
    const auto [low, high] = e_.split_bf16(e_.b.CreateSelect(is_there, pair, e_.n32(0)));
    words.push_back(e_.word(low)), words.push_back(e_.word(high));
  }
  e_.store_words(words, piece.to);
}

Value* Staging::element(Value* row, Value* k) {
  const auto [from, is_there] = operand_.place(row, k);
  llvm::Type* type = e_.memory_type(operand_.dtype);
  Value* raw =
      e_.load(type, e_.b.CreateSelect(is_there, from, operand_.safe), static_cast<int>(size_bytes(operand_.dtype)));
  return e_.b.CreateSelect(is_there, raw, llvm::Constant::getNullValue(type));
}

void Staging::copy_elements(const Piece& piece) {
  Values words;
  const auto at = [&](int i) {
    Value* step = e_.n32(i);
    return lines_of_k_ ? element(e_.b.CreateAdd(piece.row, step), piece.k)
                       : element(piece.row, e_.b.CreateAdd(piece.k, step));
  };
  for (int i = 0; i < 4; ++i) {
    if (pairs_) {
      Value *low = e_.b.CreateZExt(at(2 * i), e_.i32), *high = e_.b.CreateZExt(at(2 * i + 1), e_.i32);
      words.push_back(e_.b.CreateOr(low, e_.b.CreateShl(high, 16)));
    } else {
      words.push_back(e_.word(e_.widen(operand_.dtype, at(i))));
    }
  }
  e_.store_words(words, piece.to);
}

// One element of f32: eight rows by four k a warp, which are read as sectors and written to 32 banks.
void Staging::copy_turned(Value* number, Value* row, Value* k, Value* stage) {
  auto& b = e_.b;
  const int blocks = log2_of(area_.rows / 8);
  Value *low_row = b.CreateAnd(number, 7), *low_k = b.CreateAnd(b.CreateLShr(number, 3), 3);
  Value* rest = b.CreateLShr(number, 5);
  Value* own = b.CreateOr(b.CreateShl(b.CreateAnd(rest, area_.rows / 8 - 1), 3), low_row);
  Value *line = b.CreateLShr(rest, blocks), *q = b.CreateAnd(line, 7), *slab = b.CreateLShr(line, 3);
  Value* at_k = b.CreateAdd(b.CreateAdd(k, b.CreateShl(slab, 5)), b.CreateOr(b.CreateShl(q, 2), low_k));
  Value* value = e_.widen(operand_.dtype, element(b.CreateAdd(row, own), at_k));
  Value* place = b.CreateOr(b.CreateShl(b.CreateXor(q, low_row), 4), b.CreateShl(low_k, 2));
  Value* to = b.CreateAdd(b.CreateAdd(stage, b.CreateMul(slab, e_.n32(area_.slab_bytes))),
                          b.CreateAdd(b.CreateShl(own, 7), b.CreateAdd(place, e_.n32(area_.offset))));
  e_.store(value, e_.at(e_.shared(), e_.wide(to)), 4);
}

}  // namespace hone

#include "device/x86/amx/block_tiles.h"

#include "device/x86/copy.h"
#include "formats/format.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;

// As kPlainPower says.
Value* is_plain(X86Emitter& e, Value* x) {
  constexpr uint32_t kLeast = (127 - kPlainPower) << 23, kMost = (127 + kPlainPower) << 23, kInfinity = 0x7f800000;
  Value* magnitude = e.b.CreateAnd(e.as(x, e.v_i32), e.c_i32(0x7fffffff));
  Value* within = e.b.CreateICmpULE(e.b.CreateSub(magnitude, e.c_i32(kLeast)), e.c_i32(kMost - kLeast));
  Value* is_nan = e.b.CreateICmpUGT(magnitude, e.c_i32(kInfinity));
  return e.b.CreateOr(e.b.CreateOr(within, is_nan), e.b.CreateICmpEQ(magnitude, e.c_i32(0)));
}

class PanelDecoder {
 public:
  PanelDecoder(X86Emitter& e, const BlockGemmShape& shape) : e_(e), s_(shape) {}

  Function* emit(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.i64, e_.ptr};
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    const KBlocks& blocks = s_.blocks;
    Value *panel = f->getArg(0), *first = f->getArg(1), *end = e_.b.CreateAdd(first, f->getArg(2));
    const int64_t whole = blocks.k / blocks.length, rest = blocks.k % blocks.length;
    const auto decode = [&](Value* block, int64_t k) {
      Value* scale = e_.b.CreateUDiv(block, e_.num(blocks.per_weight_scale));
      Value* scales = e_.at(e_.at(panel, s_.scales_offset()), e_.times(scale, s_.scale_row_bytes()));
      Value* codes = e_.at(panel, e_.times(block, s_.code_rows(blocks.length) * s_.row_bytes()));
      one_block(codes, scales, k, e_.at(f->getArg(3), e_.times(e_.b.CreateSub(block, first), pair_bytes())));
    };
    e_.loop(first, e_.smaller(end, e_.num(whole)), 1, {}, [&](Value* block, const Values&) {
      decode(block, blocks.length);
      return Values{};
    });
    if (rest) e_.when(e_.b.CreateICmpSGT(end, e_.num(whole)), [&] { decode(e_.num(whole), rest); });
    e_.end_function();
    return f;
  }

 private:
  int64_t pair_bytes() const { return s_.blocks.length / 2 * s_.row_bytes(); }  // of a block

  void one_block(Value* codes, Value* scales, int64_t k, Value* out) {
    const int64_t rows = s_.code_rows(k), of_row = s_.halves ? 8 : 4, vector_bytes = int64_t{e_.lanes} * 4;
    for (int v = 0; v < s_.vectors; ++v) {
      step_ = block_powers(e_, e_.load_elements(DType::u8, e_.at(scales, int64_t{v} * e_.lanes)));
      origin_ = e_.b.CreateFMul(step_, e_.c_f32(-(kMagic + s_.offset)));
      for (int64_t row = 0; row < rows; ++row) {
        Value* lanes = e_.load(e_.v_i32, e_.at(codes, row * s_.row_bytes() + v * vector_bytes), e_.lanes * 4);
        for (int64_t i = 0; i < of_row; i += 2)
          e_.store(pair(lanes, static_cast<int>(i)),
                   e_.at(out, (row * of_row + i) / 2 * s_.row_bytes() + v * vector_bytes), e_.lanes * 4);
      }
    }
    if (const int64_t filled = rows * of_row / 2 * s_.row_bytes(); filled < pair_bytes())
      emit_zero(e_, e_.at(out, filled), pair_bytes() - filled);
  }

  // Codes i and i + 1 of each lane.
  Value* pair(Value* lanes, int i) {
    Value* low = e_.b.CreateLShr(e_.as(value(lanes, i), e_.v_i32), e_.c_i32(16));
    return e_.b.CreateOr(low, e_.b.CreateAnd(e_.as(value(lanes, i + 1), e_.v_i32), e_.c_i32(0xffff0000)));
  }
  // In the low bits of 2^23 a code is a number. Its product with the step, and the difference, are exact.
  Value* value(Value* lanes, int i) {
    const int shift = s_.halves ? i % 4 * 8 + i / 4 * 4 : i * 8;
    Value* code = shift ? e_.b.CreateLShr(lanes, e_.c_i32(static_cast<uint32_t>(shift))) : lanes;
    code = e_.b.CreateAnd(code, e_.c_i32(s_.halves ? 0xf : 0xff));
    return e_.fma(e_.as(e_.b.CreateOr(code, e_.c_i32(0x4b000000)), e_.v_f32), step_, origin_);
  }

  static constexpr double kMagic = 0x1p23;
  X86Emitter& e_;
  const BlockGemmShape& s_;
  Value *step_ = nullptr, *origin_ = nullptr;  // and -(2^23 + offset) times the step
};

}  // namespace

Value* block_powers(X86Emitter& e, Value* codes) {
  Value* exponents = e.b.CreateShl(codes, e.c_i32(23));
  return e.as(e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, exponents, e.c_i32(0x00400000)), e.v_f32);
}

Value* block_steps(X86Emitter& e, Value* codes, double unit) {
  Value* steps = e.b.CreateFMul(block_powers(e, codes), e.c_f32(unit));
  return e.b.CreateSelect(e.b.CreateICmpEQ(codes, e.c_i32(0xff)), e.as(e.c_i32(0x7fc00000), e.v_f32), steps);
}

Function* emit_block_tile_rows(X86Emitter& e, const std::string& symbol, const BlockGemmShape& shape) {
  llvm::Type* const params[] = {e.ptr, e.i64, e.ptr, e.i64, e.ptr};
  Function* f = e.begin_function(symbol, e.b.getInt1Ty(), params, false);
  const int64_t length = shape.blocks.length;
  const X86Emitter::Moving rows[] = {
      {f->getArg(0), f->getArg(1)}, {f->getArg(2), shape.blocks.count()}, {f->getArg(4), shape.tile_row_bytes()}};
  Value* none = llvm::ConstantInt::getTrue(e.vec(e.b.getInt1Ty()));
  Value* plain = e.walk(f->getArg(3), rows, {none}, [&](const Values& at, const Values& now) {
    const X86Emitter::Moving blocks[] = {{at[0], length}, {at[1], 1}, {at[2], length * 2}};
    return e.walk(e.num(shape.blocks.count()), blocks, now, [&](const Values& p, Values still) {
      Value* step = block_steps(e, e.splat(e.b.CreateZExt(e.load(e.i8, p[1], 1), e.i32)), shape.unit);
      for (int64_t i = 0; i < length; i += e.lanes) {
        Value* codes = e.load_elements(DType::i8, e.at(p[0], i));
        Value* x = e.b.CreateFMul(e.b.CreateSIToFP(codes, e.v_f32), step);
        still[0] = e.b.CreateAnd(still[0], is_plain(e, x));
        Value* half = e.b.CreateTrunc(e.b.CreateLShr(e.as(x, e.v_i32), e.c_i32(16)), e.vec(e.i16));
        e.store(half, e.at(p[2], i * 2), 2);
      }
      return still;
    });
  })[0];
  e.b.CreateRet(e.b.CreateAndReduce(plain));
  return f;
}

Function* emit_block_tile_panel(X86Emitter& e, const std::string& symbol, const BlockGemmShape& shape) {
  return PanelDecoder(e, shape).emit(symbol);
}

}  // namespace hone

#include "device/llvm/expr_emit.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "device/llvm/vector_math.h"
#include "expr/narrow.h"

namespace hone {
namespace {

namespace Intrinsic = llvm::Intrinsic;
using llvm::Value;

class ProgramEmitter {
 public:
  ProgramEmitter(Emitter& e, const Program& program, std::span<Value* const> args, Value* index, Values known)
      : e_(e), b_(e.b), program_(narrowed(program)), args_(args), index_(index), values_(std::move(known)) {
    values_.resize(program_.code.size());
  }

  Values run() {
    const std::vector<bool> needed = live();
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && !values_[i]) values_[i] = emit(program_.code[i]);
    Values results;
    for (int32_t r : program_.results) results.push_back(at(r));
    return results;
  }

  Values invariants() {
    const std::vector<bool> needed = live();
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && is_invariant(program_.code[i])) values_[i] = emit(program_.code[i]);
    return values_;
  }

 private:
  bool is_invariant(const Instruction& i) const {
    if (i.op == ExprOp::index) return false;
    if (i.op == ExprOp::arg)
      return static_cast<size_t>(i.payload) < args_.size() && args_[static_cast<size_t>(i.payload)];
    for (int32_t operand : {i.a, i.b, i.c})
      if (operand >= 0 && !at(operand)) return false;
    return true;
  }

  // What the results need and is not known.
  std::vector<bool> live() const {
    std::vector<bool> needed(program_.code.size());
    for (int32_t r : program_.results) needed[static_cast<size_t>(r)] = true;
    for (size_t i = needed.size(); i-- > 0;)
      if (needed[i] && !values_[i])
        for (int32_t operand : {program_.code[i].a, program_.code[i].b, program_.code[i].c})
          if (operand >= 0) needed[static_cast<size_t>(operand)] = true;
    return needed;
  }

  Value* at(int32_t i) const { return values_[static_cast<size_t>(i)]; }
  Scalar type_of(int32_t i) const { return program_.code[static_cast<size_t>(i)].type; }
  llvm::Type* vector(Scalar type) const { return e_.vec(e_.scalar_type(type)); }

  llvm::Constant* constant(Scalar type, uint64_t bits) const {
    if (type == Scalar::f32)
      return llvm::ConstantFP::get(vector(type), llvm::APFloat(std::bit_cast<float>(uint32_t(bits))));
    if (type == Scalar::f64) return llvm::ConstantFP::get(vector(type), llvm::APFloat(std::bit_cast<double>(bits)));
    if (type == Scalar::boolean) return llvm::ConstantInt::get(vector(type), bits & 1);
    return llvm::ConstantInt::get(vector(type), bits);
  }

  Value* emit(const Instruction& i) {
    switch (i.op) {
      case ExprOp::constant:
        return constant(i.type, static_cast<uint64_t>(i.payload));
      case ExprOp::arg:
        return argument(i);
      case ExprOp::index:
        CHECK(index_, "the program reads the element's index where there is none");
        return b_.CreateAdd(e_.splat(index_), e_.lane_numbers(e_.i64));
      case ExprOp::cast:
        if (is_float(type_of(i.a)) && !is_float(i.type) && i.type != Scalar::boolean) return truncated(i);
        return cast(type_of(i.a), i.type, at(i.a));
      case ExprOp::bitcast:
        return e_.as(at(i.a), vector(i.type));
      case ExprOp::lookup:
        return lookup(i);
      case ExprOp::select:
        return b_.CreateSelect(at(i.a), at(i.b), at(i.c));
      case ExprOp::fma:
        return e_.fma(at(i.a), at(i.b), at(i.c));
      case ExprOp::exp:
      case ExprOp::log:
      case ExprOp::tanh:
      case ExprOp::erf:
      case ExprOp::sin:
      case ExprOp::cos:
        return vector_function(e_, i.op, at(i.a));
      case ExprOp::pow:
        return vector_function(e_, i.op, at(i.a), at(i.b));
      default:
        break;
    }
    if (i.b >= 0)
      return is_float(type_of(i.a)) ? float_binary(i.op, at(i.a), at(i.b))
                                    : integer_binary(i.op, type_of(i.a), at(i.a), at(i.b));
    return unary(i.op, type_of(i.a), at(i.a));
  }

  Value* argument(const Instruction& i) {
    const auto position = static_cast<size_t>(i.payload);
    CHECK(position < args_.size() && args_[position], "argument {} of the program is missing", position);
    CHECK(args_[position]->getType() == vector(i.type), "argument {} of the program has another type", position);
    return args_[position];
  }

  Value* unary(ExprOp op, Scalar type, Value* x) {
    if (!is_float(type)) {
      if (op == ExprOp::neg) return b_.CreateNeg(x);
      if (op == ExprOp::bit_not) return b_.CreateNot(x);
      if (op == ExprOp::abs) return is_signed(type) ? b_.CreateBinaryIntrinsic(Intrinsic::abs, x, b_.getFalse()) : x;
      if (op == ExprOp::floor || op == ExprOp::ceil || op == ExprOp::trunc || op == ExprOp::rint) return x;
      CHECK(false, "{} of {}", to_string(op), to_string(type));
    }
    switch (op) {
      case ExprOp::neg:
        return b_.CreateFNeg(x);
      case ExprOp::abs:
        return b_.CreateUnaryIntrinsic(Intrinsic::fabs, x);
      case ExprOp::floor:
        return b_.CreateUnaryIntrinsic(Intrinsic::floor, x);
      case ExprOp::ceil:
        return b_.CreateUnaryIntrinsic(Intrinsic::ceil, x);
      case ExprOp::trunc:
        return b_.CreateUnaryIntrinsic(Intrinsic::trunc, x);
      case ExprOp::rint:
        return b_.CreateUnaryIntrinsic(Intrinsic::roundeven, x);
      case ExprOp::sqrt:
        return b_.CreateUnaryIntrinsic(Intrinsic::sqrt, x);
      default:
        CHECK(false, "{} of {}", to_string(op), to_string(type));
    }
  }

  Value* float_binary(ExprOp op, Value* x, Value* y) {
    switch (op) {
      case ExprOp::add:
        return b_.CreateFAdd(x, y);
      case ExprOp::sub:
        return b_.CreateFSub(x, y);
      case ExprOp::mul:
        return b_.CreateFMul(x, y);
      case ExprOp::div:
        return b_.CreateFDiv(x, y);
      case ExprOp::min:
      case ExprOp::max:
        return float_extreme(op, x, y);
      case ExprOp::eq:
        return b_.CreateFCmpOEQ(x, y);
      case ExprOp::ne:
        return b_.CreateFCmpUNE(x, y);
      case ExprOp::lt:
        return b_.CreateFCmpOLT(x, y);
      case ExprOp::le:
        return b_.CreateFCmpOLE(x, y);
      default:
        CHECK(false, "{} of floats", to_string(op));
    }
  }

  // Beside a constant there is no order of zeros to keep, and one NaN at most: a compare and a select, which are one
  // instruction.
  Value* float_extreme(ExprOp op, Value* x, Value* y) {
    if (is_ordinary(x)) std::swap(x, y);
    if (!is_ordinary(y))
      return b_.CreateBinaryIntrinsic(op == ExprOp::min ? Intrinsic::minimum : Intrinsic::maximum, x, y);
    return b_.CreateSelect(op == ExprOp::min ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y), y, x);
  }

  // A constant that is neither NaN nor zero.
  static bool is_ordinary(Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    const auto* splat = constant ? llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue()) : nullptr;
    return splat && !splat->isNaN() && !splat->isZero();
  }

  Value* integer_binary(ExprOp op, Scalar type, Value* x, Value* y) {
    const bool negative = is_signed(type);
    switch (op) {
      case ExprOp::add:
        return b_.CreateAdd(x, y);
      case ExprOp::sub:
        return b_.CreateSub(x, y);
      case ExprOp::mul:
        return b_.CreateMul(x, y);
      case ExprOp::div:
      case ExprOp::rem:
        return divide(op, type, x, y);
      case ExprOp::mulhi:
        return mulhi(type, x, y);
      case ExprOp::min:
        return b_.CreateBinaryIntrinsic(negative ? Intrinsic::smin : Intrinsic::umin, x, y);
      case ExprOp::max:
        return b_.CreateBinaryIntrinsic(negative ? Intrinsic::smax : Intrinsic::umax, x, y);
      case ExprOp::bit_and:
        return b_.CreateAnd(x, y);
      case ExprOp::bit_or:
        return b_.CreateOr(x, y);
      case ExprOp::bit_xor:
        return b_.CreateXor(x, y);
      case ExprOp::shl:
        return b_.CreateShl(x, count(y));
      case ExprOp::shr:
        return negative ? b_.CreateAShr(x, count(y)) : b_.CreateLShr(x, count(y));
      case ExprOp::eq:
        return b_.CreateICmpEQ(x, y);
      case ExprOp::ne:
        return b_.CreateICmpNE(x, y);
      case ExprOp::lt:
        return negative ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y);
      case ExprOp::le:
        return negative ? b_.CreateICmpSLE(x, y) : b_.CreateICmpULE(x, y);
      default:
        CHECK(false, "{} of integers", to_string(op));
    }
  }

  Value* count(Value* y) {
    return b_.CreateAnd(y, llvm::ConstantInt::get(y->getType(), y->getType()->getScalarSizeInBits() - 1));
  }

  // CPUs trap where the expression language has a value, so the divisor is made harmless first: 1 where it is 0 (the
  // quotient is then replaced) or where INT_MIN / -1 would overflow (x / 1 = x is what the language asks for).
  Value* divide(ExprOp op, Scalar type, Value* x, Value* y) {
    llvm::Type* vec = x->getType();
    Value* one = llvm::ConstantInt::get(vec, 1);
    Value* zero = llvm::Constant::getNullValue(vec);
    Value* by_zero = b_.CreateICmpEQ(y, zero);
    Value* harmless = b_.CreateSelect(by_zero, one, y);
    if (is_signed(type)) {
      Value* lowest = llvm::ConstantInt::get(vec, llvm::APInt::getSignedMinValue(vec->getScalarSizeInBits()));
      Value* overflow =
          b_.CreateAnd(b_.CreateICmpEQ(x, lowest), b_.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(vec)));
      harmless = b_.CreateSelect(overflow, one, harmless);
    }
    if (op == ExprOp::div)
      return b_.CreateSelect(by_zero, zero, is_signed(type) ? b_.CreateSDiv(x, harmless) : b_.CreateUDiv(x, harmless));
    return b_.CreateSelect(by_zero, x, is_signed(type) ? b_.CreateSRem(x, harmless) : b_.CreateURem(x, harmless));
  }

  Value* mulhi(Scalar type, Value* x, Value* y) {
    const unsigned bits = x->getType()->getScalarSizeInBits();
    llvm::Type* wide = e_.vec(b_.getIntNTy(2 * bits));
    auto extend = [&](Value* v) { return is_signed(type) ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide); };
    return b_.CreateTrunc(b_.CreateLShr(b_.CreateMul(extend(x), extend(y)), llvm::ConstantInt::get(wide, bits)),
                          x->getType());
  }

  // min(max(y, low), high), or select(high < z, high, z) of z = select(y < low, low, y), with both bounds in the range
  // of i32: how elements narrower than 32 bits saturate.
  struct Clamp {
    int32_t y, low, high;
  };
  float number_at(int32_t constant) const {
    return std::bit_cast<float>(static_cast<uint32_t>(program_.code[static_cast<size_t>(constant)].payload));
  }
  std::optional<Clamp> clamp_at(int32_t i) const {
    const auto code = [&](int32_t at) -> const Instruction& { return program_.code[static_cast<size_t>(at)]; };
    const auto is_bound = [&](int32_t at) {
      return code(at).op == ExprOp::constant && code(at).type == Scalar::f32 && std::abs(number_at(at)) <= 65536;
    };
    if (code(i).op == ExprOp::min && is_bound(code(i).b)) {
      const Instruction& lower = code(code(i).a);
      if (lower.op == ExprOp::max && is_bound(lower.b)) return Clamp{lower.a, lower.b, code(i).b};
      return std::nullopt;
    }
    const auto limits = [&](const Instruction& choice, bool is_upper) {
      if (choice.op != ExprOp::select || !is_bound(choice.b)) return false;
      const Instruction& test = code(choice.a);
      return test.op == ExprOp::lt &&
             (is_upper ? test.a == choice.b && test.b == choice.c : test.b == choice.b && test.a == choice.c);
    };
    if (!limits(code(i), true) || !limits(code(code(i).c), false)) return std::nullopt;
    const Instruction& lower = code(code(i).c);
    return Clamp{lower.c, lower.b, code(i).b};
  }

  // As saturated() in expr/semantics.h. LLVM's own saturating conversion takes vectors apart.
  Value* truncated(const Instruction& i) {
    const Scalar from = type_of(i.a);
    Value* x = at(i.a);
    const int bits = width_bits(i.type) - (is_signed(i.type) ? 1 : 0);
    const auto number = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
    const auto convert = [&](Value* v) {
      return is_signed(i.type) ? b_.CreateFPToSI(v, vector(i.type)) : b_.CreateFPToUI(v, vector(i.type));
    };
    Value* zero = llvm::Constant::getNullValue(x->getType());
    if (const auto clamp = i.type == Scalar::i32 && from == Scalar::f32 ? clamp_at(i.a) : std::nullopt) {
      // Bounds are whole numbers where what they bound is rounded, and may bound it before.
      const Instruction& y = program_.code[static_cast<size_t>(clamp->y)];
      const float low = number_at(clamp->low), high = number_at(clamp->high);
      if (y.op == ExprOp::rint && std::trunc(low) == low && std::trunc(high) == high) {
        Value* bounded = at(y.a);  // NaN stays; which zero it is does not matter
        bounded = b_.CreateSelect(b_.CreateFCmpOLT(bounded, number(low)), number(low), bounded);
        return e_.nearest(b_.CreateSelect(b_.CreateFCmpOGT(bounded, number(high)), number(high), bounded));
      }
      return convert(b_.CreateSelect(b_.CreateFCmpORD(x, x), x, zero));
    }
    Value* lowest = number(is_signed(i.type) ? -std::ldexp(1.0, bits) : 0);
    Value* past_largest = number(std::ldexp(1.0, bits));
    Value* not_below = b_.CreateSelect(b_.CreateFCmpOGE(x, lowest), x, lowest);  // NaN: no longer
    Value* whole = convert(b_.CreateSelect(b_.CreateFCmpOLT(not_below, past_largest), not_below, zero));
    const auto largest = is_signed(i.type) ? llvm::APInt::getSignedMaxValue(static_cast<unsigned>(width_bits(i.type)))
                                           : llvm::APInt::getMaxValue(static_cast<unsigned>(width_bits(i.type)));
    whole = b_.CreateSelect(b_.CreateFCmpOGE(x, past_largest), llvm::ConstantInt::get(vector(i.type), largest), whole);
    return b_.CreateSelect(b_.CreateFCmpORD(x, x), whole, llvm::Constant::getNullValue(vector(i.type)));
  }

  Value* cast(Scalar from, Scalar to, Value* x) {
    llvm::Type* type = vector(to);
    if (from == to) return x;
    if (to == Scalar::boolean)
      return is_float(from) ? b_.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()))
                            : b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
    if (is_float(from) && is_float(to)) return to == Scalar::f64 ? b_.CreateFPExt(x, type) : b_.CreateFPTrunc(x, type);
    if (is_float(to)) return is_signed(from) ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
    return is_signed(from) ? b_.CreateSExtOrTrunc(x, type) : b_.CreateZExtOrTrunc(x, type);
  }

  // The index is taken modulo the table's size rounded up to a power of two; what lies past the end is 0.
  Value* lookup(const Instruction& i) {
    std::vector<uint64_t> table = program_.tables[static_cast<size_t>(i.payload)];
    table.resize(std::bit_ceil(table.size()), 0);
    Value* index = b_.CreateAnd(at(i.a), e_.c_i32(static_cast<uint32_t>(table.size() - 1)));
    if (Value* bytes = lookup_bytes(i.type, index, table)) return bytes;
    if (width_bits(i.type) <= 32) {
      std::vector<float> entries;
      for (uint64_t bits : table) entries.push_back(std::bit_cast<float>(uint32_t(bits)));
      Value* words = e_.lookup_f32(index, entries);
      if (i.type == Scalar::f32) return words;
      Value* integers = e_.as(words, e_.v_i32);
      return i.type == Scalar::boolean ? b_.CreateICmpNE(integers, e_.c_i32(0)) : integers;
    }
    llvm::Constant* all = llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<uint64_t>(table));
    Value* pointers = b_.CreateGEP(e_.i64, e_.table(all), index);
    Value* every = llvm::Constant::getAllOnesValue(e_.vec(b_.getInt1Ty()));
    return e_.as(b_.CreateMaskedGather(e_.vec(e_.i64), pointers, llvm::Align(8), every), vector(i.type));
  }

  // Integers of eight bits, with or without sign, where the machine has a fast way; else null.
  Value* lookup_bytes(Scalar type, Value* index, const std::vector<uint64_t>& table) {
    if (type != Scalar::i32 && type != Scalar::u32) return nullptr;
    const auto fits = [&](int32_t least) {
      return std::ranges::all_of(
          table, [&](uint64_t bits) { return static_cast<uint32_t>(bits) - static_cast<uint32_t>(least) < 256; });
    };
    const bool is_signed = fits(-128);
    if (!is_signed && !fits(0)) return nullptr;
    std::vector<uint8_t> bytes;
    for (uint64_t bits : table) bytes.push_back(static_cast<uint8_t>(bits));
    Value* found = e_.lookup_low_bytes(index, bytes);
    if (!found) return nullptr;
    found = b_.CreateAnd(found, e_.c_i32(0xff));
    return is_signed ? b_.CreateAShr(b_.CreateShl(found, e_.c_i32(24)), e_.c_i32(24)) : found;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Program program_;
  std::span<Value* const> args_;
  Value* index_;
  Values values_;
};

}  // namespace

Values emit_program(Emitter& e, const Program& program, std::span<Value* const> args, Value* index,
                    const Values& known) {
  return ProgramEmitter(e, program, args, index, known).run();
}

Values emit_invariants(Emitter& e, const Program& program, std::span<Value* const> args) {
  return ProgramEmitter(e, program, args, nullptr, {}).invariants();
}

}  // namespace hone

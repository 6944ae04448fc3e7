#include "device/llvm/code_numbers.h"

#include <cmath>
#include <limits>

#include "device/llvm/expr_emit.h"

namespace hone {

using llvm::Value;
using By = CodeMeaning::By;

CodeNumbers::CodeNumbers(Emitter& e, const CodeMeaning& meaning, const Format& format) : e_(e), m_(meaning) {
  if (m_.by == By::group_expression) program_ = group_value(format);
  if (m_.by == By::expression)
    program_ = flatten(cast(Scalar::f32, format.codec->decode(format.element, Expr::arg(0, Scalar::u32))));
}

// Integers are put below the bits of 2^23, zero points too: a difference of two f32 numbers is that of the integers.
bool CodeNumbers::zero_is_offset() const { return m_.by == By::integer && !m_.is_signed && m_.unit == 1; }

Value* CodeNumbers::offset(Value* integers) { return e_.as(e_.b.CreateOr(integers, e_.c_i32(0x4b000000)), e_.v_f32); }

Value* CodeNumbers::zero_point(Value* integers) {
  if (!integers || m_.by == By::group_expression) return integers;
  return zero_is_offset() ? offset(integers) : e_.b.CreateUIToFP(integers, e_.v_f32);
}

// A unit below 1 and a scale that are powers of two have an exact product, however small; a larger unit could make it
// infinite.
CodeNumbers::Group CodeNumbers::group(Values scales, Value* zero) const {
  int exponent = 0;
  const bool is_small_power = m_.unit < 1 && std::frexp(m_.unit, &exponent) == 0.5f;
  const bool powers_of_two = m_.scale.powers_of_two && !m_.has_global;
  Group group{std::move(scales), zero, m_.by == By::integer && is_small_power && powers_of_two && !zero};
  if (group.unit_in_scale) group.scales[0] = e_.b.CreateFMul(group.scales[0], e_.c_f32(m_.unit));
  return group;
}

Value* CodeNumbers::value(Value* codes, const Group& group) {
  if (m_.by == By::signs) return signed_sum(codes, group.scales);
  if (m_.by == By::group_expression) {
    Values args{codes};
    for (Value* scale : group.scales) args.push_back(e_.as(scale, e_.v_i32));
    if (group.zero) args.push_back(group.zero);
    return emit_program(e_, program_, args, nullptr)[0];
  }
  Value* x = number(codes, group.zero, group.unit_in_scale);
  if (group.scales.empty()) return x;
  x = e_.b.CreateFMul(x, group.scales[0]);  // exact where there is a minimum
  if (m_.minimum_sign == 0) return x;
  return m_.minimum_sign > 0 ? e_.b.CreateFAdd(x, group.scales[1]) : e_.b.CreateFSub(x, group.scales[1]);
}

Value* CodeNumbers::number(Value* codes, Value* zero, bool unit_in_scale) {
  if (zero && zero_is_offset()) return e_.b.CreateFSub(offset(codes), zero);
  // A table of up to four registers is looked up in less time than fields take.
  const bool looked_up =
      m_.by == By::table || (m_.by == By::minifloat && m_.bits <= 8 && std::ssize(m_.values) <= int64_t{4} * e_.lanes);
  Value* x = looked_up                ? e_.lookup_f32(codes, m_.values)
             : m_.by == By::integer   ? integer(codes, unit_in_scale)
             : m_.by == By::minifloat ? minifloat(codes)
                                      : emit_program(e_, program_, Values{codes}, nullptr)[0];
  return zero ? e_.b.CreateFSub(x, zero) : x;
}

Value* CodeNumbers::integer(Value* codes, bool unit_in_scale) {
  llvm::Constant* unused = e_.c_i32(static_cast<uint32_t>(32 - m_.bits));
  if (m_.is_signed) codes = e_.b.CreateAShr(e_.b.CreateShl(codes, unused), unused);
  Value* number = e_.b.CreateSIToFP(codes, e_.v_f32);
  return m_.unit == 1 || unit_in_scale ? number : e_.b.CreateFMul(number, e_.c_f32(m_.unit));
}

// code_meaning.cc, minifloat_value() is the same computation.
Value* CodeNumbers::minifloat(Value* codes) {
  auto& b = e_.b;
  constexpr uint32_t kStep = 1u << 23;
  const uint32_t offset = m_.exponent_offset, sign = 1u << (m_.bits - 1);
  const auto up = static_cast<uint32_t>(23 - m_.mantissa_bits);
  Value* magnitude = b.CreateShl(b.CreateAnd(codes, e_.c_i32(sign - 1)), e_.c_i32(up));
  Value* normal = b.CreateAdd(magnitude, e_.c_i32(offset));
  Value* shifted = e_.as(b.CreateAdd(magnitude, e_.c_i32(offset + kStep)), e_.v_f32);
  Value* subnormal = e_.as(b.CreateFSub(shifted, e_.as(e_.c_i32(offset + kStep), e_.v_f32)), e_.v_i32);
  Value* bits = b.CreateSelect(b.CreateICmpULT(magnitude, e_.c_i32(kStep)), subnormal, normal);
  if (m_.infinity != CodeMeaning::kNone)
    bits = b.CreateSelect(b.CreateICmpEQ(magnitude, e_.c_i32(m_.infinity << up)), e_.c_i32(0x7f800000), bits);
  if (m_.nan_from != CodeMeaning::kNone)
    bits = b.CreateSelect(b.CreateICmpUGE(magnitude, e_.c_i32(m_.nan_from << up)), e_.c_i32(0x7fc00000), bits);
  Value* sign_bit = b.CreateShl(b.CreateAnd(codes, e_.c_i32(sign)), e_.c_i32(static_cast<uint32_t>(32 - m_.bits)));
  return e_.as(b.CreateOr(bits, sign_bit), e_.v_f32);
}

Value* CodeNumbers::signed_sum(Value* codes, const Values& scales) {
  Value* sum = nullptr;
  for (size_t level = 0; level < scales.size(); ++level) {
    Value* bit = e_.b.CreateShl(codes, e_.c_i32(31 - static_cast<uint32_t>(level)));
    bit = e_.b.CreateAnd(bit, e_.c_i32(0x80000000));
    Value* term = e_.as(e_.b.CreateXor(e_.as(scales[level], e_.v_i32), bit), e_.v_f32);
    sum = sum ? e_.b.CreateFAdd(sum, term) : term;
  }
  return sum;
}

}  // namespace hone

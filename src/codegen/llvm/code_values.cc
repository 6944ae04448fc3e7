#include "codegen/llvm/code_values.h"

#include <bit>
#include <cmath>

#include "base/float_bits.h"
#include "codegen/llvm/expr_emit.h"
#include "formats/packed.h"

namespace hone {
namespace {

using llvm::Value;
using By = CodeMeaning::By;

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

bool fits_integer(const CodeMeaning& m, int bits) {
  const int unused = 32 - bits;
  for (size_t code = 0; code < m.values.size(); ++code) {
    const auto top = static_cast<int32_t>(static_cast<uint32_t>(code) << unused);
    const float integer = m.is_signed ? static_cast<float>(top >> unused) : static_cast<float>(code);
    if (!same(m.values[code], integer * m.unit)) return false;
  }
  return true;
}

bool fits_half(const CodeMeaning& m, int bits) {
  for (uint32_t code = 0; code < m.values.size(); ++code) {
    const uint32_t magnitude = code & ((1u << (bits - 1)) - 1), sign = code >> (bits - 1) << 15;
    const uint32_t fields = magnitude << (10 - m.mantissa_bits);
    if (fields > 0x7fff) return false;
    const float value =
        magnitude >= m.nan_from ? std::nanf("") : f16_to_f32(static_cast<uint16_t>(fields | sign)) * m.unit;
    if (!same(m.values[code], value)) return false;
  }
  return true;
}

bool find_half(CodeMeaning& m, int bits) {
  const size_t half = m.values.size() / 2;
  for (size_t i = half; i-- > 0 && std::isnan(m.values[i]);) m.nan_from = static_cast<uint32_t>(i);
  for (m.mantissa_bits = 1; m.mantissa_bits < bits - 1; ++m.mantissa_bits) {
    // The first normal number of an f16 is 2^-14.
    m.unit = m.values[size_t{1} << m.mantissa_bits] * 0x1p14f;
    if (std::isfinite(m.unit) && m.unit > 0 && fits_half(m, bits)) return true;
  }
  return false;
}

}  // namespace

CodeMeaning code_meaning(const Format& format) {
  CodeMeaning m;
  const int bits = format.element.bits;
  if (bits > 16 || is_residual(format) || is_fake_only(format)) return m;
  for (const double value : code_values(format)) m.values.push_back(static_cast<float>(value));
  m.by = By::integer;
  for (m.unit = m.values[1]; const bool is_signed : {true, false}) {
    m.is_signed = is_signed;
    if (fits_integer(m, bits)) return m;
  }
  m.by = By::table;
  if (bits <= 5) return m;  // one or two permutes
  m.by = By::half;
  if (find_half(m, bits)) return m;
  m.by = bits <= 8 ? By::table : By::expression;
  return m;
}

CodeValues::CodeValues(Emitter& e, const Format& format, const CodeMeaning& meaning, const QuantisePrograms& programs,
                       const Values& scales, Value* zero_point)
    : e_(e), meaning_(meaning), p_(programs), code_bits_(format.element.bits) {
  if (meaning.by == By::expression) decode_ = flatten(format.codec->decode(format.element, Expr::arg(0, Scalar::u32)));
  if (p_.levels == 0) return;
  if (p_.multiplies) {
    scale_ = scales[0];
    // Two powers of two: their product is exact, however small; a larger unit could make it infinite.
    unit_in_scale_ = p_.reciprocals > 0 && meaning.by == By::integer && meaning.unit < 1;
    if (unit_in_scale_) scale_ = e_.b.CreateFMul(scale_, e_.c_f32(meaning.unit));
    return;
  }
  for (Value* scale : scales) group_.push_back(e_.b.CreateFPExt(scale, e_.vec(e_.f64)));
  if (zero_point) group_.push_back(e_.b.CreateFPExt(zero_point, e_.vec(e_.f64)));
}

Value* CodeValues::times_unit(Value* number) {
  return meaning_.unit == 1 || unit_in_scale_ ? number : e_.b.CreateFMul(number, e_.c_f32(meaning_.unit));
}

Value* CodeValues::halves(Value* codes) {
  auto& b = e_.b;
  Value* magnitude = b.CreateAnd(codes, e_.c_i32((1u << (code_bits_ - 1)) - 1));
  Value* fields = b.CreateShl(magnitude, e_.c_i32(static_cast<uint32_t>(10 - meaning_.mantissa_bits)));
  Value* sign = b.CreateAnd(b.CreateShl(codes, e_.c_i32(static_cast<uint32_t>(16 - code_bits_))), e_.c_i32(0x8000));
  Value* bits = b.CreateTrunc(b.CreateOr(fields, sign), e_.vec(e_.i16));
  Value* number = times_unit(e_.widen(DType::f16, bits));
  if (meaning_.nan_from == CodeMeaning().nan_from) return number;
  Value* is_nan = b.CreateICmpUGE(magnitude, e_.c_i32(meaning_.nan_from));
  return b.CreateSelect(is_nan, e_.c_f32(std::nan("")), number);
}

Value* CodeValues::value(Value* codes) {
  auto& b = e_.b;
  switch (meaning_.by) {
    case By::integer:
      if (meaning_.is_signed) {
        llvm::Constant* unused = e_.c_i32(static_cast<uint32_t>(32 - code_bits_));
        codes = b.CreateAShr(b.CreateShl(codes, unused), unused);
      }
      return times_unit(b.CreateSIToFP(codes, e_.v_f32));
    case By::half:
      return halves(codes);
    case By::table:
      return e_.lookup_f32(codes, meaning_.values);
    case By::expression: {
      Value* const args[] = {codes};
      return b.CreateFPTrunc(emit_program(e_, decode_, args, nullptr)[0], e_.v_f32);
    }
  }
  CHECK(false);
}

void CodeValues::store(Value* codes, DType dtype, Value* pointer, Value* mask) {
  if (!group_.empty()) {
    Value* const code[] = {codes};
    Values args{meaning_.by == By::expression ? emit_program(e_, decode_, code, nullptr)[0]
                                              : e_.b.CreateFPExt(value(codes), e_.vec(e_.f64))};
    args.insert(args.end(), group_.begin(), group_.end());
    return e_.store_elements(emit_program(e_, p_.restored, args, nullptr)[0], dtype, pointer, mask);
  }
  Value* result = value(codes);
  if (scale_) result = e_.b.CreateFMul(result, scale_);
  if (dtype != DType::bf16 || meaning_.by == By::expression) return e_.store_elements(result, dtype, pointer, mask);
  // Rounding needs no look at NaN: the low half of each that comes up here is 0.
  Value* bits = e_.as(result, e_.v_i32);
  Value* odd = e_.b.CreateAnd(e_.b.CreateLShr(bits, e_.c_i32(16)), e_.c_i32(1));
  bits = e_.b.CreateAdd(bits, e_.b.CreateAdd(odd, e_.c_i32(0x7fff)));
  e_.masked_store(e_.b.CreateTrunc(e_.b.CreateLShr(bits, e_.c_i32(16)), e_.vec(e_.i16)), pointer, mask);
}

}  // namespace hone

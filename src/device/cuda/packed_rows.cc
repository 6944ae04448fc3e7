#include "device/cuda/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cuda/code_words.h"
#include "device/cuda/functions.h"

namespace hone {
namespace {

using llvm::Value;
using By = CodeMeaning::By;

// Whether scales are E8M0: 2^(code - 127), NaN for 255.
bool is_e8m0(const ScaleMeaning& scale) {
  if (scale.by != ScaleMeaning::By::power_of_two || scale.values.size() != 256) return false;
  for (int code = 0; code < 255; ++code)
    if (scale.values[static_cast<size_t>(code)] != std::ldexp(1.0f, code - 127)) return false;
  return std::isnan(scale.values[255]);
}

}  // namespace

Support packed_rows_support(const Format& format) {
  if (Support support = prepackable(format); !support.supported()) return support;
  const CodeMeaning& meaning = code_meaning(format);
  if (meaning.by == By::group_expression) return supports_functions(group_value(format));
  if (meaning.by == By::expression)
    return supports_functions(
        flatten(cast(Scalar::f32, format.codec->decode(format.element, Expr::arg(0, Scalar::u32)))));
  return {};
}

int packed_row_lanes(const GatherPlan& plan) {
  const Format format = parse_format(plan.table_format);
  const CodeMeaning& meaning = code_meaning(format);
  const RowLayout layout = row_layout(format, plan.rows, plan.columns);
  if (!layout.together) return 1;
  const auto fits = [&](int lanes) {
    const int bits = lanes * meaning.bits;
    const bool in_group = layout.group >= plan.columns || layout.group % lanes == 0;
    return plan.columns % lanes == 0 && in_group && bits % 8 == 0 && bits <= 128;
  };
  const int most = static_cast<int>(std::min<int64_t>(8, 16 / size_bytes(plan.result)));
  for (int lanes = most; lanes > 1; lanes /= 2)
    if (fits(lanes)) return lanes;
  return fits(8) ? 8 : 1;  // of odd widths: whole bytes come before whole stretches
}

PackedChunks::PackedChunks(CudaEmitter& e, const GatherPlan& plan)
    : e_(e), plan_(plan), table_(e, plan), layout_(table_.layout()), meaning_(table_.meaning()) {}

Value* PackedChunks::aligned() {
  Value* address = e_.b.CreatePtrToInt(table_.codes(), e_.i64);
  if (meaning_.scale.bits > 0) address = e_.b.CreateOr(address, e_.b.CreatePtrToInt(table_.scales(), e_.i64));
  return e_.b.CreateICmpEQ(e_.b.CreateAnd(address, e_.num(15)), e_.num(0));
}

bool PackedChunks::is_in_line() const {
  const bool rows = layout_.row_bytes * 8 == plan_.columns * meaning_.bits;
  const bool scales = layout_.groups_from_row == layout_.groups && plan_.columns % layout_.group == 0 &&
                      layout_.scale_row_bits == layout_.groups * group_scale_bits();
  const bool one = layout_.groups_from_row == 0 && layout_.scale_row_bits == 0;
  return layout_.together && e_.lanes > 1 && rows && (scales || one);
}

PackedChunks::Raw PackedChunks::load_in_line(Value* number, bool aligned) {
  const bool grouped = layout_.groups_from_row > 0;
  Value* group = grouped ? e_.b.CreateUDiv(number, e_.num(layout_.group / e_.lanes)) : e_.num(0);
  return load_at(e_.times(number, code_bytes()), e_.times(group, group_scale_bits()), group, aligned);
}

PackedChunks::Raw PackedChunks::load(Value* row, Value* column, bool aligned) {
  if (e_.lanes > 1) {
    Value* group = e_.b.CreateUDiv(column, e_.num(layout_.group));
    Value* byte = e_.b.CreateAdd(e_.times(row, layout_.row_bytes),
                                 e_.times(e_.b.CreateUDiv(column, e_.num(e_.lanes)), code_bytes()));
    return load_at(byte, e_.b.CreateAdd(e_.times(row, layout_.scale_row_bits), e_.times(group, group_scale_bits())),
                   e_.b.CreateAdd(e_.times(row, layout_.groups_from_row), group), aligned);
  }
  Raw raw{.words = {table_.code(row, column)}};
  Value* group = table_.group_of(row, column);
  for (int level = 0; level < meaning_.levels && meaning_.scale.bits; ++level) {
    raw.scales.push_back(whole_word(table_.scale_code(group, level)));
    if (meaning_.two_level) raw.outers.push_back(table_.outer_code(group, level));
  }
  if (meaning_.zero_point_bytes) raw.zero = table_.zero_code(group);
  return raw;
}

// Of a code that an expression shifts upwards LLVM would leave upper bits of the register unset.
Value* PackedChunks::whole_word(Value* code) {
  constexpr uint32_t kAsItIs = 0x3210;
  return meaning_.by == By::group_expression ? e_.prmt(code, code, kAsItIs) : code;
}

PackedChunks::Raw PackedChunks::load_at(Value* byte, Value* scale_bit, Value* group, bool aligned) {
  const int64_t alignment = aligned ? layout_.row_bytes | code_bytes() : 1;
  Raw raw{.words = load_code_words(e_, e_.at(table_.codes(), byte), code_bytes(),
                                   access_alignment(code_bytes(), alignment))};
  for (int level = 0; level < meaning_.levels && meaning_.scale.bits; ++level) {
    raw.scales.push_back(scale_code(e_.b.CreateAdd(scale_bit, e_.num(level * meaning_.scale.bits)), aligned));
    if (meaning_.two_level) raw.outers.push_back(table_.outer_code(group, level));
  }
  if (meaning_.zero_point_bytes) raw.zero = table_.zero_code(group);
  return raw;
}

// Codes of whole bytes are read at once where rows of them start at multiples of their size.
Value* PackedChunks::scale_code(Value* bit, bool aligned) {
  const int bits = meaning_.scale.bits;
  const bool whole =
      std::has_single_bit(static_cast<unsigned>(bits)) && bits >= 8 && layout_.scale_row_bits % bits == 0;
  if (!whole || !aligned) return table_.fetch(table_.scales(), bit, bits);
  Value* place = e_.at(table_.scales(), e_.b.CreateLShr(bit, e_.num(3)));
  return e_.b.CreateZExt(e_.load(e_.b.getIntNTy(static_cast<unsigned>(bits)), place, bits / 8), e_.i32);
}

// Integers of 8 bits times a power of two that bf16 has, its subnormals included: five instructions a pair.
bool PackedChunks::decodes_pairs() const {
  return plan_.result == DType::bf16 && e_.target.has_bf16() && e_.lanes % 4 == 0 && meaning_.by == By::integer &&
         meaning_.bits == 8 && meaning_.is_signed && meaning_.zero_point_bytes == 0 && !meaning_.has_global &&
         is_e8m0(meaning_.scale) && std::exp2(std::round(std::log2(meaning_.unit))) == meaning_.unit &&
         meaning_.unit <= 1 && meaning_.unit >= 0x1p-6f;
}

// A byte below 0x43 is a bf16 whose last place counts 1: 128 plus the code's low seven bits. Less 128, or 256 where the
// code's sign is set, that is the code. 2^(scale code - 127) times the unit is a subnormal of bf16 below 2^-126.
Values PackedChunks::pairs(const Raw& raw) {
  auto& b = e_.b;
  const int unit = static_cast<int>(std::lround(std::log2(meaning_.unit)));
  Value* exponent = b.CreateAdd(raw.scales[0], e_.n32(unit));  // of a bf16's bits
  Value* subnormal = b.CreateShl(e_.n32(1), b.CreateAnd(b.CreateAdd(exponent, e_.n32(6)), e_.n32(31)));
  Value* scale = b.CreateSelect(b.CreateICmpSGT(exponent, e_.n32(0)), b.CreateShl(exponent, e_.n32(7)), subnormal);
  scale = b.CreateSelect(b.CreateICmpEQ(raw.scales[0], e_.n32(255)), e_.n32(0x7fff), scale);
  scale = b.CreateOr(scale, b.CreateShl(scale, e_.n32(16)));
  Value *ones = e_.n32(0x3f803f80), *minus_zeros = e_.n32(0x80008000);
  Values out;
  for (Value* word : raw.words)
    for (const uint32_t selector : {0x7170u, 0x7372u}) {
      Value* x = e_.prmt(word, e_.n32(0x43434343), selector);
      Value* low = b.CreateAnd(x, e_.n32(0xff7fff7f));
      Value* less = b.CreateOr(b.CreateAnd(x, e_.n32(0x43804380)), minus_zeros);
      out.push_back(e_.fma_bf16x2(e_.fma_bf16x2(low, ones, less), scale, minus_zeros));
    }
  return out;
}

Value* PackedChunks::scale(Value* code) {
  if (!is_e8m0(meaning_.scale)) return table_.scale_of(e_.splat(code));
  auto& b = e_.b;
  Value* bits = b.CreateSelect(b.CreateICmpEQ(code, e_.n32(0)), e_.n32(0x400000), b.CreateShl(code, e_.n32(23)));
  bits = b.CreateSelect(b.CreateICmpEQ(code, e_.n32(255)), e_.n32(0x7fc00000), bits);
  return table_.of_tensor(e_.splat(e_.as(bits, e_.f32)));
}

void PackedChunks::store(const Raw& raw, Value* to, bool aligned) {
  if (aligned && decodes_pairs()) return e_.store_words(pairs(raw), to);
  Values scales;
  for (size_t level = 0; level < raw.scales.size(); ++level) {
    scales.push_back(scale(raw.scales[level]));
    if (meaning_.two_level) scales.back() = table_.times_outer(scales.back(), e_.splat(raw.outers[level]));
  }
  Value* codes = e_.lanes > 1 ? codes_of_words(e_, raw.words, meaning_.bits) : e_.splat(raw.words[0]);
  CodeNumbers& numbers = table_.numbers();
  Value* zero = raw.zero ? numbers.zero_point(e_.splat(raw.zero)) : nullptr;
  e_.store_elements(numbers.value(codes, numbers.group(scales, zero)), plan_.result, to);
}

}  // namespace hone

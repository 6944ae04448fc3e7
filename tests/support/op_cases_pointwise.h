// Samples of pointwise ops: shapes that broadcast and shapes that do not fill a vector register, in every element type
// they take.
#pragma once

#include <string_view>

#include "tests/support/op_case.h"
#include "tests/support/op_cases_quant.h"

namespace hone {

inline const std::vector<std::vector<Sizes64>>& pointwise_shapes(int operands) {
  static const std::vector<std::vector<Sizes64>> shapes[4] = {
      {},
      {{{}}, {{1}}, {{7}}, {{17}}, {{3, 17}}, {{2, 3, 40}}},
      {{{17}, {17}}, {{7, 17}, {17}}, {{7, 1}, {1, 17}}, {{2, 7, 17}, {}}, {{17}, {7, 17}}, {{2, 1, 3}, {5, 1}}},
      {{{17}, {17}, {17}}, {{7, 1}, {7, 17}, {17}}, {{3, 5}, {}, {3, 5}}},
  };
  return shapes[operands];
}

struct Range {
  float low = -3, high = 3;
};

inline OpCases float_cases(Philox& rng, int operands, const Attributes& attributes = {}, Range range = {}) {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64})
    for (const std::vector<Sizes64>& shapes : pointwise_shapes(operands)) {
      OpCase one{.operands = {}, .attributes = attributes};
      for (const Sizes64& shape : shapes)
        one.operands.emplace_back(random_floats(rng, shape, dtype, range.low, range.high));
      cases.push_back(std::move(one));
    }
  return cases;
}

inline OpCases integer_cases(Philox& rng, int operands) {
  OpCases cases;
  for (DType dtype : {DType::i64, DType::i32, DType::i8, DType::u8})
    for (const std::vector<Sizes64>& shapes : pointwise_shapes(operands)) {
      OpCase one;
      const bool is_signed = dtype != DType::u8;
      for (const Sizes64& shape : shapes)
        one.operands.emplace_back(random_integers(rng, shape, dtype, is_signed ? -9 : 0, 9));
      cases.push_back(std::move(one));
    }
  return cases;
}

inline OpCases boolean_cases(Philox& rng, int operands) {
  OpCases cases;
  for (const std::vector<Sizes64>& shapes : pointwise_shapes(operands)) {
    OpCase one;
    for (const Sizes64& shape : shapes) one.operands.emplace_back(random_integers(rng, shape, DType::boolean, 0, 1));
    cases.push_back(std::move(one));
  }
  return cases;
}

inline OpCases where_cases(Philox& rng) {
  OpCases cases = float_cases(rng, 3);
  for (OpCase& one : integer_cases(rng, 3)) cases.push_back(std::move(one));
  for (OpCase& one : cases) one.operands[0] = random_integers(rng, one.operands[0]->shape(), DType::boolean, 0, 1);
  return cases;
}

inline OpCases cast_cases(Philox& rng) {
  OpCases cases;
  for (DType from :
       {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i64, DType::i32, DType::i8, DType::u8, DType::boolean})
    for (DType to : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i64, DType::i32, DType::i8, DType::u8,
                     DType::boolean})
      cases.push_back({{is_float(from) ? random_floats(rng, {3, 17}, from, -300, 300)
                                       : random_integers(rng, {3, 17}, from, 0, 100)},
                       {{"dtype", to}}});
  return cases;
}

inline void append(OpCases& to, OpCases more) {
  for (OpCase& one : more) to.push_back(std::move(one));
}

// Cases of a pointwise op; ops that are not listed take floats.
inline OpCases pointwise_cases(const OpDef& op, Philox& rng) {
  const std::string_view name = op.name;
  const int operands = op.operands.most();
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (name == "where") return where_cases(rng);
  if (name == "cast") return cast_cases(rng);
  if (name == "quantize_linear") return quantize_cases(rng);
  if (name == "dequantize_linear") return dequantize_cases(rng);
  if (name == "dequantize_sums") return dequantize_sums_cases(rng);
  if (name == "round_to") {
    OpCases cases = float_cases(rng, 1, {{"format", parse_format("int8.f4")}});
    append(cases, float_cases(rng, 1, {{"format", parse_format("fp8_e4m3")}}));
    return cases;
  }
  if (name.starts_with("logical_")) return boolean_cases(rng, operands);
  if (is_one_of({"log", "sqrt", "rsqrt", "reciprocal", "pow", "div"})) return float_cases(rng, operands, {}, {0.1f, 4});
  OpCases cases = float_cases(rng, operands);
  if (is_one_of({"add", "sub", "mul", "min", "max", "neg", "abs", "sign", "relu", "identity", "dropout", "clip",
                 "equal", "not_equal", "less", "less_or_equal", "greater", "greater_or_equal"}))
    append(cases, integer_cases(rng, operands));
  if (is_one_of({"equal", "not_equal", "identity"})) append(cases, boolean_cases(rng, operands));
  if (name == "leaky_relu") append(cases, float_cases(rng, 1, {{"alpha", 0.3}}));
  if (name == "hard_sigmoid") append(cases, float_cases(rng, 1, {{"alpha", 0.4}, {"beta", 0.25}}));
  if (is_one_of({"affine", "scaled_tanh"})) append(cases, float_cases(rng, 1, {{"alpha", 1.5}, {"beta", 0.5}}));
  if (name == "gelu") append(cases, float_cases(rng, 1, {{"approximate", std::string("tanh")}}));
  if (name == "clip") append(cases, float_cases(rng, 1, {{"min", -0.5}, {"max", 1.0}}));
  if (name == "dropout") append(cases, float_cases(rng, 1, {{"ratio", 0.5}}));
  return cases;
}

}  // namespace hone

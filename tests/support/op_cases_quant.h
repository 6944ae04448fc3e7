// Samples of the quantization ops: a scale and zero point for the tensor, for channels and for blocks.
#pragma once

#include "tests/support/op_case.h"

namespace hone {

inline OpCases quantize_cases(Philox& rng) {
  OpCases cases;
  for (DType to : {DType::u8, DType::i8, DType::i16, DType::u16}) {
    const int64_t low = to == DType::u8 || to == DType::u16 ? 0 : -9;
    const Attributes attributes{{"dtype", to}};
    for (DType from : {DType::f32, DType::bf16, DType::f16}) {
      const auto x = [&](Sizes64 shape) { return random_floats(rng, std::move(shape), from, -3, 3); };
      cases.push_back({{x({3, 17}), Tensor::scalar<float>(0.02f), random_integers(rng, {}, to, low, 9)}, attributes});
      cases.push_back({{x({2, 3, 5}), random_floats(rng, {3, 1}, DType::f32, 0.01f, 0.1f)}, attributes});
    }
    cases.push_back(
        {{random_floats(rng, {2, 2, 16}, DType::f32, -9, 9), random_floats(rng, {2, 2, 1}, DType::f32, 0.01f, 0.1f),
          random_integers(rng, {2, 2, 1}, to, low, 9)},
         attributes});
  }
  return cases;
}

inline OpCases dequantize_cases(Philox& rng) {
  OpCases cases;
  for (DType from : {DType::u8, DType::i8, DType::i16, DType::u16, DType::i32}) {
    const auto x = [&](Sizes64 shape) { return random_integers(rng, std::move(shape), from, 0, 99); };
    for (DType to : {DType::f32, DType::bf16, DType::f16}) {
      const Attributes attributes{{"dtype", to}};
      cases.push_back({{x({3, 17}), random_floats(rng, {}, to, 0.01f, 0.1f)}, attributes});
      cases.push_back({{x({2, 3, 5}), random_floats(rng, {3, 1}, to, 0.01f, 0.1f), x({3, 1})}, attributes});
    }
    cases.push_back(
        {{x({2, 2, 16}), random_floats(rng, {2, 2, 1}), random_floats(rng, {2, 2, 1})}, {{"dtype", DType::f32}}});
  }
  return cases;
}

inline OpCases quantize_dynamic_cases(Philox& rng) {
  OpCases cases;
  for (const char* format : {"int8", "uint8", "uint8.asym", "int8.g1x0", "uint8.asym.g1x0"})
    for (DType dtype : {DType::f32, DType::bf16})
      for (const Sizes64& shape : {Sizes64{1, 1}, Sizes64{3, 17}, Sizes64{2, 3, 70}, Sizes64{5, 96}})
        cases.push_back({{random_floats(rng, shape, dtype, -3, 2)}, {{"format", parse_format(format)}}});
  return cases;
}

inline OpCases dequantize_sums_cases(Philox& rng) {
  OpCases cases;
  const auto sums = [&](Sizes64 shape) { return random_integers(rng, std::move(shape), DType::i32, -99999, 99999); };
  const auto scales = [&](Sizes64 shape) { return random_floats(rng, std::move(shape), DType::f32, 0.01f, 0.1f); };
  cases.push_back({{sums({3, 17}), scales({}), scales({17})}, {}});
  cases.push_back({{sums({2, 3, 40}), scales({2, 3, 1}), scales({40})}, {}});
  for (DType zero : {DType::u8, DType::i8})
    cases.push_back(
        {{sums({2, 3, 5}), scales({2, 3, 1}), scales({}), random_integers(rng, {2, 3, 1}, zero, 0, 99), sums({5})},
         {}});
  return cases;
}

}  // namespace hone

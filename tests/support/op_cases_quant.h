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

}  // namespace hone

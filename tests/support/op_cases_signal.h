// Samples of transforms, windows and random numbers.
#pragma once

#include "tests/support/op_cases_products.h"

namespace hone {

inline OpCases dft_cases(Philox& rng) {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::f16, DType::f64}) {
    const Tensor real = random_floats(rng, {2, 7, 3, 1}, dtype), complex = random_floats(rng, {2, 7, 3, 2}, dtype);
    cases.push_back({{real}, {}});
    cases.push_back({{complex}, {{"axis", Shape{1}}, {"inverse", int64_t{1}}}});
    cases.push_back({{real}, {{"axis", Shape{-3}}, {"onesided", int64_t{1}}, {"length", Shape{9}}}});
    cases.push_back({{complex, std::nullopt, Tensor::scalar<int64_t>(1)}, {}});
    cases.push_back({{complex, Tensor::scalar<int64_t>(5)}, {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}}});
  }
  return cases;
}

inline OpCases stft_cases(Philox& rng) {
  const Tensor real = random_floats(rng, {2, 17, 1}), complex = random_floats(rng, {1, 17, 2});
  return {{{real, random_floats(rng, {6})}, {{"step", Shape{4}}}},
          {{real, std::nullopt, Tensor::scalar<int64_t>(3), Tensor::scalar<int32_t>(8)}, {}},
          {{complex}, {{"step", Shape{1}}, {"length", Shape{5}}, {"onesided", int64_t{0}}}}};
}

inline OpCases cosine_window_cases() {
  const std::vector<double> blackman{0.42, -0.5, 0.08};
  return {
      {{}, {{"coefficients", blackman}, {"size", Shape{9}}}},
      {{Tensor::scalar<int32_t>(1)}, {{"coefficients", blackman}, {"periodic", int64_t{0}}, {"dtype", DType::f64}}}};
}

inline OpCases mel_weight_matrix_cases() {
  OpCases cases;
  for (DType dtype : {DType::f32, DType::i32})
    cases.push_back({{Tensor::scalar<int64_t>(4), Tensor::scalar<int64_t>(31), Tensor::scalar<int64_t>(8000),
                      Tensor::scalar<float>(100), Tensor::scalar<float>(4000)},
                     {{"dtype", dtype}}});
  return cases;
}

inline OpCases random_cases(const OpDef& op, Philox& rng) {
  const std::string_view name = op.name;
  const Attributes seed{{"seed", int64_t{7}}};
  if (name == "multinomial")
    return {{{random_floats(rng, {3, 5})}, seed},
            {{random_floats(rng, {1, 1}, DType::f16)},
             {{"seed", int64_t{-1}}, {"samples", int64_t{4}}, {"dtype", DType::i64}}}};
  const bool normal = name == "random_normal";
  return {{{Tensor::of<int64_t>({2}, {3, 5})}, seed},
          {{},
           {{"seed", int64_t{8}},
            {"shape", Shape{17}},
            {"dtype", DType::f16},
            {normal ? "mean" : "low", -1.0},
            {normal ? "scale" : "high", 2.0}}}};
}

inline OpCases signal_cases(const OpDef& op, Philox& rng) {
  const std::string_view name = op.name;
  if (name == "dft") return dft_cases(rng);
  if (name == "stft") return stft_cases(rng);
  if (name == "cosine_window") return cosine_window_cases();
  if (name == "mel_weight_matrix") return mel_weight_matrix_cases();
  if (name == "multinomial" || name.starts_with("random_")) return random_cases(op, rng);
  return {};
}

}  // namespace hone

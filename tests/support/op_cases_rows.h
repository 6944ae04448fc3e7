// Samples of softmax, normalisations, reductions and losses.
#pragma once

#include "tests/support/op_cases_products.h"

namespace hone {

inline std::vector<Tensor> row_inputs(Philox& rng) {
  std::vector<Tensor> inputs;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const Sizes64& shape : {Sizes64{1}, Sizes64{17}, Sizes64{7, 1}, Sizes64{3, 7}, Sizes64{2, 3, 40}})
      inputs.push_back(random_floats(rng, shape, dtype));
  return inputs;
}

inline OpCases softmax_cases(Philox& rng) {
  OpCases cases;
  for (const Tensor& x : row_inputs(rng)) {
    cases.push_back({{x}, {}});
    cases.push_back({{x}, {{"axis", int64_t{0}}}});
  }
  return cases;
}

// operands: 1 (x), 2 (x, weight) or 3 (x, weight, bias) at most.
inline OpCases norm_cases(Philox& rng, int operands) {
  OpCases cases;
  for (const Tensor& x : row_inputs(rng))
    for (int count = 1; count <= operands; ++count) {
      OpCase one{{x}, {{"epsilon", 1e-3}}};
      for (int i = 1; i < count; ++i) one.operands.emplace_back(random_floats(rng, {x.dim(-1)}));
      cases.push_back(std::move(one));
    }
  return cases;
}

// Of gradients by rows: what a forward op read or gave, and the gradient of its result.
inline OpCases row_gradient_cases(const OpDef& op, Philox& rng) {
  OpCases cases;
  const bool has_axis = std::string_view(op.attributes[0].name) == "axis";
  for (const Tensor& x : row_inputs(rng)) {
    const Tensor d = random_floats(rng, x.shape());
    // A number over its magnitude has the gradient 0, of which f32 leaves roundings alone.
    if (std::string_view(op.name) == "l2_normalise_gradient" && x.dim(-1) == 1) continue;
    cases.push_back({{x, d}, has_axis ? Attributes{} : Attributes{{"epsilon", 1e-3}}});
    if (has_axis) cases.push_back({{x, d}, {{"axis", int64_t{0}}}});
    if (op.operands.most() > 2) cases.push_back({{x, d, random_floats(rng, {x.dim(-1)})}, {{"epsilon", 1e-3}}});
  }
  return cases;
}

inline OpCases batch_norm_cases(Philox& rng) {
  OpCases cases;
  for (const Sizes64& shape : {Sizes64{2, 3}, Sizes64{2, 3, 5, 7}}) {
    OpCase one{{random_floats(rng, shape)}, {{"epsilon", 1e-3}, {"momentum", 0.25}}};
    for (int i = 0; i < 3; ++i) one.operands.emplace_back(random_floats(rng, {3}));
    one.operands.emplace_back(random_floats(rng, {3}, DType::f32, 0.1f, 2));
    cases.push_back(std::move(one));
  }
  return cases;
}

inline OpCases reduce_cases(const OpDef& op, Philox& rng) {
  OpCases cases;
  for (const Tensor& x : row_inputs(rng)) {
    cases.push_back({{x}, {}});
    cases.push_back({{x}, {{"axes", Integers{-1}}}});
    cases.push_back({{x}, {{"axes", Integers{0}}, {"keepdims", int64_t{0}}}});
  }
  if (std::string_view(op.name) != "reduce_mean")
    cases.push_back(
        {{random_integers(rng, {3, 7}, DType::i64, -9, 9)}, {{"axes", Integers{1}}, {"keepdims", int64_t{0}}}});
  return cases;
}

inline OpCases argmax_cases(Philox& rng) {
  OpCases cases;
  for (const Tensor& x : row_inputs(rng)) {
    cases.push_back({{x}, {}});
    cases.push_back({{x}, {{"axis", int64_t{0}}, {"keepdims", int64_t{1}}}});
  }
  return cases;
}

inline OpCases mean_pool_cases(Philox& rng) {
  return {{{random_floats(rng, {2, 7, 17}), random_integers(rng, {2, 7}, DType::i64, 0, 1)}, {}},
          {{random_floats(rng, {1, 1, 1}, DType::bf16), Tensor::of<int32_t>({1, 1}, {1})}, {}}};
}

inline OpCases cross_entropy_cases(Philox& rng) {
  const Tensor labels = Tensor::of<int64_t>({3}, {4, 1, 0}), weight = random_floats(rng, {5}, DType::f32, 0.1f, 2);
  return {{{random_floats(rng, {7, 5}), random_integers(rng, {7}, DType::i64, 0, 4)}, {}},
          {{random_floats(rng, {3, 5}), labels}, {{"ignore_index", int64_t{1}}}},
          {{random_floats(rng, {3, 5}), labels, weight}, {}},
          {{random_floats(rng, {3, 5}), labels, weight}, {{"ignore_index", int64_t{1}}, {"label_smoothing", 0.25}}},
          {{random_floats(rng, {3, 5}), labels}, {{"label_smoothing", 0.1}}}};
}

}  // namespace hone

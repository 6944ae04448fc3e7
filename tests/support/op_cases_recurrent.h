// Samples of recurrent layers.
#pragma once

#include "tests/support/op_cases_products.h"

namespace hone {

// 3 steps of 2 sequences with 5 elements each, 4 hidden units. `gates` and `cell` as in ops/recurrent.h.
inline OpCase recurrent_case(Philox& rng, int64_t gates, bool cell, int64_t directions, DType dtype) {
  const auto part = [&](Sizes64 shape) { return random_floats(rng, std::move(shape), dtype, -1, 1); };
  OpCase one;
  one.operands = {part({3, 2, 5}),
                  part({directions, gates * 4, 5}),
                  part({directions, gates * 4, 4}),
                  part({directions, 2 * gates * 4}),
                  Tensor::of<int32_t>({2}, {2, 3}),
                  part({directions, 2, 4})};
  if (cell) one.operands.insert(one.operands.end(), {part({directions, 2, 4}), part({directions, 12})});
  return one;
}

inline OpCases recurrent_cases(const OpDef& op, Philox& rng) {
  const std::string_view name = op.name;
  const bool cell = name == "lstm";
  const int64_t gates = cell ? 4 : name == "gru" ? 3 : 1;
  OpCases cases;
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    cases.push_back(recurrent_case(rng, gates, cell, 1, dtype));
    cases.back().operands.resize(3);
    cases.push_back(recurrent_case(rng, gates, cell, 1, dtype));
    cases.back().attributes = {{"direction", std::string("reverse")}, {"clip", 0.5}};
  }
  OpCase both = recurrent_case(rng, gates, cell, 2, DType::f32);
  const size_t activations = cell ? 6 : static_cast<size_t>(2 * std::min<int64_t>(gates, 2));
  both.attributes = {{"direction", std::string("bidirectional")},
                     {"activations", std::vector<std::string>(activations, "hard_sigmoid")},
                     {"activation_alpha", std::vector<double>{0.3, 0.1}},
                     {"activation_beta", std::vector<double>{0.4}}};
  if (cell) both.attributes.set("input_forget", int64_t{1});
  if (name == "gru") both.attributes.set("linear_before_reset", int64_t{1});
  if (cell)
    cases.push_back({both.operands, {{"direction", std::string("bidirectional")}, {"round_state", int64_t{1}}}});
  cases.push_back(std::move(both));
  return cases;
}

}  // namespace hone

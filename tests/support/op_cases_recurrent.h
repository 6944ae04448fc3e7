// Samples of recurrent layers.
#pragma once

#include "ops/recurrent.h"
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

// The same layers behind their input products.
inline OpCases recurrent_steps_cases(Philox& rng) {
  OpCases cases;
  for (const RecurrentCell& cell : kRecurrentCells) {
    const int64_t gates = cell.kind.gates;
    const auto sample = [&](int64_t directions, DType dtype, Attributes attributes) {
      OpCase one = recurrent_case(rng, gates, cell.kind.has_cell, directions, dtype);
      one.operands.erase(one.operands.begin() + 1);
      one.operands[0] = random_floats(rng, {3, 2, directions * gates * 4}, dtype, -1, 1);
      one.operands[2] = random_floats(rng, {directions, gates * 4}, dtype, -1, 1);
      one.attributes = std::move(attributes);
      one.attributes.set("cell", std::string(cell.name));
      return one;
    };
    for (DType dtype : {DType::f32, DType::bf16}) {
      cases.push_back(sample(1, dtype, {}));
      cases.back().operands.resize(2);
      cases.push_back(sample(1, dtype, {{"direction", std::string("reverse")}, {"clip", 0.5}}));
    }
    const size_t activations = 2 * cell.kind.activations.size();
    OpCase both = sample(2, DType::f32,
                         {{"direction", std::string("bidirectional")},
                          {"activations", std::vector<std::string>(activations, "hard_sigmoid")},
                          {"activation_alpha", std::vector<double>{0.3, 0.1}},
                          {"activation_beta", std::vector<double>{0.4}}});
    if (cell.kind.has_cell) both.attributes.set("input_forget", int64_t{1});
    if (gates == 3) both.attributes.set("linear_before_reset", int64_t{1});
    cases.push_back(std::move(both));
    if (cell.kind.has_cell) cases.push_back(sample(1, DType::f32, {{"round_state", int64_t{1}}}));
  }
  return cases;
}

}  // namespace hone

// Ops that keep what came before: tensor_scatter into a cache, linear_attention into a matrix, lstm with a rounded
// state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/ops/call.h"

namespace hone {
namespace {

std::vector<Tensor> call_all(const char* op, const std::vector<std::optional<Tensor>>& operands,
                             const Attributes& attributes) {
  std::vector<const Tensor*> pointers;
  for (const auto& operand : operands) pointers.push_back(operand ? &*operand : nullptr);
  return evaluate_node(ops::get(op), pointers, attributes);
}

const Tensor kCache = f32({2, 3, 1}, {1, 2, 3, 4, 5, 6}), kUpdate = f32({2, 2, 1}, {10, 20, 30, 40});
const Attributes kCircular{{"circular", int64_t{1}}};

TEST(TensorScatter, WritesEachSampleFromItsOwnIndexOn) {
  EXPECT_EQ(call("tensor_scatter", {kCache, kUpdate}).to_floats(), (Floats{10, 20, 3, 30, 40, 6}));
  EXPECT_EQ(call("tensor_scatter", {kCache, kUpdate, i64({2}, {1, 0})}).to_floats(), (Floats{1, 10, 20, 30, 40, 6}));
}

TEST(TensorScatter, GoesOnAtTheStartWhereItIsCircular) {
  EXPECT_EQ(call("tensor_scatter", {kCache, kUpdate, i64({2}, {2, -1})}, kCircular).to_floats(),
            (Floats{20, 2, 10, 40, 5, 30}));
  EXPECT_EQ(call("tensor_scatter", {kCache, kUpdate, i64({2}, {INT64_MIN, INT64_MAX})}, kCircular).elements(), 6);
}

TEST(TensorScatter, RefusesRowsThatDoNotFit) {
  for (int64_t first : {int64_t{2}, int64_t{-1}, INT64_MAX, INT64_MIN})
    EXPECT_NE(error_of("tensor_scatter", {kCache, kUpdate, i64({2}, {0, first})}).find("don't fit"), std::string::npos);
  EXPECT_NE(error_of("tensor_scatter", {kUpdate, kCache}).find("3 rows; the cache has 2"), std::string::npos);
  EXPECT_NE(error_of("tensor_scatter", {kCache, kUpdate}, {{"axis", int64_t{0}}}).find("the batch"), std::string::npos);
  EXPECT_NE(error_of("tensor_scatter", {kCache, kUpdate}, {{"axis", INT64_MIN}}), "");
  EXPECT_NE(error_of("tensor_scatter", {kCache, i64({2, 2, 1}, {1, 2, 3, 4})}).find("element types"),
            std::string::npos);
}

TEST(TensorScatter, OfNothingIsNothing) {
  const Tensor wide(DType::f32, {int64_t{1} << 40, 3, 0});
  EXPECT_EQ(call("tensor_scatter", {wide, wide}).elements(), 0);
}

// One head of one column: S counts up k * v, y = S * q.
TEST(LinearAttention, SumsProductsOfKeysAndValues) {
  const Attributes one{{"heads", int64_t{1}}, {"kv_heads", int64_t{1}}};
  const Tensor q = f32({1, 3, 1}, {1, 2, 3}), k = f32({1, 3, 1}, {1, 1, 2}), v = f32({1, 3, 1}, {4, 5, 6});
  const auto plain = call_all("linear_attention", {q, k, v}, one);
  EXPECT_EQ(plain[0].to_floats(), (Floats{4, 18, 63}));
  EXPECT_EQ(plain[1].to_floats(), (Floats{21}));
  const Tensor half = f32({1, 3, 1}, {0, std::log(0.5f), 0}), state = f32({1, 1, 1, 1}, {2});
  EXPECT_EQ(call_all("linear_attention", {q, k, v, state, half}, one)[1].to_floats(), (Floats{20}));
}

// S = 0 + 1 * (4 - 0), then + 1 * 0.5 * (5 - 4), then + 2 * 1 * (6 - 2 * 4.5).
TEST(LinearAttention, CorrectsWhatTheMatrixAlreadyGives) {
  const Attributes delta{{"heads", int64_t{1}}, {"kv_heads", int64_t{1}}, {"delta", int64_t{1}}};
  const Tensor x = f32({1, 3, 1}, {1, 1, 2}), v = f32({1, 3, 1}, {4, 5, 6}), beta = f32({1, 3, 1}, {1, 0.5f, 1});
  EXPECT_EQ(call_all("linear_attention", {x, x, v, {}, {}, beta}, delta)[1].to_floats(), (Floats{-1.5f}));
  EXPECT_NE(error_of("linear_attention", {x, x, v}, delta).find("they go together"), std::string::npos);
}

TEST(LinearAttention, HeadsShareTheMatrixOfTheirGroup) {
  const Tensor q = f32({1, 1, 4}, {1, 2, 3, 4}), k = f32({1, 1, 2}, {1, 10}), v = f32({1, 1, 2}, {1, 1});
  EXPECT_EQ(call("linear_attention", {q, k, v}, {{"heads", int64_t{4}}, {"kv_heads", int64_t{2}}}).to_floats(),
            (Floats{1, 2, 30, 40}));
  for (const auto& [heads, groups] : {std::pair{int64_t{4}, int64_t{3}},
                                      {int64_t{0}, int64_t{2}},
                                      {int64_t{4}, int64_t{0}},
                                      {INT64_MIN, int64_t{-1}},
                                      {INT64_MAX, INT64_MAX}})
    EXPECT_NE(error_of("linear_attention", {q, k, v}, {{"heads", heads}, {"kv_heads", groups}}), "");
}

TEST(LinearAttention, AsksForTheMemoryOfItsState) {
  const Tensor wide(DType::f32, {1, 0, int64_t{1} << 31});
  EXPECT_NE(error_of("linear_attention", {wide, wide, wide}, {{"heads", int64_t{1}}, {"kv_heads", int64_t{1}}}), "");
}

// Steps of 3/255 from -1 to 2: zero is the code 85, and 0.405 lies at 34.4 steps.
TEST(Lstm, RoundsItsStateToSteps) {
  Floats identity(36, 0);  // of the cell's candidates, the last of the four gates
  for (size_t i = 0; i < 3; ++i) identity[27 + 4 * i] = 1;
  const Tensor x = f32({1, 1, 1}, {0}), zeros(DType::f32, {1, 12, 1}), r = f32({1, 12, 3}, identity);
  const Attributes rounding{{"activations", std::vector<std::string>{"affine", "affine", "affine"}},
                            {"round_state", int64_t{1}}};
  Floats open(24, 0);  // the input and output gates are 1
  std::fill(open.begin(), open.begin() + 6, 1.0f);
  const Tensor bias = f32({1, 24}, open), h = f32({1, 1, 3}, {-1, 2, 0.405f});
  const Tensor y = call_all("lstm", {x, zeros, r, bias, {}, h}, rounding)[1];
  EXPECT_EQ(y.to_floats(), (Floats{-85 * (3.0f / 255), 170 * (3.0f / 255), 34 * (3.0f / 255)}));
}

}  // namespace
}  // namespace hone

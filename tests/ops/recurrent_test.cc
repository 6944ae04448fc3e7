// rnn, gru and lstm on numbers that a person can check; affine is the identity here.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/call.h"

namespace hone {
namespace {

using Names = std::vector<std::string>;

std::vector<Tensor> call_all(const char* op, const std::vector<std::optional<Tensor>>& operands,
                             const Attributes& attributes) {
  std::vector<const Tensor*> pointers;
  for (const auto& operand : operands) pointers.push_back(operand ? &*operand : nullptr);
  return evaluate_node(ops::get(op), pointers, attributes);
}

Attributes with(Attributes attributes, const std::string& name, Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}

const Attributes kLinearRnn{{"activations", Names{"affine"}}};
const Attributes kLinearGru{{"activations", Names{"affine", "affine"}}};
const Attributes kLinearLstm{{"activations", Names{"affine", "affine", "affine"}}};
const Tensor kOne = f32({1, 1, 1}, {1}), kZero = f32({1, 1, 1}, {0});

// h' = x + 10 h + 100 + 1000 over x = 1, 2, 3.
TEST(Rnn, CarriesItsStateFromStepToStep) {
  const auto results =
      call_all("rnn", {f32({3, 1, 1}, {1, 2, 3}), kOne, f32({1, 1, 1}, {10}), f32({1, 2}, {100, 1000})}, kLinearRnn);
  EXPECT_EQ(results[0].shape(), (Sizes64{3, 1, 1, 1}));
  EXPECT_EQ(results[0].to_floats(), (Floats{1101, 12112, 122223}));
  EXPECT_EQ(results[1].shape(), (Sizes64{1, 1, 1}));
  EXPECT_EQ(results[1].to_floats(), (Floats{122223}));
}

TEST(Rnn, IsTanhUnlessTold) { EXPECT_FLOAT_EQ(call("rnn", {kOne, kOne, kZero}).to_floats()[0], std::tanh(1.0f)); }

// Two sequences side by side, of lengths 2 and 0, from the states 5 and 7.
TEST(Rnn, ASequenceEndsAtItsLengthWhicheverWayItIsRead) {
  const Tensor x = f32({3, 2, 1}, {1, 1, 2, 1, 3, 1});
  const std::vector<std::optional<Tensor>> operands{
      x, kOne, f32({1, 1, 1}, {10}), {}, i64({2}, {2, 0}), f32({1, 2, 1}, {5, 7})};
  const auto forward = call_all("rnn", operands, kLinearRnn);
  EXPECT_EQ(forward[0].to_floats(), (Floats{51, 0, 512, 0, 0, 0}));
  EXPECT_EQ(forward[1].to_floats(), (Floats{512, 7}));
  const auto reverse = call_all("rnn", operands, with(kLinearRnn, "direction", std::string("reverse")));
  EXPECT_EQ(reverse[0].to_floats(), (Floats{521, 0, 52, 0, 0, 0}));
  EXPECT_EQ(reverse[1].to_floats(), (Floats{521, 7}));
}

TEST(Rnn, BothDirectionsHaveTheirOwnWeightsAndActivations) {
  const Attributes both{{"direction", std::string("bidirectional")},
                        {"activations", Names{"affine", "leaky_relu"}},
                        {"activation_alpha", Doubles{1, 0.5}}};
  const auto results =
      call_all("rnn", {f32({2, 1, 1}, {1, 2}), f32({2, 1, 1}, {1, -1}), f32({2, 1, 1}, {10, 0})}, both);
  EXPECT_EQ(results[0].shape(), (Sizes64{2, 2, 1, 1}));
  EXPECT_EQ(results[0].to_floats(), (Floats{1, -0.5f, 12, -1}));
  EXPECT_EQ(results[1].to_floats(), (Floats{12, -0.5f}));
}

// Alphas and betas go in order to the activations that take one; those that are left keep the op's own.
TEST(Rnn, ActivationsTakeTheNextAlphaAndBeta) {
  const Attributes attributes{{"direction", std::string("bidirectional")},
                              {"activations", Names{"affine", "affine"}},
                              {"activation_alpha", Doubles{3}},
                              {"activation_beta", Doubles{5, 7}}};
  const Tensor ones = f32({2, 1, 1}, {1, 1});
  EXPECT_EQ(call("rnn", {f32({1, 1, 1}, {2}), ones, ones}, attributes).to_floats(), (Floats{11, 9}));
}

TEST(Rnn, ClipsWhatTheActivationReads) {
  EXPECT_EQ(call("rnn", {f32({1, 2, 1}, {9, -9}), kOne, kZero}, with(kLinearRnn, "clip", 2.5)).to_floats(),
            (Floats{2.5f, -2.5f}));
}

TEST(Rnn, SaysWhatDoesNotFit) {
  const Tensor x = f32({1, 1, 1}, {1});
  EXPECT_NE(error_of("rnn", {x, kOne, kOne}, {{"activations", Names{"softmax"}}}).find("\"softmax\" is not"),
            std::string::npos);
  EXPECT_NE(error_of("rnn", {x, kOne, kOne}, {{"activations", Names{"tanh", "tanh"}}}).find("accepted: 1"),
            std::string::npos);
  EXPECT_NE(error_of("rnn", {x, kOne, kOne}, {{"direction", std::string("backward")}}).find("bidirectional"),
            std::string::npos);
  EXPECT_NE(error_of("rnn", {x, f32({1, 1, 2}, {1, 1}), kOne}).find("dimension 2 of w"), std::string::npos);
  EXPECT_NE(error_of("rnn", {x, kOne, kOne, f32({1, 2}, {0, 0}), i64({1}, {2})}).find("length 2; accepted: 0 to 1"),
            std::string::npos);
}

TEST(Rnn, KnowsItsTypesForSymbolicBatchAndSteps) {
  const TensorType x = parse_type("f16[S,B,3]"), w = parse_type("f16[1,5,3]"), r = parse_type("f16[1,5,5]");
  const std::vector<const TensorType*> operands{&x, &w, &r};
  const std::vector<const Tensor*> constants(3);
  const std::vector<TensorType> results = infer_results(ops::get("rnn"), operands, constants, {});
  EXPECT_EQ(to_string(results[0]), "f16[S,1,B,5]");
  EXPECT_EQ(to_string(results[1]), "f16[1,B,5]");
}

// x = 1, h = 10: z = 2, r = 3; by default n = 4 + 3·10·5 + 6 + 7 = 167, so h' = (1 - 2)·167 + 2·10.
TEST(Gru, ResetsTheStateBeforeOrAfterTheMatrix) {
  const Tensor w = f32({1, 3, 1}, {2, 3, 4}), r = f32({1, 3, 1}, {0, 0, 5}), b = f32({1, 6}, {0, 0, 6, 0, 0, 7});
  const std::vector<std::optional<Tensor>> operands{kOne, w, r, b, {}, f32({1, 1, 1}, {10})};
  EXPECT_EQ(call_all("gru", operands, kLinearGru)[1].to_floats(), (Floats{-147}));
  const Attributes after = with(kLinearGru, "linear_before_reset", int64_t{1});  // n = 4 + 6 + 3·(10·5 + 7) = 181
  EXPECT_EQ(call_all("gru", operands, after)[1].to_floats(), (Floats{-161}));
}

TEST(Gru, GatesAreSigmoidsAndTheCandidateATanh) {
  const double z = 1 / (1 + std::exp(-1.0)), n = std::tanh(3.0);  // the state is 0, so r does not show
  EXPECT_FLOAT_EQ(call("gru", {kOne, f32({1, 3, 1}, {1, 2, 3}), f32({1, 3, 1}, {0, 0, 0})}).to_floats()[0],
                  static_cast<float>((1 - z) * n));
}

const Tensor kNoFeedback = f32({1, 4, 1}, {0, 0, 0, 0});

// i = 2, o = 3, f = 5, candidate 7, c = 10: c' = 5·10 + 2·7 = 64, h' = 3·64.
TEST(Lstm, MixesTheOldCellWithTheCandidate) {
  const std::vector<std::optional<Tensor>> operands{kOne, f32({1, 4, 1}, {2, 3, 5, 7}), kNoFeedback, {}, {},
                                                    {},   f32({1, 1, 1}, {10})};
  const auto results = call_all("lstm", operands, kLinearLstm);
  EXPECT_EQ(results[0].to_floats(), (Floats{192}));
  EXPECT_EQ(results[1].to_floats(), (Floats{192}));
  EXPECT_EQ(results[2].to_floats(), (Floats{64}));
  const auto coupled = call_all("lstm", operands, with(kLinearLstm, "input_forget", int64_t{1}));
  EXPECT_EQ(coupled[2].to_floats(), (Floats{4}));  // -1·10 + 2·7
}

// The input and forget gates read the old cell, the output gate the new one.
TEST(Lstm, PeepholesReadTheCell) {
  const auto results = call_all("lstm",
                                {kOne,
                                 f32({1, 4, 1}, {2, 3, 5, 7}),
                                 kNoFeedback,
                                 {},
                                 {},
                                 {},
                                 f32({1, 1, 1}, {10}),
                                 f32({1, 3}, {0.1f, 0.5f, 0.2f})},
                                kLinearLstm);
  EXPECT_FLOAT_EQ(results[2].to_floats()[0], 3 * 7 + 7 * 10);        // i = 2 + 1, f = 5 + 2
  EXPECT_FLOAT_EQ(results[0].to_floats()[0], (3 + 0.5f * 91) * 91);  // o = 3 + 0.5·91
}

// c' is 11 and stays so; the last activation reads it clipped to 2, and o is 1.
TEST(Lstm, ClipsWhatTheLastActivationReadsButNotTheCell) {
  const auto results =
      call_all("lstm", {kOne, f32({1, 4, 1}, {1, 1, 1, 1}), kNoFeedback, {}, {}, {}, f32({1, 1, 1}, {10})},
               with(kLinearLstm, "clip", 2.0));
  EXPECT_EQ(results[2].to_floats(), (Floats{11}));
  EXPECT_EQ(results[0].to_floats(), (Floats{2}));
}

TEST(Lstm, GatesAreSigmoidsAndTheRestIsTanh) {
  const Tensor w = f32({1, 4, 1}, {1, 2, 3, 4});
  const double c = std::tanh(4.0) / (1 + std::exp(-1.0)), h = std::tanh(c) / (1 + std::exp(-2.0));
  EXPECT_FLOAT_EQ(call("lstm", {kOne, w, kNoFeedback}).to_floats()[0], static_cast<float>(h));
}

}  // namespace
}  // namespace hone

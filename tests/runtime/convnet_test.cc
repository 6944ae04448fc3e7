// Convolutional networks through sessions: every level, method and number of threads against the reference, and inputs
// at the edge of what is allowed.
#include <gtest/gtest.h>

#include <cmath>

#include "device/x86/device.h"
#include "ops/evaluate.h"
#include "runtime/session.h"
#include "tests/runtime/encoder.h"
#include "tests/support/error_of.h"
#include "tests/support/graph_bound.h"

namespace hone::test {
namespace {

// Every kind of convolution: a strided stem, depthwise with a squeeze, grouped, 3x3 with a residual, upsampling.
const Graph& network() {
  static const Graph graph = parse_seeded(R"(graph network {
    %x     : f32[B,3,H,W] = input "x"
    %stem  : f32[8,3,5,5] = const "stem"
    %wide  : f32[8] = const "wide"
    %deep  : f32[8,1,3,3] = const "deep"
    %down  : f32[4,8,1,1] = const "down"
    %up    : f32[8,4,1,1] = const "up"
    %group : f32[8,2,3,3] = const "group"
    %whole : f32[8,8,3,3] = const "whole"
    %back  : f32[8,5,2,2] = const "back"
    %last  : f32[6,5] = const "last"
    %a = conv %x, %stem, %wide {strides=[2, 2], pads=[2, 2, 2, 2]}
    %b = relu %a
    %c = max_pool %b {kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]}
    %d = conv %c, %deep {groups=8, pads=[1, 1, 1, 1]}
    %e = hard_swish %d
    %s = reduce_mean %e {axes=[2, 3], keepdims=1}
    %t = conv %s, %down
    %u = relu %t
    %v = conv %u, %up
    %g = hard_sigmoid %v
    %m = mul %e, %g
    %n = conv %m, %group {groups=4, pads=[1, 1, 1, 1]}
    %o = conv %n, %whole, %wide {pads=[1, 1, 1, 1]}
    %p = add %o, %m
    %q = relu %p
    %r = conv_transpose %q, %back {strides=[2, 2]}
    %z = reduce_mean %r {axes=[2, 3], keepdims=0}
    %y = linear %z, %last
    return %r as "plane", %y as "scores"
  })");
  return graph;
}

NamedTensors image(int64_t batch, int64_t height, int64_t width) {
  Philox rng(static_cast<uint64_t>(batch * 1000 + height * 10 + width));
  return {{"x", random_floats(rng, {batch, 3, height, width})}};
}

SessionOptions on(const X86Target& target, int threads, bool no_winograd) {
  SessionOptions options;
  options.device = x86_device(target), options.threads = threads, options.no_winograd = no_winograd;
  return options;
}

TEST(ConvolutionalNetwork, NothingIsInterpretedAndResultsStayWithinTheBounds) {
  for (auto [batch, height, width] : {std::tuple{1, 29, 37}, {3, 16, 8}, {1, 1, 1}}) {
    const NamedTensors inputs = image(batch, height, width);
    const std::vector<Bounded> want = bounded_outputs(network(), inputs);
    for (const X86Target& target : target_levels()) {
      Session session(network(), on(target, 1, true));
      RunProfile profile;
      const std::vector<Tensor> got = session.run(inputs, &profile);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(fault_of(got[i], want[i]), "")
            << to_string(target) << " " << height << "x" << width << " output " << i;
      for (const StepProfile& step : profile.steps) EXPECT_EQ(step.why_interpreted, "") << step.ops;
    }
  }
}

TEST(ConvolutionalNetwork, TheSameBitsWithAnyNumberOfThreads) {
  const NamedTensors inputs = image(2, 61, 47);
  for (bool no_winograd : {true, false}) {
    const std::vector<Tensor> one = Session(network(), on(host_target(), 1, no_winograd)).run(inputs);
    for (int threads : {2, 3, 7})
      expect_same_bits(Session(network(), on(host_target(), threads, no_winograd)).run(inputs), one,
                       fmt::format("{} threads", threads));
  }
}

TEST(ConvolutionalNetwork, NoImagesGiveNoScores) {
  const std::vector<Tensor> none = Session(network(), {}).run({{"x", Tensor(DType::f32, {0, 3, 20, 20})}});
  EXPECT_EQ(none[1].shape(), (std::vector<int64_t>{0, 6}));
}

TEST(ConvolutionalNetwork, ShapesThatDoNotFitAreErrorsThatNameTheInput) {
  Session session(network(), {});
  const auto message = [&](const NamedTensors& inputs) { return test::error_of([&] { session.run(inputs); }); };
  EXPECT_NE(message({{"x", Tensor(DType::f32, {1, 4, 20, 20})}}).find("\"x\""), std::string::npos);
  EXPECT_NE(message({{"x", Tensor(DType::f32, {1, 3, 20})}}).find("\"x\""), std::string::npos);
  EXPECT_NE(message({{"x", Tensor(DType::f32, {1, 3, 0, 20})}}), "");
  Graph square = parse_seeded(R"(graph g {
    %x : f32[1,3,S,S] = input "x"
    %y = relu %x
    return %y as "y"
  })");
  Session symbols(square, {});
  try {
    symbols.run({{"x", Tensor(DType::f32, {1, 3, 4, 5})}});
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("S"), std::string::npos) << text;
    EXPECT_NE(text.find("4"), std::string::npos) << text;
    EXPECT_NE(text.find("5"), std::string::npos) << text;
  }
}

// NaN and infinities go where the sums say: the same elements are finite as in the reference. --no-winograd: Winograd's
// transforms spread them over the pieces they touch.
TEST(ConvolutionalNetwork, NumbersThatAreNotFinitePropagate) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[1,2,20,20] = input "x"
    %w : f32[4,2,3,3] = const "w"
    %d : f32[4,1,3,3] = const "d"
    %a = conv %x, %w {pads=[1, 1, 1, 1]}
    %b = conv %a, %d {groups=4, strides=[2, 1]}
    %c = avg_pool %b {kernel_shape=[2, 2]}
    return %c as "c"
  })");
  for (float special : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    NamedTensors inputs = {{"x", Tensor(DType::f32, {1, 2, 20, 20})}};
    inputs.at("x").mutable_as<float>()[7 * 20 + 9] = special;
    const Tensor want = evaluate(graph, inputs)[0];
    for (const X86Target& target : target_levels()) {
      const Tensor got = Session(graph, on(target, 1, true)).run(inputs)[0];
      for (size_t i = 0; i < want.as<float>().size(); ++i)
        ASSERT_EQ(std::isfinite(got.as<float>()[i]), std::isfinite(want.as<float>()[i])) << i;
    }
  }
}

}  // namespace
}  // namespace hone::test

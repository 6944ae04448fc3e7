// Gradients of convolutions, pools and batch norms as sessions run them.
#include "tests/conformance/conform_text.h"

#include <fmt/format.h>

namespace hone::test {
namespace {

struct Window {
  const char *d, *x, *w;  // shapes of [N,O,...], [N,C,...] and [O,C/groups,...]
  const char *kernel, *sizes, *attributes;
};
constexpr Window kDense[] = {
    {"3,20,7,7", "3,40,7,7", "20,40,3,3", "3,3", "7,7", "pads=[1,1,1,1]"},
    {"2,64,28,28", "2,65,28,28", "64,65,3,3", "3,3", "28,28", "pads=[1,1,1,1]"},
    {"2,20,4,5", "2,33,8,9", "20,33,3,3", "3,3", "8,9", "pads=[1,1,1,1], strides=[2,2]"},
    {"2,20,4,5", "2,33,8,9", "20,33,1,1", "1,1", "8,9", "strides=[2,2]"},
    {"2,18,4,3", "2,16,8,10", "18,16,3,2", "3,2", "8,10", "pads=[2,0,1,1], strides=[2,3], dilations=[2,3]"},
    {"2,12,6,6", "2,18,6,6", "12,6,3,3", "3,3", "6,6", "pads=[1,1,1,1], groups=3"},
    {"2,20,3,3", "2,16,8,10", "20,16,3,3", "3,3", "8,10", "strides=[2,3]"},  // the window ends before x does
    {"2,24,13", "2,16,13", "24,16,5", "5", "13", "pads=[2,2]"},
};
constexpr Window kDepthwise[] = {
    {"2,24,7,9", "2,24,7,9", "24,1,3,3", "3,3", "7,9", "pads=[1,1,1,1], groups=24"},
    {"2,24,4,5", "2,24,7,9", "24,1,3,3", "3,3", "7,9", "pads=[1,1,1,1], strides=[2,2], groups=24"},
};

constexpr Window kVolumes[] = {
    {"2,12,3,4,5", "2,10,5,8,9", "12,10,3,3,3", "3,3,3", "5,8,9", "pads=[1,1,1,1,1,1], strides=[2,2,2]"},
    {"2,8,4,6,6", "2,8,8,6,6", "8,4,2,1,1", "2,1,1", "8,6,6", "strides=[2,1,1], groups=2"},
    {"1,8,2,3,5", "1,6,7,3,6", "8,6,2,1,2", "2,1,2", "7,3,6", "strides=[3,1,1]"},  // one plane of three has no window
    {"2,8,6,3,4", "2,9,6,3,4", "8,9,3,3,1", "3,3,1", "6,3,4", "pads=[2,1,0,2,1,0], dilations=[2,1,1]"},
};

void expect_weight_gradient(const Window& at) {
  expect_text_conforms(fmt::format(R"(graph g {{
      %d : f32[{}] = input "d"
      %x : f32[{}] = input "x"
      %w = conv_weight_gradient %d, %x {{kernel_shape=[{}], {}}}
      return %w as "w"
    }})",
                                   at.d, at.x, at.kernel, at.attributes),
                       {}, {}, "conv_weight_gradient conv_weight_gradient");
}

void expect_input_gradient(const Window& at, const std::string& step) {
  expect_text_conforms(fmt::format(R"(graph g {{
      %d : f32[{}] = input "d"
      %w : f32[{}] = const "w"
      %g = conv_input_gradient %d, %w {{sizes=[{}], {}}}
      %x = relu %g
      return %x as "x"
    }})",
                                   at.d, at.w, at.sizes, at.attributes),
                       {}, {}, step);
}

TEST(ConvGradients, OfWeightsAreCompiled) {
  for (const Window& at : kDense) expect_weight_gradient(at);
  for (const Window& at : kDepthwise) expect_weight_gradient(at);
}

TEST(ConvGradients, OfInputsAreConvolutions) {
  for (const Window& at : kDense) expect_input_gradient(at, "conv conv_input_gradient");
  for (const Window& at : kDepthwise) expect_input_gradient(at, "window conv");
}

TEST(ConvGradients, OverVolumesGoOverPlanes) {
  for (const Window& at : kVolumes) {
    expect_weight_gradient(at);
    expect_input_gradient(at, "conv conv_input_gradient");
  }
}

// Sizes that are symbols, which end before the last window or with it.
TEST(ConvGradients, BetweenStridesAreCompiledForAnySizes) {
  const Graph graph = parse_graph(R"(graph g {
      %x : f32[B,17,H,W] = input "x"
      %w : f32[20,17,3,3] = input "w"
      %h = conv %x, %w {pads=[1,1,1,1], strides=[2,2]}
      %y = conv_input_gradient %h, %w {sizes=[H,W], pads=[1,1,1,1], strides=[2,2]}
      return %y as "y"
    })",
                                  op_context());
  Philox rng(4);
  const Tensor w = random_floats(rng, {20, 17, 3, 3}, DType::f32, -0.5f, 0.5f);
  Session session(graph, {.compute = Compute::f32});
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 17, 8, 9}, {1, 17, 7, 12}, {3, 17, 6, 6}}) {
    const NamedTensors inputs{{"x", random_floats(rng, shape)}, {"w", w}};
    RunProfile profile;
    const Ran ran{session.run(inputs, &profile), profile, session.output_names()};
    expect_outputs(ran, bounded_outputs(graph, inputs), fmt::format("{} x {}", shape[2], shape[3]));
    for (const StepProfile& step : profile.steps)
      EXPECT_NE(step.kind, "interpreted") << step.ops << ": " << step.why_interpreted;
  }
}

TEST(ConvGradients, OfPoolsAreCompiled) {
  for (const char* attributes : {"strides=[2,2], pads=[1,1,1,1]", "pads=[0,1,2,0], dilations=[2,1]", "strides=[3,3]"})
    for (const char* dtype : {"f32", "bf16"}) {
      const bool strided = attributes[9] == '2', apart = attributes[9] == '3';
      const char* places = strided ? "2,40,5,6" : apart ? "2,40,3,3" : "2,40,7,10";
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : {}[2,40,9,11] = input "x"
      %d : f32[{}] = input "d"
      %y = max_pool_gradient %x, %d {{kernel_shape=[3,3], {}}}
      %z = avg_pool_gradient %d {{kernel_shape=[3,3], sizes=[9,11], {}}}
      return %y as "y", %z as "z"
    }})",
                                       dtype, places, attributes, attributes),
                           {}, {}, "max_pool_gradient max_pool_gradient");
    }
}

TEST(ConvGradients, OfTheFirstOfEqualElements) {
  const Graph graph = parse_graph(R"(graph g {
      %x : f32[1,3,6,6] = input "x"
      %d : f32[1,3,5,5] = input "d"
      %y = max_pool_gradient %x, %d {kernel_shape=[2,2]}
      return %y as "y"
    })",
                                  op_context());
  std::vector<float> x(108, 1.0f), d(75, 1.0f);
  for (size_t i = 0; i < 36; ++i) x[i] = static_cast<float>(i / 7 % 2);
  x[40] = x[41] = NAN;
  std::ranges::fill(std::span(x).subspan(72), -INFINITY);
  expect_conforms(graph, {{"x", Tensor::of<float>({1, 3, 6, 6}, x)}, {"d", Tensor::of<float>({1, 3, 5, 5}, d)}});
}

// A mean that is large beside the deviation, of as many channels as fill vectors or not.
TEST(ConvGradients, BatchNormInTrainingIsCompiled) {
  for (int channels : {5, 64})
    for (const char* shape : {"3,{},6,5", "40,{}"}) {
      const std::string of = fmt::format(fmt::runtime(shape), channels);
      const Graph graph = parse_graph(fmt::format(R"(graph g {{
      %x : f32[{0}] = input "x"
      %d : f32[{0}] = input "d"
      %s : f32[{1}] = input "s"
      %b : f32[{1}] = input "b"
      %m : f32[{1}] = input "m"
      %v : f32[{1}] = input "v"
      %y, %mean, %inverse, %m2, %v2 = batch_norm_train %x, %s, %b, %m, %v
      %dx, %ds, %db = batch_norm_gradient %d, %x, %s, %m, %v
      return %y as "y", %mean as "mean", %inverse as "inverse", %m2 as "m2", %v2 as "v2",
             %dx as "dx", %ds as "ds", %db as "db"
    }})",
                                                  of, channels),
                                      op_context());
      Philox rng(3);
      NamedTensors inputs;
      for (ValueId v : graph.inputs()) {
        const std::string label = graph.value(v).label;
        const float shift = label == "x" ? 100 : 0;
        inputs[label] = random_floats(rng, constant_shape(graph.type(v).shape), DType::f32, shift - 1, shift + 1);
      }
      expect_conforms(graph, inputs);
      for (const StepProfile& step : run_session(graph, inputs, {}).profile.steps)
        EXPECT_NE(step.kind, "interpreted") << step.ops << ": " << step.why_interpreted;
    }
}

}  // namespace
}  // namespace hone::test

// Activations that are rounded to a format run in generated code, with the reference's bits on any number of threads.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/text.h"
#include "formats/element_rounding.h"
#include "formats/registry.h"
#include "ops/evaluate.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/op_case.h"

namespace hone::test {
namespace {

Graph rounding_graph(const std::string& format, const std::string& dtype) {
  return parse(fmt::format(R"(
    %x : {}[B,S,200] = input "x"
    %r = fake_quant %x {{format={}}}
    %y = neg %r
    return %y as "y")",
                           dtype, format));
}

// The steps that are interpreted, with reasons; checks the outputs on the way.
std::vector<std::string> interpreted_steps(const Graph& graph, const NamedTensors& inputs) {
  const std::vector<Tensor> want = evaluate(graph, inputs);
  std::vector<std::string> interpreted;
  for (const int threads : {1, 2}) {
    SessionOptions options;
    options.threads = threads;
    RunProfile profile;
    Session session(graph, options);
    const std::vector<Tensor> got = session.run(inputs, &profile);
    EXPECT_TRUE(got[0].same_bits(want[0])) << threads << " threads";
    for (const StepProfile& step : profile.steps)
      if (!step.why_interpreted.empty()) interpreted.push_back(step.why_interpreted);
  }
  return interpreted;
}

TEST(QuantizedActivations, RunCompiledInEveryFormat) {
  Philox random(1);
  for (const char* dtype : {"f32", "bf16"}) {
    const NamedTensors inputs{{"x", random_floats(random, {3, 50, 200}, *parse_dtype(dtype), -4, 4)}};
    for (const FormatDef* family : formats::all())
      for (const std::string& text : split(family->examples, ' ')) {
        SCOPED_TRACE(fmt::format("{} {}", text, dtype));
        const Geometry& g = parse_format(text).geometry;
        const bool last_axis = g.axis == -1 || g.axis == 2;
        const bool other_order = (g.kind == Geometry::Kind::channel && last_axis) ||
                                 (g.kind == Geometry::Kind::group && !last_axis) || g.kind == Geometry::Kind::tile;
        EXPECT_EQ(interpreted_steps(rounding_graph(text, dtype), inputs).empty(),
                  !other_order && !is_two_level(parse_format(text)));
      }
  }
}

TEST(QuantizedActivations, AFormatWithoutScalesFusesWithItsNeighbours) {
  Philox random(1);
  RunProfile profile;
  Session session(rounding_graph("int8.f4", "f32"), {});
  session.run({{"x", random_floats(random, {3, 50, 200}, DType::f32, -4, 4)}}, &profile);
  ASSERT_EQ(profile.steps.size(), 1u);
  EXPECT_EQ(profile.steps[0].ops, "round_to+neg");
}

TEST(QuantizedActivations, GeometriesWithoutAKernelSayWhy) {
  Philox random(1);
  const NamedTensors inputs{{"x", random_floats(random, {3, 50, 200}, DType::f32, -4, 4)}};
  const std::vector<std::string> why = interpreted_steps(rounding_graph("mxint8.ax1", "f32"), inputs);
  ASSERT_FALSE(why.empty());
  EXPECT_EQ(why[0], "mxint8.ax1: groups along another axis than the last");
}

}  // namespace
}  // namespace hone::test

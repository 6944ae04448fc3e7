// Graphs whose shapes depend on data: what has fixed shapes is compiled, the rest is evaluated, and the results are
// those of the reference.
#include "ops/evaluate.h"
#include "runtime/session.h"
#include "runtime/split_graph.h"
#include "tests/passes/parse_ops.h"
#include "tests/runtime/encoder.h"

namespace hone::test {
namespace {

// The rows of relu(x) that are not zero, after a product that has a fixed shape.
constexpr const char* kPositive = R"(graph g {
  %x : f32[B,3] = input "x"
  %w : f32[4,3] = const {1, 0, 0,  0, 1, 0,  0, 0, 1,  1, 1, 1}
  %y = linear %x, %w
  %r = relu %y
  %at = non_zero %r
  %n = shape_of %at
  return %r as "r", %at as "at", %n as "n"
})";

NamedTensors rows(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size()) / 3;
  return {{"x", Tensor::of<float>({count, 3}, values)}};
}

TEST(DataDependent, PartsTheGraphWhereSizesBecomeUnknown) {
  const SplitGraph parts = split_graph(parse(kPositive), {{"B", 2}});
  ASSERT_TRUE(parts.open);
  EXPECT_EQ(parts.fixed.nodes("non_zero").size(), 0u);
  EXPECT_EQ(parts.fixed.nodes("linear").size(), 1u);
  EXPECT_EQ(parts.open->nodes("linear").size(), 0u);
  EXPECT_EQ(parts.open->nodes().size(), 2u);
  verify(parts.fixed);
  verify(*parts.open);
  EXPECT_FALSE(split_graph(parse("%x : f32[B] = input  %y = neg %x  return %y"), {{"B", 2}}).open);
}

TEST(DataDependent, GivesWhatTheReferenceGivesAndSaysWhatIsInterpreted) {
  for (int level : {0, 1, 2}) {
    SessionOptions options;
    options.optimise = level;
    Session session(parse(kPositive), options);
    for (const auto& inputs : {rows({1, -1, 2, 0, 0, 0}), rows({-1, -1, -1}), rows({1, 2, 3, 4, 5, 6, 7, 8, 9})}) {
      RunProfile profile;
      const std::vector<Tensor> got = session.run(inputs, &profile), want = evaluate(parse(kPositive), inputs);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(got[i].same_bits(want[i])) << "-O" << level << ", output " << i;
      if (level < 2) continue;
      int interpreted = 0;
      for (const StepProfile& step : profile.steps) {
        interpreted += step.kind == "interpreted";
        EXPECT_EQ(step.kind == "interpreted", step.why_interpreted == "shapes depend on data");
      }
      EXPECT_EQ(interpreted, 2) << "non_zero and shape_of";
      EXPECT_GT(profile.steps.size(), 2u) << "linear and relu are compiled";
    }
  }
}

TEST(DataDependent, ShapesThatFollowFromOtherShapesAreFixedOnceTheInputsAre) {
  const Graph graph = parse(R"(graph g {
    %x : f32[B,4] = input "x"
    %s = shape_of %x
    %wanted : i64[1] = const {-1}
    %y = reshape %x, %wanted
    return %s as "s", %y as "y"
  })");
  EXPECT_FALSE(split_graph(graph, {{"B", 3}}).open);
  const std::vector<Tensor> got = Session(graph, {}).run({{"x", Tensor(DType::f32, {3, 4})}});
  EXPECT_EQ(got[0].to_integers(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(got[1].shape(), (std::vector<int64_t>{12}));
}

TEST(DataDependent, ASizeThatOnlyAnAttributeNamesIsStillFound) {
  const Graph graph = parse(R"(graph g {
    %x : f32[3] = input "x"
    %a : i64[1,_1] = non_zero %x
    %b : i64[1,_2] = non_zero %x
    %y = iota {shape=[_1]}
    %z = iota {shape=[_2]}
    return %y as "y", %z as "z"
  })");
  for (int level : {0, 1, 2}) {
    SessionOptions options;
    options.optimise = level;
    const std::vector<Tensor> got = Session(graph, options).run({{"x", Tensor::of<float>({3}, {1, 0, 2})}});
    EXPECT_EQ(got[0].to_integers(), (std::vector<int64_t>{0, 1})) << level;
    EXPECT_EQ(got[1].to_integers(), (std::vector<int64_t>{0, 1})) << level;
  }
}

// As a padding to a multiple of the window writes it: the size is a symbol until the input's shape is known, and what
// comes later calls it by that name.
TEST(DataDependent, ASizeThatFollowsFromTheInputsIsKnownToAttributesToo) {
  const Graph graph = parse(R"(graph g {
    %x : f32[B,3] = input "x"
    %s = shape_of %x
    %two : f32[1,1] = const {2}
    %wide : f32[_1,_2] = expand %two, %s
    %first : f32[(_1+1)/2,_2] = slice %wide {axes=[0], starts=[0], ends=[_1], steps=[2]}
    return %first as "first"
  })");
  EXPECT_FALSE(split_graph(graph, {{"B", 5}}).open);
  for (int level : {0, 1, 2}) {
    SessionOptions options;
    options.optimise = level;
    const std::vector<Tensor> got = Session(graph, options).run({{"x", Tensor(DType::f32, {5, 3})}});
    EXPECT_EQ(got[0].shape(), (std::vector<int64_t>{3, 3})) << level;
  }
}

TEST(DataDependent, InputsOfUnknownRankAndContainersRun) {
  Session session(parse("%x : f32[*] = input  %y = neg %x  return %y"), {});
  EXPECT_EQ(session.run({{"x", Tensor::of<float>({1, 2}, {1, 2})}})[0].to_floats(), (std::vector<float>{-1, -2}));
  EXPECT_EQ(session.run({{"x", Tensor::scalar<float>(3)}})[0].shape().size(), 0u);
}

}  // namespace
}  // namespace hone::test

// Graphs whose shapes depend on data: what has fixed shapes is compiled, the rest is evaluated, and the results are
// those of the reference.
#include "ops/evaluate.h"
#include "runtime/cut_graph.h"
#include "runtime/session.h"
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
  const Graph graph = parse(kPositive);
  const CutGraph parts = cut_graph(graph, specialised_graph(graph, {{"B", 2}}).undecided);
  ASSERT_TRUE(parts.tail);
  for (const Graph* part : {&parts.head, &parts.tail->turn, &parts.tail->rest}) verify(*part);
  EXPECT_EQ(parts.head.nodes().size(), 2u);
  EXPECT_EQ(parts.tail->turn.nodes("non_zero").size(), 1u);
  EXPECT_EQ(parts.tail->turn.nodes().size(), 1u);
  EXPECT_EQ(parts.tail->rest.nodes("shape_of").size(), 1u);
  EXPECT_EQ(parts.tail->rest.nodes().size(), 1u);
  EXPECT_TRUE(specialised_graph(parse("%x : f32[B] = input  %y = neg %x  return %y"), {{"B", 2}}).undecided.empty());
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
      std::vector<std::string> interpreted;
      for (const StepProfile& step : profile.steps)
        if (step.kind == "interpreted") interpreted.push_back(step.ops);
      EXPECT_EQ(interpreted, std::vector<std::string>{"non_zero"}) << "shape_of follows from what that found";
      EXPECT_GT(profile.steps.size(), 1u) << "linear and relu are compiled";
      EXPECT_EQ(profile.marks_ns.size(), profile.steps.size() + 1);
    }
  }
}

// A detector's end: what was found is gathered, and looked at again.
constexpr const char* kFound = R"(graph g {
  %x : f32[B,16] = input "x"
  %w : f32[8,16] = const "w"
  %y = linear %x, %w
  %most = reduce_max %y {axes=[1], keepdims=0}
  %zero : f32[] = const {0}
  %is = greater %most, %zero
  %at = non_zero %is
  %rows = reshape %at {shape=[-1]}
  %found = gather %y, %rows {axis=0}
  %u : f32[32,8] = const "u"
  %wide = linear %found, %u
  %r = gelu %wide
  %flat = reduce_max %r {axes=[1], keepdims=0}
  %some : f32[] = const {0.2}
  %again = greater %flat, %some
  %at2 = non_zero %again
  %rows2 = reshape %at2 {shape=[-1]}
  %last = gather %r, %rows2 {axis=0}
  %probability = softmax %last {axis=-1}
  return %y as "y", %found as "found", %probability as "p", %x as "same"
})";

TEST(DataDependent, WhatFollowsRunsCompiledWithTheSizesThatWereFound) {
  const Graph graph = parse_seeded(kFound);
  Session session(graph, {});
  int compiled = 0;
  std::set<std::vector<int64_t>> shapes;
  for (int round = 0; round < 12; ++round) {
    const int64_t rows = 1 + round % 4 * 3;
    Philox rng(static_cast<uint64_t>(round));
    const NamedTensors inputs{{"x", random_floats(rng, {rows, 16}, DType::f32, -2, 2)}};
    RunProfile profile;
    const std::vector<Tensor> got = session.run(inputs, &profile), want = evaluate(graph, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].shape(), want[i].shape()) << i;
      const std::vector<float> a = got[i].to_floats(), b = want[i].to_floats();
      for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5F * std::max(1.0F, std::abs(b[k])));
    }
    shapes.insert(got[2].shape());
    for (const StepProfile& step : profile.steps) {
      const bool excused = step.ops == "non_zero" || step.why_interpreted.ends_with("has no elements");
      EXPECT_EQ(step.kind == "interpreted", excused) << step.ops << ": " << step.why_interpreted;
    }
    if (round == 3) compiled = session.statistics().kernels_compiled;
    if (round > 3) {
      EXPECT_LE(session.statistics().kernels_compiled, compiled + 2) << "sizes are arguments";
    }
  }
  EXPECT_GT(shapes.size(), 3u) << "runs that find different numbers of rows";
}

TEST(DataDependent, AScatterWithoutUpdatesIsACompiledCopy) {
  const Graph graph = parse(R"(graph g {
    %x : f32[4,3] = input "x"
    %n : i64[N,3] = input "n"
    %u : f32[N,3] = input "u"
    %t : i64[N,1] = input "t"
    %y = scatter_elements %x, %n, %u
    %z = scatter_nd %x, %t, %u {reduction="add"}
    return %y as "y", %z as "z"
  })");
  Philox rng(1);
  const Tensor x = random_floats(rng, {4, 3}, DType::f32, -2, 2);
  Session session(graph, {});
  for (int64_t n : {0, 2}) {
    const NamedTensors inputs{{"x", x},
                              {"n", Tensor(DType::i64, {n, 3})},
                              {"u", random_floats(rng, {n, 3}, DType::f32, -2, 2)},
                              {"t", Tensor(DType::i64, {n, 1})}};
    RunProfile profile;
    const std::vector<Tensor> got = session.run(inputs, &profile), want = evaluate(graph, inputs);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].to_floats(), want[i].to_floats()) << n;
    for (const StepProfile& step : profile.steps) EXPECT_NE(step.kind, "interpreted") << step.why_interpreted;
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
  EXPECT_TRUE(specialised_graph(graph, {{"B", 3}}).undecided.empty());
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
  EXPECT_TRUE(specialised_graph(graph, {{"B", 5}}).undecided.empty());
  for (int level : {0, 1, 2}) {
    SessionOptions options;
    options.optimise = level;
    const std::vector<Tensor> got = Session(graph, options).run({{"x", Tensor(DType::f32, {5, 3})}});
    EXPECT_EQ(got[0].shape(), (std::vector<int64_t>{3, 3})) << level;
  }
}

// What is multiplied has one size by two names, or one of them is 1; rows are read before and after it.
TEST(DataDependent, RowsStayRowsWhereTheirSizeHasAnotherName) {
  constexpr const char* kJoined = R"(
    %x : f32[S] = input "x"
    %n : i64[1] = input "n"
    %at = non_zero %x
    %f = cast %at {dtype=f32}
    %c = concat %f, %f {axis=-1}
    %s = shape_of %f
    %k = slice %s {axes=[0], starts=[1], ends=[2]}
    %two : i64[1] = const {2}
    %k2 = mul %k, %two
    %own = full %k2 {dtype=f32, value=3}
    %given = full %n {dtype=f32, value=3})";
  for (const char* rest :
       {"%l = layer_norm %c {epsilon=1e-05}  %y = mul %l, %own  return %y",
        "%l = softmax %c {axis=-1}  %m = mul %c, %own  %y = add %l, %m  return %y",
        "%m = mul %c, %own  %l = softmax %c {axis=-1}  %y = add %l, %m  return %y",
        "%l = softmax %c {axis=-1}  %m = mul %c, %given  %y = add %l, %m  return %y",
        "%l = layer_norm %c {epsilon=1e-05}  %y = mul %l, %given  return %y",
        "%r = reduce_mean %c {axes=[-1], keepdims=1}  %d = sub %c, %r  %y = mul %d, %given  return %y"})
    for (const int64_t n : {8, 1}) {
      const Graph graph = parse(std::string(kJoined) + "  " + rest);
      const NamedTensors inputs{{"x", Tensor::of<float>({6}, {1, 0, 2, 3, 0, 4})},
                                {"n", Tensor::of<int64_t>({1}, {n})}};
      const std::vector<float> want = evaluate(graph, inputs)[0].to_floats(),
                               got = Session(graph, {}).run(inputs)[0].to_floats();
      ASSERT_EQ(got.size(), 8u);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << rest << ", n " << n << ", " << i;
    }
}

// Sizes of two inputs are one only in some runs.
TEST(DataDependent, RowsOfAnInputMeetAnotherOfTheSameSize) {
  const Graph graph = parse(
      "%x : f32[B,S] = input \"x\"  %m : f32[B,T] = input \"m\"  %l = softmax %x {axis=-1}  %y = mul %l, %m  return "
      "%y");
  Session session(graph, {});
  for (const int64_t t : {5, 1}) {
    const std::vector<float> some{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const NamedTensors inputs{{"x", Tensor::of<float>({2, 5}, some)},
                              {"m", Tensor::of<float>({2, t}, {some.begin(), some.begin() + 2 * t})}};
    const std::vector<float> want = evaluate(graph, inputs)[0].to_floats(), got = session.run(inputs)[0].to_floats();
    ASSERT_EQ(got.size(), 10u);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << t << ", " << i;
  }
}

TEST(DataDependent, InputsThatNothingReadsAreOfAnyKind) {
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  Session session(parse("%a : f32[*] = input  %b : string[B] = input  %x : f32[S] = input  %y = neg %x  return %y"),
                  {});
  const Tensor words = Tensor::strings({1}, {"a"});
  EXPECT_EQ(session.run({{"a", x}, {"b", words}, {"x", x}})[0].to_floats(), (std::vector<float>{-1, -2}));
}

TEST(DataDependent, InputsOfUnknownRankAndContainersRun) {
  Session session(parse("%x : f32[*] = input  %y = neg %x  return %y"), {});
  EXPECT_EQ(session.run({{"x", Tensor::of<float>({1, 2}, {1, 2})}})[0].to_floats(), (std::vector<float>{-1, -2}));
  EXPECT_EQ(session.run({{"x", Tensor::scalar<float>(3)}})[0].shape().size(), 0u);
}

}  // namespace
}  // namespace hone::test

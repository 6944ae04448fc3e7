// Weights that are no constants: parameters and packed values are laid out for kernels, parameters once for each of
// their versions; operands of products are read as transposes have them.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/philox.h"
#include "ops/evaluate.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

Tensor numbers(std::vector<int64_t> shape, uint64_t seed) {
  Philox rng(seed);
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = static_cast<float>(static_cast<int>(rng.below(9)) - 4);
  return Tensor::of<float>(std::move(shape), values);
}

// The graph with its first constant of that name as a parameter.
Graph with_parameter(Graph graph, std::string_view label) {
  graph.make_parameter(graph.find_constant(label));
  return graph;
}

Graph layer(const Tensor& w) {
  Graph graph = parse(R"(graph layer {
    %x : f32[B,64] = input "x"
    return
  })");
  const ValueId weight = graph.add_constant("w", w);
  graph.add_output(graph.emit(ops::get("linear"), {graph.find_value("x"), weight}), "y");
  return graph;
}

Tensor run(Session& session, const Tensor& x) {
  Context context;
  return session.run(context, {{"x", x}})[0];
}

int laid_out_steps(Session& session, const NamedTensors& inputs, std::string_view kind) {
  Context context;
  RunProfile profile;
  session.run(context, inputs, &profile);
  return static_cast<int>(
      std::ranges::count_if(profile.steps, [&](const StepProfile& step) { return step.kind == kind; }));
}

TEST(LaidOut, AParameterGivesTheBitsOfTheConstantAndFollowsItsVersions) {
  const Tensor w = numbers({100, 64}, 1), other = numbers({100, 64}, 2);
  for (const char* format : {"fp32", "mxint8", "int4.g32"}) {
    SCOPED_TRACE(format);
    const Tensor weights = pack(parse_format(format), w), changed = pack(parse_format(format), other);
    Session constant(layer(weights), {}), of_other(layer(changed), {});
    Session session(with_parameter(layer(weights), "w"), {});
    for (int64_t rows : {1, 3, 40}) {
      const Tensor x = numbers({rows, 64}, 3);
      session.set_parameters({{"w", weights}});
      EXPECT_TRUE(run(session, x).same_bits(run(constant, x))) << rows;
      session.set_parameters({{"w", changed}});
      EXPECT_TRUE(run(session, x).same_bits(run(of_other, x))) << rows;
    }
    EXPECT_EQ(laid_out_steps(session, {{"x", numbers({3, 64}, 3)}}, "interpreted"), 0);
  }
}

// The caller's own tensor may be written to afterwards: values are values.
TEST(LaidOut, WhatACallerWritesToLaterIsNoneOfTheRuns) {
  Tensor w = numbers({20, 64}, 1);
  const Tensor x = numbers({5, 64}, 2);
  Session session(with_parameter(layer(w), "w"), {});
  session.set_parameters({{"w", w}});
  const Tensor before = run(session, x);
  w.mutable_as<float>()[0] = 1000;
  EXPECT_TRUE(run(session, x).same_bits(before));
  session.set_parameters({{"w", w}});
  EXPECT_FALSE(run(session, x).same_bits(before));
}

TEST(LaidOut, RunsBesideWritesSeeOneVersion) {
  const Tensor x = numbers({4, 64}, 2);
  std::vector<Tensor> versions, expected;
  for (uint64_t seed : {1, 2, 3}) {
    versions.push_back(numbers({33, 64}, seed));
    Session constant(layer(versions.back()), {});
    expected.push_back(run(constant, x));
  }
  Session session(with_parameter(layer(versions[0]), "w"), {});
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!done) {
        const Tensor y = run(session, x);
        wrong += std::ranges::none_of(expected, [&](const Tensor& e) { return e.same_bits(y); });
      }
    });
  for (int i = 0; i < 200; ++i) session.set_parameters({{"w", versions[static_cast<size_t>(i) % 3]}});
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A step of descent on the weights of a convolution and of a product, which both read laid out or as they lie.
TEST(LaidOut, WeightsThatTheRunUpdatesAreReadAsTheyWere) {
  Graph graph = parse(R"(graph step {
    %x : f32[N,6,9,9] = input "x"
    return
  })");
  const ValueId x = graph.find_value("x"), w = graph.add_parameter("w", numbers({5, 6, 3, 3}, 1)),
                v = graph.add_parameter("v", numbers({7, 5}, 2));
  const ValueId y = graph.emit(ops::get("conv"), {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  const ValueId pooled =
      graph.emit(ops::get("reduce_mean"), {y}, {{"axes", std::vector<int64_t>{2, 3}}, {"keepdims", int64_t{0}}});
  graph.add_output(graph.emit(ops::get("linear"), {pooled, v}), "z");
  graph.add_update(w, graph.emit(ops::get("mul"), {w, graph.add_scalar(0.5f)}));
  graph.add_update(v, graph.emit(ops::get("mul"), {v, graph.add_scalar(0.25f)}));
  SessionOptions interpreted;
  interpreted.optimise = 0;
  Session session(graph, {}), reference(graph, interpreted);
  const NamedTensors inputs{{"x", numbers({2, 6, 9, 9}, 3)}};
  Context context, other;
  for (int step = 0; step < 3; ++step) {
    const std::vector<float> got = session.run(context, inputs)[0].to_floats(),
                             want = reference.run(other, inputs)[0].to_floats();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3) << step;
    EXPECT_EQ(session.parameter("w").to_floats(), reference.parameter("w").to_floats());
  }
  EXPECT_EQ(laid_out_steps(session, inputs, "interpreted"), 0);
}

// Codes that a run makes are multiplied as they lie.
TEST(LaidOut, PackedWeightsOfARunAreReadAsTheyLie) {
  const Tensor w = numbers({50, 64}, 4), x = numbers({6, 64}, 5);
  Session session(parse(R"(graph q {
    %x : f32[B,64] = input "x"
    %w : f32[50,64] = input "w"
    %q = quantize %w {format=mxint4}
    %y = linear %x, %q
    return %y as "y"
  })"),
                  {});
  Session constant(layer(pack(parse_format("mxint4"), w)), {});
  Context context;
  for (int i = 0; i < 2; ++i) {
    RunProfile profile;
    const Tensor y = session.run(context, {{"x", x}, {"w", w}}, &profile)[0];
    EXPECT_TRUE(y.same_bits(run(constant, x)));
    for (const StepProfile& step : profile.steps) EXPECT_NE(step.ops, "dequantize");
  }
}

// The gradient by the left factor of a product with packed weights: their transpose is decoded, not refused.
TEST(LaidOut, PackedWeightsAreMultipliedTransposed) {
  const Tensor w = pack(parse_format("mxint8"), numbers({50, 64}, 4)), d = numbers({6, 50}, 5);
  Graph graph = parse(R"(graph q {
    %x : f32[B,50] = input "x"
    return
  })");
  graph.add_output(graph.emit(ops::get("matmul"), {graph.find_value("x"), graph.add_constant("w", w)}), "y");
  Session session(graph, {});
  EXPECT_EQ(run(session, d).to_floats(), evaluate(graph, {{"x", d}})[0].to_floats());
  EXPECT_EQ(laid_out_steps(session, {{"x", d}}, "interpreted"), 0);
}

// Heads lie side by side in rows, transposes say which axis is which, and both operands are read where they are.
TEST(LaidOut, ProductsReadTransposedOperandsWhereTheyLie) {
  const Graph graph = parse(R"(graph heads {
    %x : f32[B,S,48] = input "x"
    %y : f32[B,S,48] = input "y"
    %a = reshape %x {shape=[B,S,3,16]}
    %b = reshape %y {shape=[B,S,3,16]}
    %q = transpose %a {perm=[0,2,1,3]}
    %k = transpose %b {perm=[0,2,3,1]}
    %s = matmul %q, %k
    %t = transpose %b {perm=[0,2,1,3]}
    %o = matmul %s, %t
    %u = matmul %s, %t {transpose_a=1}
    %rows = reshape %x {shape=[B*S,48]}
    %more = reshape %y {shape=[B*S,48]}
    %w = matmul %rows, %more {transpose_a=1}
    return %o as "o", %u as "u", %w as "w"
  })");
  Session session(graph, {});
  for (const auto& [batch, length] : {std::pair{1, 1}, {2, 5}, {3, 70}, {1, 600}}) {
    const NamedTensors inputs{{"x", numbers({batch, length, 48}, 6)}, {"y", numbers({batch, length, 48}, 7)}};
    Context context;
    const std::vector<Tensor> got = session.run(context, inputs), want = evaluate(graph, inputs);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(got[i].to_floats(), want[i].to_floats()) << batch << " " << length;
    EXPECT_EQ(laid_out_steps(session, inputs, "transpose") + laid_out_steps(session, inputs, "pointwise"), 0);
    EXPECT_EQ(laid_out_steps(session, inputs, "gemm"), 4);
  }
}

}  // namespace
}  // namespace hone::test

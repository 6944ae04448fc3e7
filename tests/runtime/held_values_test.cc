// Parameters, which a session owns, and state, which contexts keep: what runs read, what they leave, who shares what,
// and what is refused.
#include <atomic>
#include <cmath>
#include <thread>

#include "ir/held_values.h"
#include "ops/evaluate.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/runtime/encoder.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

// One step of gradient descent with momentum on 1/2 |w - x|^2.
constexpr const char* kDescent = R"(graph descent {
  %x : f32[3] = input "x"
  %w : f32[3] = param "w" {0, 0, 0}
  %m : f32[3] = state "m" {0, 0, 0}
  %g = sub %w, %x
  %kept = mul %m, 0.5
  %m2 = add %kept, %g
  %w2 = sub %w, %m2
  %square = mul %g, %g
  %loss = reduce_sum %square {axes=[0], keepdims=0}
  update %w = %w2
  update %m = %m2
  return %loss as "loss"
})";

SessionOptions at(int level) {
  SessionOptions options;
  options.optimise = level;
  return options;
}

NamedTensors x_of(std::vector<float> values) {
  const auto size = static_cast<int64_t>(values.size());
  return {{"x", Tensor::of<float>({size}, values)}};
}

std::vector<float> floats(const Tensor& tensor) { return tensor.to_floats(); }

TEST(HeldValues, ARunLeavesItsUpdates) {
  for (int level : {0, 1, 2}) {
    SCOPED_TRACE(level);
    Session session(parse(kDescent), at(level));
    Context context;
    EXPECT_EQ(session.output_names(), std::vector<std::string>{"loss"});
    std::vector<Tensor> outputs = session.run(context, x_of({1, 2, 4}));
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(floats(outputs[0]), std::vector<float>{21});
    EXPECT_EQ(floats(session.parameter("w")), (std::vector<float>{1, 2, 4}));
    EXPECT_EQ(floats(context.state("m")), (std::vector<float>{-1, -2, -4}));
    EXPECT_EQ(floats(session.run(context, x_of({1, 2, 4}))[0]), std::vector<float>{0});
    EXPECT_EQ(floats(context.state("m")), (std::vector<float>{-0.5, -1, -2}));
    EXPECT_EQ(floats(session.parameter("w")), (std::vector<float>{1.5, 3, 6}));
    EXPECT_EQ(session.parameter_version("w"), 2);
  }
}

constexpr const char* kDistance = R"(graph distance {
  %x : f32[3] = input "x"
  %w : f32[3] = param "w" {7, 7, 7}
  %d = sub %w, %x
  return %d as "d"
})";

TEST(HeldValues, ASessionReadsParametersThatAnotherUpdatesEvenWhenThatOneIsGone) {
  auto descent = std::make_unique<Session>(parse(kDescent), at(2));
  SessionOptions shared;
  shared.parameters_of = descent.get();
  Session distance(parse(kDistance), shared);
  EXPECT_EQ(floats(distance.run(x_of({1, 1, 1}))[0]), (std::vector<float>{-1, -1, -1}));
  Context context;
  descent->run(context, x_of({1, 2, 4}));
  EXPECT_EQ(floats(distance.run(x_of({1, 1, 1}))[0]), (std::vector<float>{0, 1, 3}));
  distance.set_parameters({{"w", Tensor::of<float>({3}, {1, 2, 4})}});
  EXPECT_EQ(floats(descent->run(context, x_of({1, 2, 4}))[0]), std::vector<float>{0});
  descent.reset();
  EXPECT_EQ(floats(distance.run(x_of({1, 1, 1}))[0]), (std::vector<float>{0.5, 2, 5}));
}

TEST(HeldValues, SharedParametersMustBeTheSame) {
  Session descent(parse(kDescent), at(2));
  SessionOptions shared;
  shared.parameters_of = &descent;
  const auto refused = [&](const char* text) { return error_of([&] { Session session(parse(text), shared); }); };
  EXPECT_EQ(refused(R"(graph other { %v : f32[3] = param "v" {0, 0, 0} return %v as "v" })"),
            "parameter \"v\" (f32[3]) is none of the session's whose parameters are shared");
  EXPECT_EQ(refused(R"(graph other { %w : f32[2] = param "w" {0, 0} return %w as "w" })"),
            "parameter \"w\" (f32[2]) is none of the session's whose parameters are shared, where it is f32[3]");
  EXPECT_EQ(refused(R"(graph other { %x : f32[2] = input "x" return %x as "w" })"),
            "parameters are shared with a session that has \"w\", which this model lacks");
}

TEST(HeldValues, ACheckedRunThatFailsLeavesEverythingAsItWas) {
  Session session(parse(kDescent), at(2));
  Context context;
  session.run(context, x_of({1, 2, 4}));
  EXPECT_THROW(session.run_checked(context, x_of({NAN, 2, 4})), Error);
  EXPECT_EQ(floats(session.parameter("w")), (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(floats(context.state("m")), (std::vector<float>{-1, -2, -4}));
  session.run_checked(context, x_of({1, 2, 4}));
  EXPECT_EQ(floats(session.parameter("w")), (std::vector<float>{1.5, 3, 6}));
}

TEST(HeldValues, EachContextHasItsOwnState) {
  Session session(parse(R"(graph count {
    %x : f32[N] = input "x"
    %n : f32[] = state "n" {0}
    %n2 = add %n, 1.0
    %y = mul %x, %n2
    update %n = %n2
    return %y as "y"
  })"),
                  {});
  Context a, b;
  for (float i : {1.0f, 2.0f, 3.0f})
    EXPECT_EQ(floats(session.run(a, x_of({1, 10}))[0]), (std::vector<float>{i, 10 * i}));
  EXPECT_EQ(floats(session.run(b, x_of({1}))[0]), std::vector<float>{1});
  a.set_state("n", Tensor::scalar(41.0f));
  EXPECT_EQ(floats(session.run(a, x_of({1}))[0]), std::vector<float>{42});
  a.clear_state();
  EXPECT_EQ(floats(session.run(a, x_of({1}))[0]), std::vector<float>{1});
}

TEST(HeldValues, StateMayGrow) {
  Session session(parse(R"(graph grow {
    %x : f32[1,2] = input "x"
    %old : f32[T,2] = state "rows"
    %all = concat %old, %x {axis=0}
    %sum = reduce_sum %all {axes=[0], keepdims=0}
    return %sum as "sum", %all as "all"
  })"),
                  {});
  Context context;
  context.set_state("rows", Tensor(DType::f32, {0, 2}));
  for (int i = 1; i < 20; ++i) {
    const std::vector<Tensor> results = session.run(context, {{"x", Tensor::of<float>({1, 2}, {1, 2})}});
    EXPECT_EQ(floats(results[0]), (std::vector<float>{float(i), 2 * float(i)}));
    context.set_state("rows", results[1]);
  }
}

TEST(HeldValues, SessionsThatNameStateAlikeShareItsContext) {
  Session writes(parse(R"(graph w {
    %x : f32[2] = input "x"
    %s : f32[2] = state "s" {0, 0}
    %y = add %x, %s
    update %s = %y
    return %y as "y"
  })"),
                 {});
  Session reads(parse(R"(graph r {
    %s : f32[2] = state "s"
    %y = neg %s
    return %y as "y"
  })"),
                {});
  Context context;
  writes.run(context, x_of({3, 4}));
  EXPECT_EQ(floats(reads.run(context, {})[0]), (std::vector<float>{-3, -4}));
}

TEST(HeldValues, WritesAreSeenByLaterRunsAndChangeAllOrNothing) {
  Session session(parse(R"(graph g {
    %x : f32[2,3] = input "x"
    %w : f32[4,3] = param "w" {1,0,0, 0,1,0, 0,0,1, 1,1,1}
    %b : f32[4] = param "b" {0, 0, 0, 0}
    %y = linear %x, %w, %b
    %r = relu %y
    return %r as "r"
  })"),
                  {});
  const NamedTensors inputs{{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_EQ(floats(session.run(inputs)[0]), (std::vector<float>{1, 2, 3, 6, 4, 5, 6, 15}));
  session.set_parameters({{"b", Tensor::of<float>({4}, {10, 20, 30, 40})}});
  EXPECT_EQ(floats(session.run(inputs)[0]), (std::vector<float>{11, 22, 33, 46, 14, 25, 36, 55}));
  const Tensor other = Tensor::of<float>({3}, {0, 0, 0});
  EXPECT_EQ(error_of([&] {
              session.set_parameters({{"b", other}, {"w", Tensor(DType::f32, {4, 3})}});
            }),
            "parameter \"b\" is f32[4]; it can't become f32[3]");
  EXPECT_EQ(error_of([&] {
              session.set_parameters({{"b", Tensor(DType::i32, {4})}});
            }),
            "parameter \"b\" is f32[4]; it can't become i32[4]");
  EXPECT_NE(error_of([&] { session.set_parameters({{"ww", other}}); }).find("no parameter \"ww\""), std::string::npos);
  EXPECT_EQ(session.parameter_version("b"), 1);
  EXPECT_EQ(session.parameter_version("w"), 0);
  EXPECT_EQ(floats(session.run(inputs)[0])[0], 11);
}

// A run sees all parameters as of one moment: both sides of an equation are written together.
TEST(HeldValues, RunsBesideWritesReadAllOrNothingOfThem) {
  Graph graph;
  const ValueId a = graph.add_parameter("a", Tensor(DType::f32, {64}));
  const ValueId b = graph.add_parameter("b", Tensor(DType::f32, {64}));
  graph.add_output(graph.emit(ops::get("sub"), {a, b}), "d");
  Session session(graph, {});
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int i = 1; i < 400; ++i) {
      const Tensor both = Tensor::of<float>({64}, std::vector<float>(64, static_cast<float>(i)));
      session.set_parameters({{"a", both}, {"b", both}});
    }
    over = true;
  });
  while (!over) EXPECT_EQ(floats(session.run(NamedTensors())[0]), std::vector<float>(64, 0.0f));
  writer.join();
}

TEST(HeldValues, RunsThatChangeParametersComeOneAfterTheOther) {
  Session session(parse(R"(graph g {
    %x : f32[1] = input "x"
    %w : f32[1] = param "w" {0}
    %w2 = add %w, %x
    update %w = %w2
    return %w2 as "w"
  })"),
                  {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) session.run(x_of({1}));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(floats(session.parameter("w")), std::vector<float>{400});
}

TEST(HeldValues, ARunThatFailsLeavesAllAsItWas) {
  Session session(parse(R"(graph g {
    %i : i64[1] = input "i"
    %w : f32[2] = param "w" {1, 2}
    %n : f32[2] = state "n" {5, 6}
    %w2 = neg %w
    %row = gather %w2, %i
    update %w = %w2
    update %n = %w2
    return %row as "row"
  })"),
                  {});
  Context context;
  context.set_state("n", Tensor::of<float>({2}, {7, 8}));
  EXPECT_NE(error_of([&] { session.run(context, {{"i", Tensor::of<int64_t>({1}, {9})}}); }), "");
  EXPECT_EQ(floats(session.parameter("w")), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(context.state("n")), (std::vector<float>{7, 8}));
  EXPECT_EQ(session.parameter_version("w"), 0);
}

TEST(HeldValues, WhatDoesNotBelongIsRefused) {
  Session session(parse(kDescent), {});
  Context context;
  NamedTensors with_parameter = x_of({1, 2, 3});
  with_parameter["w"] = with_parameter["x"];
  EXPECT_EQ(error_of([&] { session.run(context, with_parameter); }),
            "\"w\" is a parameter, which the session holds; set_parameters() changes it between runs");
  NamedTensors with_state = x_of({1, 2, 3});
  with_state["m"] = with_state["x"];
  EXPECT_EQ(error_of([&] { session.run(context, with_state); }),
            "\"m\" is state, which a context holds; Context::set_state() sets it");
  context.set_state("m", Tensor(DType::f32, {2}));
  EXPECT_NE(error_of([&] { session.run(context, x_of({1, 2, 3})); }).find("\"m\""), std::string::npos);
  Session unset(parse("graph g {\n %s : f32[2] = state \"s\"\n %y = neg %s\n return %y as \"y\"\n}"), {});
  EXPECT_EQ(error_of([&] { unset.run(context, {}); }),
            "state \"s\" is read before it is set; Context::set_state() sets it, and a run without a context takes it "
            "with its inputs");
  EXPECT_NE(error_of([&] { unset.run({}); }).find("read before it is set"), std::string::npos);
  EXPECT_EQ(error_of([&] { context.state("n"); }), "this context has no state \"n\"; it has m");
}

// State that is not a context's is that of one run.
TEST(HeldValues, ARunWithoutAContextBeginsAnew) {
  for (int level : {0, 1, 2}) {
    SCOPED_TRACE(level);
    Session session(parse(R"(graph g {
      %x : f32[2] = input "x"
      %s : f32[2] = state "s" {1, 2}
      %y = add %s, %x
      update %s = %y
      return %y as "y"
    })"),
                    at(level));
    Context context;
    for (int run = 0; run < 3; ++run) EXPECT_EQ(floats(session.run(x_of({1, 1}))[0]), (std::vector<float>{2, 3}));
    for (float each : {2, 3, 4}) EXPECT_EQ(floats(session.run(context, x_of({1, 1}))[0])[0], each);
    NamedTensors given = x_of({1, 1});
    given.emplace("s", Tensor::of<float>({2}, {5, 6}));
    for (int run = 0; run < 2; ++run) EXPECT_EQ(floats(session.run(given)[0]), (std::vector<float>{6, 7}));
    EXPECT_EQ(floats(given.at("s")), (std::vector<float>{5, 6}));
    EXPECT_EQ(floats(session.run(x_of({1, 1}))[0]), (std::vector<float>{2, 3}));
    EXPECT_EQ(floats(context.state("s")), (std::vector<float>{4, 5}));
  }
}

// Formats that keep nothing have it as pairs of an argument and an output.
TEST(HeldValues, AreArgumentsWhereCallersKeepThem) {
  const Graph pairs = with_state_as_arguments(parse(kDescent));
  verify(pairs);
  ASSERT_EQ(pairs.arguments().size(), 2u);
  EXPECT_EQ(pairs.value(pairs.arguments()[1]).label, "m");
  ASSERT_EQ(pairs.returned(), 2u);
  EXPECT_EQ(pairs.outputs()[1].label, "m.next");
  EXPECT_NE(pairs.outputs()[2].updates, kNone);  // a parameter's stays one
  NamedTensors inputs = x_of({1, 2, 4});
  inputs.emplace("m", Tensor(DType::f32, {3}));
  EXPECT_EQ(floats(Session(pairs, {}).run(inputs)[1]), (std::vector<float>{-1, -2, -4}));
}

TEST(HeldValues, ATrainedGraphRunsWithoutThem) {
  const Graph graph = parse(R"(graph g {
    %x : f32[2] = input "x"
    %w : f32[2] = param "w" {3, 4}
    %y = mul %x, %w
    update %w = %y
    return %y as "y"
  })");
  const Graph constant = with_constant_parameters(graph);
  verify(constant);
  EXPECT_EQ(constant.inputs().size(), 1u);
  EXPECT_EQ(floats(Session(constant, {}).run(x_of({1, 2}))[0]), (std::vector<float>{3, 8}));
  EXPECT_NE(error_of([] { with_constant_parameters(parse(kDescent)); }).find("%m"), std::string::npos);
}

}  // namespace
}  // namespace hone::test

// Expressions as nodes: one more reader of the language (expr/expr.h), held to the interpreter.
#include "gradients/expression_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ir/compute_column.h"
#include "ops/calls/cast.h"
#include "ops/calls/transcendental.h"
#include "ops/evaluate.h"
#include "tests/support/error_of.h"
#include "tests/support/random_expr.h"

namespace hone {
namespace {

const Expr x = Expr::arg(0, Scalar::f32);

Tensor scalar_tensor(Scalar type, uint64_t bits) {
  Tensor tensor(dtype_of(type), {});
  std::memcpy(tensor.mutable_data(), &bits, static_cast<size_t>(tensor.bytes()));
  return tensor;
}

uint64_t bits_of(const Tensor& scalar) {
  uint64_t bits = 0;
  std::memcpy(&bits, scalar.data().bytes().data(), static_cast<size_t>(scalar.bytes()));
  return bits;
}

// A multiply-add is rounded twice, and two instructions have no op.
bool is_same_as_nodes(const Program& program) {
  return std::ranges::none_of(program.code, [](const Instruction& i) {
    return i.op == ExprOp::fma || i.op == ExprOp::index || (i.op == ExprOp::mulhi && width_bits(i.type) == 64);
  });
}

TEST(ExpressionNodes, ComputeWhatTheInterpreterComputes) {
  Philox rng(1);
  const test::RandomProgramOptions options{.args = {std::begin(test::kScalars), std::end(test::kScalars)}};
  int compared = 0;
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    Program program = flatten(test::to_exprs(test::random_program(rng, options))[0]);
    if (!is_same_as_nodes(program)) continue;
    program.args = options.args;
    std::vector<uint64_t> args;
    Graph graph;
    std::vector<ValueId> values;
    for (Scalar type : program.args) {
      args.push_back(test::random_value(type, rng));
      values.push_back(graph.add_constant("", scalar_tensor(type, args.back())));
    }
    graph.add_output(emit_expression(graph, test::to_exprs(program)[0], values), "result");
    verify(graph);
    const uint64_t found = bits_of(evaluate(graph, {})[0]), wanted = evaluate(program, args)[0];
    EXPECT_TRUE(test::same_value(program.result_type(0), found, wanted))
        << std::hex << found << " instead of " << wanted << "\n"
        << program.to_text();
    ++compared;
  }
  EXPECT_GT(compared, 1000);
}

struct OneInput {
  explicit OneInput(const char* type) : value(graph.add_input("x", parse_type(type))) {}
  Graph graph;
  ValueId value;
};

TEST(ExpressionNodes, WhatIsCommonIsEmittedOnceAndWhatIsKnownNotAtAll) {
  OneInput g("f32[3]");
  const ValueId root = ops::sqrt(g.graph, {g.value});
  emit_expression(g.graph, sqrt(x) + exp(x) * exp(x), std::array{g.value}, std::array{KnownValue{sqrt(x), root}});
  EXPECT_EQ(g.graph.nodes("exp").size(), 1u);
  EXPECT_EQ(g.graph.nodes("sqrt").size(), 1u);
}

TEST(ExpressionNodes, OperandsAreCastToWhatTheExpressionReads) {
  OneInput g("bf16[3]");
  EXPECT_EQ(to_string(g.graph.type(emit_expression(g.graph, x * x, std::array{g.value}))), "f32[3]");
  EXPECT_EQ(g.graph.nodes("cast").size(), 1u);
}

TEST(ExpressionNodes, SaysWhatNoOpComputes) {
  OneInput g("i64[3]");
  const Expr n = Expr::arg(0, Scalar::i64);
  const auto error = [&](const Expr& e) {
    return test::error_of([&] { emit_expression(g.graph, e, std::array{g.value}); });
  };
  EXPECT_THAT(error(n + Expr::index()), testing::HasSubstr("no op computes an element from its position"));
  EXPECT_THAT(error(mulhi(n, n)), testing::HasSubstr("no op computes the upper half of a product of 64-bit integers"));
}

// Of the only operand of the node that gives `y`, where the gradient of y is an input.
ValueId gradient_through(Graph& graph, ValueId y) {
  TensorType type = graph.type(y);
  type.dtype = gradient_dtype(type.dtype);
  const std::array d{graph.add_input("d", type)};
  const bool wanted[] = {true};
  return gradients_of({graph, graph.producer(y), d, wanted})[0];
}

TEST(PointwiseGradient, ReadsTheResultInsteadOfComputingItAgain) {
  OneInput g("f32[3]");
  gradient_through(g.graph, ops::tanh(g.graph, {g.value}));
  EXPECT_EQ(g.graph.nodes("tanh").size(), 1u);
}

// A result in bf16 has lost what its gradient needs.
TEST(PointwiseGradient, ComputesAResultOfFewerBitsAgain) {
  OneInput g("bf16[3]");
  const ValueId d = gradient_through(g.graph, ops::tanh(g.graph, {g.value}));
  EXPECT_EQ(to_string(g.graph.type(d)), "f32[3]");
  EXPECT_EQ(g.graph.nodes("tanh").size(), 2u);
}

TEST(PointwiseGradient, OfWhatIsHandedOnIsTheGradientItself) {
  OneInput g("f32[3]");
  EXPECT_EQ(g.graph.value(gradient_through(g.graph, ops::identity(g.graph, {g.value}))).label, "d");
}

}  // namespace
}  // namespace hone

// The reference backend on whole graphs.
#include <gtest/gtest.h>

#include "tests/ops/call.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

// y = relu(x · wᵀ) with x[B,2], and twice that.
Graph sample() {
  Graph graph;
  const ValueId x = graph.add_input("x", parse_type("f32[B,2]"));
  const ValueId w = graph.add_constant("w", f32({2, 2}, {1, 1, 1, -1}));
  const ValueId y = graph.emit(ops::get("relu"), {graph.emit(ops::get("linear"), {x, w})});
  graph.add_output(y, "y");
  graph.add_output(graph.emit(ops::get("add"), {y, y}), "twice");
  graph.add_output(x, "same");
  return graph;
}

std::string error_with(const std::map<std::string, Tensor>& inputs) {
  return test::error_of([&] { evaluate(sample(), inputs); });
}

TEST(Evaluate, BindsTheBatchAndGivesTheOutputsInOrder) {
  const std::vector<Tensor> outputs = evaluate(sample(), {{"x", f32({2, 2}, {1, 2, 5, 3})}});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0].to_floats(), (Floats{3, 0, 8, 2}));
  EXPECT_EQ(outputs[1].to_floats(), (Floats{6, 0, 16, 4}));
  EXPECT_EQ(outputs[2].to_floats(), (Floats{1, 2, 5, 3}));
}

TEST(Evaluate, WrongInputsAreErrorsThatNameThem) {
  EXPECT_NE(error_with({}).find("\"x\" is missing"), std::string::npos);
  EXPECT_NE(error_with({{"x", f32({1, 2}, {1, 2})}, {"xs", f32({}, {1})}}).find("\"xs\" is not an input"),
            std::string::npos);
  EXPECT_NE(error_with({{"x", i64({1, 2}, {1, 2})}}).find("i64[1,2]; the model takes f32[B,2]"), std::string::npos);
  EXPECT_NE(error_with({{"x", f32({1, 3}, {1, 2, 3})}}).find("\"x\""), std::string::npos);
}

TEST(KnownResults, AreThoseOfConstantsButLargeProductsAreLeftToGeneratedCode) {
  const auto knows = [](int64_t size) {
    Graph graph;
    const ValueId x = graph.add_constant("x", Tensor(DType::f32, {size, size}));
    const ValueId y = graph.emit(ops::get("linear"), {x, x});
    return known_results(graph, graph.node(graph.producer(y))).has_value();
  };
  EXPECT_TRUE(knows(128));   // 4 MFLOP
  EXPECT_FALSE(knows(256));  // 34 MFLOP
}

TEST(Evaluate, AnErrorInsideNamesTheNode) {
  Graph graph;
  const ValueId ids = graph.add_input("ids", parse_type("i64[N]"));
  graph.add_output(graph.emit(ops::get("gather"), {graph.add_constant("table", f32({2, 1}, {1, 2})), ids}, {}, "rows"),
                   "rows");
  try {
    evaluate(graph, {{"ids", i64({1}, {9})}});
    FAIL() << "an index out of range went through";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("%rows"), std::string::npos) << error.what();
  }
}

TEST(KnownResults, StayUnknownBeyondTheBudgetWhichTheyPayFrom) {
  const auto expanded = [](const std::vector<int64_t>& shape, FoldBudget& budget) {
    Graph graph;
    const ValueId x = graph.add_constant("x", f32({1}, {1}));
    const ValueId y = graph.emit(ops::get("expand"), {x, graph.add_constant("s", i64({std::ssize(shape)}, shape))});
    return known_results(graph, graph.node(graph.producer(y)), budget).has_value();
  };
  FoldBudget budget{.bytes = 100};
  EXPECT_FALSE(expanded({int64_t{1} << 50}, budget));
  EXPECT_TRUE(expanded({20}, budget));
  EXPECT_EQ(budget.bytes, 20);
  EXPECT_FALSE(expanded({20}, budget));
}

TEST(Evaluate, AResultLargerThanTheMemoryLimitIsAnErrorThatNamesTheOp) {
  const std::string why = error_of("expand", {f32({1}, {1}), i64({2}, {1 << 20, 1 << 30})});
  EXPECT_NE(why.find("expand, which gives f32[1048576,1073741824]"), std::string::npos) << why;
}

}  // namespace
}  // namespace hone

// Distances between tokens: rows of their table, and lines of products under each other.
#include "models/distances.h"

#include <gtest/gtest.h>

#include "ops/evaluate.h"

namespace hone {
namespace {

Tensor run(Graph& graph, ValueId result, const std::map<std::string, Tensor>& inputs) {
  graph.add_output(result, "result");
  return evaluate(graph, inputs)[0];
}

std::vector<int64_t> rows(const DistanceTable& table, Order order, int64_t length) {
  Graph graph;
  const ValueId ids = graph.add_input("ids", parse_type("i64[B,S]"));
  const ValueId result = distance_rows(graph, ids, table, order);
  return run(graph, result, {{"ids", Tensor(DType::i64, {1, length})}}).to_integers();
}

TEST(DistanceRows, CountFromTheNearestAndStayInTheTable) {
  EXPECT_EQ(rows({.span = 8}, Order::rising, 3), (std::vector<int64_t>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(rows({.span = 8}, Order::falling, 3), (std::vector<int64_t>{10, 9, 8, 7, 6, 5}));
  EXPECT_EQ(rows({.span = 2}, Order::falling, 4), (std::vector<int64_t>{3, 3, 3, 2, 1, 0, 0, 0}));
}

// As transformers 5.23 gives them: make_log_bucket_position of modeling_deberta_v2.py, plus span, within the table.
TEST(DistanceRows, BucketsAreThoseThatModelsAreTrainedWith) {
  const std::vector<int64_t> wanted = {0, 1, 1,  1,  1,  1,  1,  1,  1,  2,  2,  2,  2,  2,  3,  3,  4,  5,  6,  7,
                                       8, 9, 10, 11, 12, 13, 13, 14, 14, 14, 14, 14, 15, 15, 15, 15, 15, 15, 15, 15};
  EXPECT_EQ(bucket_rows({.span = 8, .farthest = 20}), wanted);
  EXPECT_EQ(rows({.span = 8, .farthest = 20}, Order::rising, 30).back(), 15) << "beyond the farthest";
  int64_t weighted = 0;
  const std::vector<int64_t> large = bucket_rows({.span = 256, .farthest = 512});
  for (size_t i = 0; i < large.size(); ++i) weighted += static_cast<int64_t>(i) * large[i];
  EXPECT_EQ(weighted, 189001082) << "the sum of index times row of v2 and v3";
}

TEST(LinesAligned, PutEachScoreUnderItsKey) {
  for (int64_t s : {1, 2, 5}) {
    Graph graph;
    const ValueId products = graph.add_input("products", parse_type("f32[B,2,S,2*S]"));
    const ValueId result = lines_aligned(graph, products);
    std::vector<float> values(static_cast<size_t>(2 * s * 2 * s));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Tensor given = Tensor::of<float>({1, 2, s, 2 * s}, values);
    Graph fixed = specialise(graph, {{"B", 1}, {"S", s}});
    const Tensor found = run(fixed, result, {{"products", given}});
    ASSERT_EQ(found.shape(), (std::vector<int64_t>{1, 2, s, s}));
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t i = 0; i < s; ++i)
        for (int64_t j = 0; j < s; ++j)
          EXPECT_EQ(found.as<float>()[static_cast<size_t>((h * s + i) * s + j)],
                    values[static_cast<size_t>((h * s + i) * 2 * s + s - 1 - i + j)]);
  }
}

}  // namespace
}  // namespace hone

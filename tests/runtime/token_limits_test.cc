// Ids and lengths that a model of tokens does not have are refused before it runs, however it runs.
#include "runtime/token_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Graph embedding(bool states_positions) {
  Graph graph = test::parse(R"(
    %ids : i64[B,S] = input "input_ids"
    %table : f32[4,2] = const "words" {0, 1, 2, 3, 4, 5, 6, 7}
    %x = gather %table, %ids {axis=0}
    return %x)");
  if (states_positions) graph.metadata["max_positions"] = "3";
  return graph;
}

std::vector<SessionOptions> ways() {
  return {{.device = open_device("reference")}, {.optimise = 0}, {.optimise = 1}, {.optimise = 2}};
}

Tensor ids(std::vector<int64_t> values) {
  return Tensor::of<int64_t>({1, static_cast<int64_t>(values.size())}, values);
}

TEST(TokenLimits, IdsOutsideTheTableAreNamedWithTheirPlace) {
  for (const SessionOptions& how : ways()) {
    Session session(embedding(true), how);
    EXPECT_EQ(session.run({{"input_ids", ids({0, 3})}})[0].to_floats(), (std::vector<float>{0, 1, 6, 7}));
    for (int64_t bad : {int64_t{-1}, int64_t{4}, INT64_MIN, INT64_MAX})
      EXPECT_THAT(test::error_of([&] {
                    session.run({{"input_ids", ids({1, bad})}});
                  }),
                  AllOf(HasSubstr("\"input_ids\" holds " + std::to_string(bad) + " in row 0, token 1"),
                        HasSubstr("ids 0 to 3")));
  }
}

TEST(TokenLimits, MoreTokensThanPositionsAreRefusedWithTheWayOut) {
  for (const SessionOptions& how : ways()) {
    Session session(embedding(true), how);
    EXPECT_THAT(test::error_of([&] {
                  session.run({{"input_ids", ids({0, 1, 2, 3})}});
                }),
                AllOf(HasSubstr("has 4 tokens; the model has 3 positions"), HasSubstr("--seq 3")));
  }
}

// ONNX counts from the end.
TEST(TokenLimits, AGatherOfAnotherModelKeepsItsNegativeIndices) {
  for (const SessionOptions& how : ways()) {
    Session session(embedding(false), how);
    EXPECT_EQ(session.run({{"input_ids", ids({-1, 0, 0, 0})}})[0].to_floats()[1], 7);
  }
}

}  // namespace
}  // namespace hone

// Parameters, state and updates in a graph and its text.
#include "ir/held_values.h"

#include <gtest/gtest.h>

#include "tests/ir/test_ops.h"

namespace hone {
namespace {

constexpr const char* kText = R"(graph g {
  %x : f32[N] = input "x"
  %w : f32[2] = param "w" {1, 2}
  %m : f32[2] = state "m" {0, 0}
  %s : f32[N] = state "s"
  %a : f32[2] = add %w, %m
  %b : f32[N] = mul %x, %s
  update %w = %a
  update %m = %a
  update %s = %b
  return %b as "b"
}
)";

std::string error(const std::string& statements) {
  return test::error_of([&] {
    test::parse("graph g {\n %x : f32[2] = input\n %w : f32[2] = param \"w\" {1, 2}\n" + statements + "\n}");
  });
}

TEST(HeldValues, RoundTripThroughText) {
  const Graph graph = test::parse(kText);
  verify(graph);
  EXPECT_EQ(print(graph), kText);
  EXPECT_EQ(graph.arguments(), std::vector<ValueId>{graph.find_value("x")});
  EXPECT_EQ(graph.returned(), 1u);
  EXPECT_EQ(graph.update_of(graph.find_value("s")), graph.find_value("b"));
  EXPECT_EQ(graph.update_of(graph.find_value("x")), kNone);
}

TEST(HeldValues, UpdatesKeepWhatTheyRead) {
  Graph graph = test::parse(kText);
  EXPECT_THROW(graph.erase(graph.producer(graph.find_value("a"))), Error);
  graph.replace_all_uses(graph.find_value("a"), graph.find_value("w"));
  EXPECT_EQ(graph.update_of(graph.find_value("m")), graph.find_value("w"));
  graph.erase(graph.producer(graph.find_value("a")));
  graph.compact();
  verify(graph);
  EXPECT_EQ(graph.update_of(graph.find_value("m")), graph.find_value("w"));
}

TEST(HeldValues, UpdatesAreOutputsBehindTheOthers) {
  const Graph graph = test::parse(kText);
  std::vector<std::string> labels;
  for (const Output& output : graph.outputs()) labels.push_back(output.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"b", "update of w", "update of m", "update of s"}));
  EXPECT_EQ(graph.returned(), 1u);
}

TEST(HeldValues, OutputsThatAreAddedLaterStandBeforeUpdates) {
  Graph graph = test::parse(kText);
  graph.add_output(graph.find_value("a"), "a");
  EXPECT_EQ(graph.outputs()[1].label, "a");
  EXPECT_EQ(graph.returned(), 2u);
  EXPECT_EQ(print(test::parse(print(graph))), print(graph));
}

TEST(HeldValues, OfAnotherTypeOrKindAreErrors) {
  EXPECT_NE(error("update %x = %w return %w").find("%x is no parameter or state"), std::string::npos);
  EXPECT_NE(error("%y : f32[2] = add %x, %w  update %y = %w return %w").find("%y is no parameter or state"),
            std::string::npos);
  EXPECT_NE(error("update %w = %x update %w = %x return %w").find("updated twice"), std::string::npos);
  EXPECT_NE(error("%s : f32[3] = state \"s\"  update %s = %w return %w").find("state %s is f32[3]; %w is f32[2]"),
            std::string::npos);
  EXPECT_NE(error("%p : f32[3] = param \"p\" return %w").find("no contents are given for \"p\""), std::string::npos);
  EXPECT_NE(error("%p : f32[2] = param \"w\" {0, 0} return %w").find("already has an input \"w\""), std::string::npos);
  EXPECT_NE(error("%p : f32[2] = state \"q\" {0} return %w"), "");
  EXPECT_NE(error("update %w return %w"), "");
}

}  // namespace
}  // namespace hone

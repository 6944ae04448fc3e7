// Constants of bodies belong to the model.
#include "ir/bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/branching_model.h"

namespace hone {
namespace {

std::vector<std::string> labels(const Graph& graph) {
  std::vector<std::string> found;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId id : each.constants())
      if (!each.value(id).label.empty()) found.push_back(each.value(id).label);
  });
  return found;
}

TEST(Bodies, AreVisitedAfterTheGraphAroundThemInTheOrderOfNodes) {
  std::vector<std::string> names;
  for_each_graph(test::branching_model(), [&](const Graph& each) { names.push_back(each.name); });
  EXPECT_THAT(names, testing::ElementsAre("branching", "then_branch", "else_branch", "inner_then", "inner_else"));
}

TEST(Bodies, LabelsBecomeUniqueAndThoseOutsideStay) {
  const Graph graph = with_unique_labels(test::branching_model());
  EXPECT_THAT(labels(graph), testing::ElementsAre("w", "w.2", "w.3", "w.4"));
  EXPECT_EQ(find_labelled(graph, "w").graph, &graph);
  EXPECT_EQ(find_labelled(graph, "w.3").graph->name, "inner_then");
  EXPECT_EQ(find_labelled(graph, "v").graph, nullptr);
}

TEST(Bodies, LabelsThatAreTakenAreNotGivenAgain) {
  Graph graph = test::branching_model();
  graph.add_constant("w.2", Tensor::scalar(1.0f));
  EXPECT_THAT(labels(with_unique_labels(graph)), testing::ElementsAre("w", "w.2", "w.3", "w.4", "w.5"));
}

TEST(Bodies, EditsReachOnlyTheBodies) {
  Graph graph = test::branching_model();
  edit_bodies(graph, [](Graph body) {
    body.name += "_edited";
    return body;
  });
  std::vector<std::string> names;
  for_each_graph(graph, [&](const Graph& each) { names.push_back(each.name); });
  EXPECT_THAT(
      names, testing::ElementsAre("branching", "then_branch_edited", "else_branch_edited", "inner_then", "inner_else"));
}

}  // namespace
}  // namespace hone

// Ops that look up and decide by trees: map_values, tree_ensemble.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/call.h"

namespace hone {
namespace {

Tensor bytes(std::vector<int64_t> shape, const std::vector<uint8_t>& values) {
  return Tensor::of<uint8_t>(std::move(shape), values);
}

TEST(MapValues, GivesTheValueOfTheLastEqualKeyOrTheDefault) {
  const Tensor x = Tensor::strings({4}, {"a", "b", "?", "a"}), keys = Tensor::strings({3}, {"a", "b", "a"});
  EXPECT_EQ(call("map_values", {x, keys, i64({3}, {1, 2, 3}), i64({}, {-1})}).to_integers(), (Ints{3, 2, -1, 3}));
}

TEST(MapValues, FindsNanAsNan) {
  const float nan = std::nanf("");
  const Tensor words = Tensor::strings({2}, {"none", "one"}), other = Tensor::strings({}, {"other"});
  EXPECT_EQ(call("map_values", {f32({3}, {nan, 1, 2}), f32({2}, {nan, 1}), words, other}).string_values(),
            (std::vector<std::string>{"none", "one", "other"}));
  EXPECT_EQ(call("map_values", {f32({1}, {nan}), f32({2}, {0, 1}), words, other}).string_values()[0], "other");
}

TEST(MapValues, RefusesTablesThatDoNotFit) {
  const Tensor x = i64({1}, {1}), keys = i64({2}, {1, 2});
  EXPECT_NE(error_of("map_values", {x, keys, i64({3}, {1, 2, 3}), i64({}, {0})}).find("3 but must be 2"),
            std::string::npos);
  EXPECT_NE(error_of("map_values", {x, f32({1}, {1}), i64({1}, {1}), i64({}, {0})}), "");
  EXPECT_NE(error_of("map_values", {x, keys, keys, f32({}, {0})}), "");
}

// One tree of two nodes: x0 <= 1 ? leaf 0 : (x1 == 5 ? leaf 1 : leaf 2), with 10, 20 and 30 for target 0; leaf 2 also
// votes 7 for target 1.
struct Forest {
  Tensor features = i64({2}, {0, 1}), modes = bytes({2}, {0, 4}), splits = f32({2}, {1, 5}),
         missing = bytes({2}, {0, 0}), on_true = i64({2}, {-1, -2}), on_false = i64({2}, {1, -3}),
         roots = i64({1}, {0}), vote_starts = i64({4}, {0, 1, 2, 4}), targets = i64({4}, {0, 0, 0, 1}),
         weights = f32({4}, {10, 20, 30, 7});

  std::vector<Tensor> operands(const Tensor& x) const {
    return {x, features, modes, splits, missing, on_true, on_false, roots, vote_starts, targets, weights};
  }
  Floats on(const Tensor& x, const char* aggregate = "sum") const {
    return call("tree_ensemble", operands(x), {{"targets", int64_t{2}}, {"aggregate", std::string(aggregate)}})
        .to_floats();
  }
  std::string error() const {
    return error_of("tree_ensemble", operands(f32({1, 2}, {2, 6})), {{"targets", int64_t{2}}});
  }
};

TEST(TreeEnsemble, FollowsTheBranchThatHolds) {
  EXPECT_EQ(Forest().on(f32({3, 2}, {1, 0, 2, 5, 2, 6})), (Floats{10, 0, 20, 0, 30, 7}));
}

TEST(TreeEnsemble, MissingValuesGoWhereTheNodeSays) {
  Forest forest;
  const Tensor x = f32({1, 2}, {std::nanf(""), std::nanf("")});
  EXPECT_EQ(forest.on(x), (Floats{30, 7}));
  forest.missing = bytes({2}, {0, 1});
  EXPECT_EQ(forest.on(x), (Floats{20, 0}));
}

TEST(TreeEnsemble, JoinsTheVotesOfAllTrees) {
  Forest forest;
  forest.roots = i64({2}, {0, -2});  // the second is leaf 1 alone
  const Tensor x = f32({1, 2}, {1, 0});
  EXPECT_EQ(forest.on(x), (Floats{30, 0}));
  EXPECT_EQ(forest.on(x, "average"), (Floats{15, 0}));
  EXPECT_EQ(forest.on(x, "min"), (Floats{10, 0}));
  EXPECT_EQ(forest.on(x, "max"), (Floats{20, 0}));
}

TEST(TreeEnsemble, RefusesNumbersThatLieOutsideItsTables) {
  const auto with = [](auto change) {
    Forest forest;
    change(forest);
    return forest.error();
  };
  EXPECT_NE(with([](Forest& f) { f.on_false = i64({2}, {2, -3}); }).find("a branch of a tree is 2"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.on_true = i64({2}, {-4, -2}); }).find("is -4"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.roots = i64({1}, {INT64_MIN}); }).find("a branch of a tree"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.features = i64({2}, {0, 2}); }).find("a feature"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.features = i64({2}, {-1, 0}); }).find("a feature"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.modes = bytes({2}, {0, 6}); }).find("comparison"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.targets = i64({4}, {0, 0, 0, 2}); }).find("target of a vote"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.vote_starts = i64({4}, {0, 1, 2, 5}); }).find("start of a leaf"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.vote_starts = i64({4}, {0, 2, 1, 4}); }).find("start of a leaf"), std::string::npos);
  EXPECT_NE(with([](Forest& f) { f.vote_starts = i64({0}, {}); }).find("vote_starts is empty"), std::string::npos);
}

TEST(TreeEnsemble, RefusesPathsThatComeBack) {
  Forest forest;
  forest.on_false = i64({2}, {1, 0});
  EXPECT_NE(forest.error().find("below itself"), std::string::npos);
  forest.on_false = i64({2}, {0, -3});
  EXPECT_NE(forest.error().find("node 0 of a tree is below itself"), std::string::npos);
  forest.on_true = i64({2}, {1, -2});  // both branches to the same node are no cycle
  forest.on_false = i64({2}, {1, -3});
  EXPECT_EQ(forest.error(), "");
}

TEST(TreeEnsemble, AsksForMemoryBeforeItTakesIt) {
  EXPECT_NE(error_of("tree_ensemble", Forest().operands(f32({1, 2}, {2, 6})), {{"targets", int64_t{1} << 62}}), "");
  EXPECT_NE(error_of("tree_ensemble", Forest().operands(f32({1, 2}, {2, 6})), {{"targets", int64_t{0}}}), "");
}

}  // namespace
}  // namespace hone

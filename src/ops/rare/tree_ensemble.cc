// tree_ensemble: many decision trees on rows of features, and what their leaves vote for summed per target.
//
// A tree is nodes that refer to each other by number: 0, 1, ... is a node, -1, -2, ... the leaf 0, 1, .... Foreign
// files fill these tables, so that every number is checked, and a path that comes back to where it was is refused.
#include <cmath>

#include "base/checked.h"
#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"targets", AttributeKind::integer, true, "columns of the result"},
    {"aggregate", AttributeKind::string, false,
     "of the votes for a target: sum (default), average (over trees), min, max"},
};

enum Operand : size_t {
  kX,
  kFeatures,
  kModes,
  kSplits,
  kMissing,
  kOnTrue,
  kOnFalse,
  kRoots,
  kVoteStarts,
  kTargets,
  kWeights
};
constexpr const char* kNames[] = {"x",        "features", "modes",       "splits",       "missing",     "on_true",
                                  "on_false", "roots",    "vote_starts", "vote_targets", "vote_weights"};

enum class Aggregate { sum, average, min, max };
Aggregate aggregate_of(const Attributes& attributes) {
  const std::string name = attributes.get_or<std::string>("aggregate", "sum");
  if (name == "sum") return Aggregate::sum;
  if (name == "average") return Aggregate::average;
  if (name == "min") return Aggregate::min;
  if (name == "max") return Aggregate::max;
  fail("aggregate is \"{}\"; accepted: sum, average, min, max", name);
}

std::vector<TensorType> infer_tree_ensemble(const InferArgs& a) {
  expect_not_string(a[kX], "x");
  expect_rank(a[kX], 2, 2, "x");
  for (size_t i = kFeatures; i <= kWeights; ++i) expect_rank(a[i], 1, 1, kNames[i]);
  for (size_t i : {kFeatures, kOnTrue, kOnFalse, kRoots, kVoteStarts, kTargets}) expect_index(a[i], kNames[i]);
  for (size_t i : {kModes, kMissing})
    if (a[i].dtype != DType::u8) fail("{} is {}; accepted: u8", kNames[i], to_string(a[i]));
  for (size_t i : {kSplits, kWeights}) expect_float(a[i], kNames[i]);
  for (size_t i : {kModes, kSplits, kMissing, kOnTrue, kOnFalse})
    expect_dim(a[i].shape[0], a[kFeatures].shape[0], "the length of a table of nodes");
  expect_dim(a[kTargets].shape[0], a[kWeights].shape[0], "the number of vote_targets, that of vote_weights,");
  aggregate_of(a.attributes);
  const int64_t targets = a.attributes.get<int64_t>("targets");
  expect_positive(targets, "targets");
  return {plain_type(a[kWeights].dtype == DType::f64 ? DType::f64 : DType::f32, {a[kX].shape[0], targets})};
}

struct Trees {
  std::vector<int64_t> features, on_true, on_false, roots, vote_starts, targets;
  std::vector<double> splits, weights;
  std::vector<uint8_t> modes, missing;

  explicit Trees(const EvalArgs& a)
      : features(a[kFeatures].to_integers()),
        on_true(a[kOnTrue].to_integers()),
        on_false(a[kOnFalse].to_integers()),
        roots(a[kRoots].to_integers()),
        vote_starts(a[kVoteStarts].to_integers()),
        targets(a[kTargets].to_integers()),
        splits(a[kSplits].to_doubles()),
        weights(a[kWeights].to_doubles()),
        modes(a[kModes].as<uint8_t>().begin(), a[kModes].as<uint8_t>().end()),
        missing(a[kMissing].as<uint8_t>().begin(), a[kMissing].as<uint8_t>().end()) {}

  int64_t nodes() const { return static_cast<int64_t>(features.size()); }
  int64_t leaves() const { return static_cast<int64_t>(vote_starts.size()) - 1; }

  void check(int64_t columns, int64_t target_count) const;
  void check_paths() const;
  void vote(const double* row, Aggregate aggregate, std::span<double> totals) const;

  // Whether a row with this value takes the branch `on_true` of node n.
  bool holds(size_t n, double value) const {
    if (std::isnan(value) && missing[n] != 0) return true;
    switch (modes[n]) {
      case 0:
        return value <= splits[n];
      case 1:
        return value < splits[n];
      case 2:
        return value >= splits[n];
      case 3:
        return value > splits[n];
      case 4:
        return value == splits[n];
      default:
        return value != splits[n];
    }
  }

  int64_t leaf_of(int64_t at, const double* row) const {
    while (at >= 0) {
      const auto n = static_cast<size_t>(at);
      at = holds(n, row[features[n]]) ? on_true[n] : on_false[n];
    }
    return -1 - at;
  }
};

void Trees::check(int64_t columns, int64_t target_count) const {
  for (int64_t feature : features) checked_range(feature, 0, columns - 1, "a feature of a tree's node");
  for (uint8_t mode : modes) checked_range(mode, 0, 5, "the comparison of a tree's node");
  if (vote_starts.empty()) fail("vote_starts is empty; it has one number more than there are leaves");
  int64_t before = 0;
  for (int64_t start : vote_starts)
    before = checked_range(start, before, static_cast<int64_t>(weights.size()), "the start of a leaf's votes");
  for (int64_t target : targets) checked_range(target, 0, target_count - 1, "the target of a vote");
  for (const auto* table : {&on_true, &on_false, &roots})
    for (int64_t at : *table) checked_range(at, -leaves(), nodes() - 1, "a branch of a tree");
  check_paths();
}

// Depth first: a node that is met again while its branches are followed lies on a path to itself.
void Trees::check_paths() const {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(features.size(), kNew);
  std::vector<int64_t> stack;
  for (int64_t root : roots) {
    if (root >= 0) stack.push_back(root);
    while (!stack.empty()) {
      const auto n = static_cast<size_t>(stack.back());
      if (state[n] != kNew) {
        state[n] = kDone;
        stack.pop_back();
        continue;
      }
      state[n] = kOpen;
      for (int64_t next : {on_true[n], on_false[n]}) {
        if (next < 0) continue;
        if (state[static_cast<size_t>(next)] == kOpen) fail("node {} of a tree is below itself", next);
        if (state[static_cast<size_t>(next)] == kNew) stack.push_back(next);
      }
    }
  }
}

double joined(Aggregate aggregate, double total, double weight) {
  if (aggregate == Aggregate::min) return std::min(total, weight);
  if (aggregate == Aggregate::max) return std::max(total, weight);
  return total + weight;
}

// The totals of one row, which are zeros before.
void Trees::vote(const double* row, Aggregate aggregate, std::span<double> totals) const {
  std::vector<bool> voted(totals.size(), false);
  for (int64_t root : roots) {
    const auto leaf = static_cast<size_t>(leaf_of(root, row));
    for (auto v = static_cast<size_t>(vote_starts[leaf]); v < static_cast<size_t>(vote_starts[leaf + 1]); ++v) {
      const auto target = static_cast<size_t>(targets[v]);
      totals[target] = voted[target] ? joined(aggregate, totals[target], weights[v]) : weights[v];
      voted[target] = true;
    }
  }
  if (aggregate == Aggregate::average)
    for (double& total : totals) total /= static_cast<double>(roots.size());
}

std::vector<Tensor> eval_tree_ensemble(const EvalArgs& a) {
  const Trees trees(a);
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const int64_t rows = sizes[0], columns = a[kX].dim(1), targets = sizes[1];
  trees.check(columns, targets);
  const std::vector<double> x = a[kX].to_doubles();
  Tensor result(DType::f64, sizes);
  const std::span<double> out = result.mutable_as<double>();
  parallel_for(rows, [&](int64_t i) {
    const auto of_row = out.subspan(static_cast<size_t>(i * targets), static_cast<size_t>(targets));
    trees.vote(x.data() + i * columns, aggregate_of(a.attributes), of_row);
  });
  return {result.converted(a.results[0].dtype)};
}

}  // namespace

extern constinit const OpDef tree_ensemble_def{
    .name = "tree_ensemble",
    .doc =
        "Every row of x[N,F] goes down each tree from its root: at node n to on_true[n] where x[features[n]] compares "
        "with splits[n] as modes[n] says (0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=), or is NaN and missing[n] is 1, else to "
        "on_false[n]; a number below 0 is leaf -1 - number. Leaf l has the votes vote_starts[l] to vote_starts[l + 1], "
        "each a weight for a target → f32[N,targets] (f64 where the weights are); 0 where nothing votes.",
    .operands = {"x", "features", "modes", "splits", "missing", "on_true", "on_false", "roots", "vote_starts",
                 "vote_targets", "vote_weights"},
    .attributes = kAttributes,
    .infer = infer_tree_ensemble,
    .eval = eval_tree_ensemble,
    .no_gradient = "what a tree gives changes in jumps only"};

}  // namespace hone

// Ensembles of decision trees, of ai.onnx.ml: TreeEnsemble, and TreeEnsembleRegressor and TreeEnsembleClassifier before
// it. Their lists of nodes, each with the numbers of its branches, become the tables of the op tree_ensemble.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/checked.h"
#include "io/onnx/formula.h"
#include "io/onnx/rare/post_transform.h"
#include "ops/calls/argmax.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/tree_ensemble.h"

namespace hone {
namespace {

using onnx::Formula;
using Integers = std::vector<int64_t>;
constexpr const char* kMl = "ai.onnx.ml";

// The operands of tree_ensemble behind x. A branch below 0 is leaf -1 - branch.
struct Tables {
  Integers features, on_true, on_false, roots, vote_starts{0}, targets;
  std::vector<uint8_t> modes, missing;
  std::vector<double> splits, weights;

  int64_t size() const { return static_cast<int64_t>(features.size()); }
  void add(int64_t feature, uint8_t mode, double split, bool missing_is_true) {
    features.push_back(feature);
    modes.push_back(mode);
    splits.push_back(split);
    missing.push_back(missing_is_true ? 1 : 0);
    on_true.push_back(0);
    on_false.push_back(0);
  }
};

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<int64_t>(values.size())}, values);
}

ValueId ensemble(const OnnxNode& n, const Tables& t, DType dtype, int64_t targets, const std::string& aggregate) {
  const auto integers = [&](const Integers& values) { return n.constant(vector_of(values)); };
  const auto numbers = [&](const std::vector<double>& values) {
    return n.constant(vector_of(values).converted(dtype));
  };
  const auto bytes = [&](const std::vector<uint8_t>& values) { return n.constant(vector_of(values)); };
  return ops::tree_ensemble(n, {.x = n.in(0),
                                .features = integers(t.features),
                                .modes = bytes(t.modes),
                                .splits = numbers(t.splits),
                                .missing = bytes(t.missing),
                                .on_true = integers(t.on_true),
                                .on_false = integers(t.on_false),
                                .roots = integers(t.roots),
                                .vote_starts = integers(t.vote_starts),
                                .vote_targets = integers(t.targets),
                                .vote_weights = numbers(t.weights),
                                .targets = targets,
                                .aggregate = aggregate});
}

template <class List>
void expect_length(const List& list, size_t wanted, const char* name, const char* of) {
  if (list.size() != wanted) fail("{} has {} elements; {} has {}", name, list.size(), of, wanted);
}

// --- TreeEnsembleRegressor, TreeEnsembleClassifier -------------------------------------------------------------------

// A list of numbers, as floats or as a tensor of doubles.
struct Numbers {
  std::vector<double> values;
  DType dtype = DType::f32;
};

Numbers numbers_of(const OnnxNode& n, const std::string& name) {
  const std::string as_tensor = name + "_as_tensor";
  if (!n.has_attribute(as_tensor)) return {n.numbers(name, std::vector<double>())};
  if (n.has_attribute(name)) fail("{} and {} are both given", name, as_tensor);
  const Tensor tensor = n.tensor(as_tensor);
  if (!is_float(tensor.dtype())) fail("{} is {}; accepted: floats", as_tensor, to_string(tensor.type()));
  return {tensor.to_doubles(), tensor.dtype()};
}

constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
constexpr uint8_t kLeaf = 255;

uint8_t mode_of(const std::string& name) {
  if (name == "LEAF") return kLeaf;
  const auto found = std::ranges::find(kModes, name);
  if (found == std::end(kModes)) fail("a node has the mode \"{}\"; accepted: {}, LEAF", name, fmt::join(kModes, ", "));
  return static_cast<uint8_t>(found - std::begin(kModes));
}

// A node by the numbers of its tree and in it; its branch as the tables have it.
using Places = std::map<std::pair<int64_t, int64_t>, int64_t>;

int64_t place_of(const Places& places, int64_t tree, int64_t node, const char* what) {
  const auto found = places.find({tree, node});
  if (found == places.end()) fail("{} is node {} of tree {}, which is not in nodes_nodeids", what, node, tree);
  return found->second;
}

// The votes of each leaf, in the order of the leaves; those of nodes that are no leaves count for nothing.
void add_votes(const OnnxNode& n, const std::string& prefix, const Places& places, size_t leaves,
               const std::vector<double>& weights, Tables& tables) {
  const Integers trees = n.integers(prefix + "_treeids"), nodes = n.integers(prefix + "_nodeids"),
                 targets = n.integers(prefix + "_ids");
  for (const Integers* list : {&nodes, &targets})
    expect_length(*list, trees.size(), "a list of votes", "that of trees");
  expect_length(weights, trees.size(), "the list of weights", "that of trees");
  std::vector<std::vector<size_t>> of_leaf(leaves);
  for (size_t i = 0; i < trees.size(); ++i)
    if (const int64_t at = place_of(places, trees[i], nodes[i], "a vote's leaf"); at < 0)
      of_leaf[static_cast<size_t>(-1 - at)].push_back(i);
  for (const std::vector<size_t>& votes : of_leaf) {
    for (size_t i : votes) {
      tables.targets.push_back(targets[i]);
      tables.weights.push_back(weights[i]);
    }
    tables.vote_starts.push_back(static_cast<int64_t>(tables.targets.size()));
  }
}

struct Ensemble {
  Tables tables;
  DType dtype;
};

Ensemble ensemble_of(const OnnxNode& n, const std::string& votes) {
  const Integers trees = n.integers("nodes_treeids"), nodes = n.integers("nodes_nodeids"),
                 features = n.integers("nodes_featureids"), on_true = n.integers("nodes_truenodeids"),
                 on_false = n.integers("nodes_falsenodeids"),
                 missing = n.integers("nodes_missing_value_tracks_true", Integers());
  const std::vector<std::string> modes = n.texts("nodes_modes");
  const Numbers splits = numbers_of(n, "nodes_values"), weights = numbers_of(n, votes + "_weights");
  for (const Integers* list : {&nodes, &features, &on_true, &on_false})
    expect_length(*list, trees.size(), "a list of nodes", "nodes_treeids");
  expect_length(modes, trees.size(), "nodes_modes", "nodes_treeids");
  expect_length(splits.values, trees.size(), "nodes_values", "nodes_treeids");
  if (!missing.empty()) expect_length(missing, trees.size(), "nodes_missing_value_tracks_true", "nodes_treeids");

  Ensemble result{.dtype = splits.dtype == DType::f64 || weights.dtype == DType::f64 ? DType::f64 : DType::f32};
  Tables& tables = result.tables;
  Places places;
  std::map<int64_t, int64_t> roots;  // of each tree: the first node that is listed
  int64_t leaves = 0;
  for (size_t i = 0; i < trees.size(); ++i) {
    const uint8_t mode = mode_of(modes[i]);
    const int64_t at = mode == kLeaf ? -1 - leaves++ : tables.size();
    if (!places.emplace(std::pair{trees[i], nodes[i]}, at).second)
      fail("node {} of tree {} is listed twice", nodes[i], trees[i]);
    roots.try_emplace(trees[i], at);
    if (mode != kLeaf) tables.add(features[i], mode, splits.values[i], !missing.empty() && missing[i] != 0);
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    const int64_t at = places[{trees[i], nodes[i]}];
    if (at < 0) continue;
    tables.on_true[static_cast<size_t>(at)] = place_of(places, trees[i], on_true[i], "a branch");
    tables.on_false[static_cast<size_t>(at)] = place_of(places, trees[i], on_false[i], "a branch");
  }
  for (const auto& [tree, root] : roots) tables.roots.push_back(root);
  add_votes(n, votes, places, static_cast<size_t>(leaves), weights.values, tables);
  return result;
}

// Scores [N,E] with the base values added, as f32.
ValueId based(const OnnxNode& n, ValueId scores, int64_t targets) {
  const Numbers base = numbers_of(n, "base_values");
  if (!base.values.empty()) {
    expect_length(base.values, static_cast<size_t>(targets), "base_values", "a row of scores");
    scores = ops::add(n, {scores, n.constant(vector_of(base.values).converted(n.type(scores).dtype))});
  }
  return n.cast(scores, DType::f32);
}

std::string aggregate_of(const OnnxNode& n) {
  const std::string name = n.text("aggregate_function", "SUM");
  for (const char* known : {"SUM", "AVERAGE", "MIN", "MAX"})
    if (name == known) {
      std::string lower = name;
      std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      return lower;
    }
  fail("aggregate_function is \"{}\"; accepted: SUM, AVERAGE, MIN, MAX", name);
}

std::vector<ValueId> import_regressor(OnnxNode& n) {
  const Ensemble trees = ensemble_of(n, "target");
  const int64_t targets = checked_range(n.integer("n_targets", 1), 1, std::numeric_limits<int32_t>::max(), "n_targets");
  const ValueId scores = ensemble(n, trees.tables, trees.dtype, targets, aggregate_of(n));
  return {transformed(n, post_transform_of(n), based(n, scores, targets))};
}

// Two labels and votes for one of them alone, counted as ONNX Runtime does. For the first: a sum s of weights none of
// which is negative is the share of the second label, 1 - s that of the first; other sums are above 0 where the second
// is more likely, and -s is the score of the first. For the second: its score is s, that of the first 0.
std::vector<ValueId> one_sided(OnnxNode& n, const Tensor& labels, const Formula& s, bool for_first, bool is_share) {
  const PostTransform post = post_transform_of(n);
  if (post == PostTransform::probit) n.unsupported("post_transform PROBIT of two labels");
  const Formula second(n, ops::greater(n, {s, s.number(for_first && is_share ? 0.5 : 0)}));
  const ValueId label = labels_at(n, labels, n.reshape(second.cast(DType::i64), {Dim(-1)}));
  const auto pair = [&](ValueId first) { return ops::concat(n, {.inputs = {first, s}, .axis = 1}); };
  if (!for_first) return {label, transformed(n, post, pair(s * 0.0))};
  if (post == PostTransform::logistic) return {label, transformed(n, post, pair(0 - s))};
  return {label, pair(is_share ? 1 - s : 0 - s)};
}

std::vector<ValueId> import_one_sided(OnnxNode& n, const Tensor& labels, const Ensemble& trees, bool for_first) {
  Tables tables = trees.tables;
  std::ranges::fill(tables.targets, 0);
  const Numbers base = numbers_of(n, "base_values");
  if (base.values.size() > 1) n.unsupported("base_values of two labels beside votes for one of them");
  const ValueId votes = ensemble(n, tables, trees.dtype, 1, "sum");
  Formula sum(n, n.cast(votes, DType::f32));
  if (!base.values.empty()) sum = sum + base.values[0];
  const bool is_share = std::ranges::all_of(tables.weights, [](double weight) { return weight >= 0; });
  return one_sided(n, labels, sum, for_first, is_share);
}

std::vector<ValueId> import_classifier(OnnxNode& n) {
  const Ensemble trees = ensemble_of(n, "class");
  const Tensor labels = class_labels(n, "classlabels_int64s", "classlabels_strings");
  const int64_t classes = labels.elements();
  if (classes < 2) n.unsupported("a classifier with one label; supported: two or more");
  for (int64_t id : trees.tables.targets) checked_range(id, 0, classes - 1, "a class id");
  if (classes == 2) {
    const auto all = [&](int64_t id) {
      return std::ranges::all_of(trees.tables.targets, [=](int64_t t) { return t == id; });
    };
    if (!all(0) && !all(1))
      n.unsupported("votes for both of two labels, which runtimes count in different ways; supported: for one of them");
    return import_one_sided(n, labels, trees, all(0));
  }
  const ValueId scores = based(n, ensemble(n, trees.tables, trees.dtype, classes, "sum"), classes);
  const ValueId best = ops::argmax(n, {.x = scores, .axis = 1, .keepdims = 0});
  return {labels_at(n, labels, best), transformed(n, post_transform_of(n), scores)};
}

// --- TreeEnsemble ----------------------------------------------------------------------------------------------------

constexpr uint8_t kEqual = 4, kMember = 6;

// The sets of the nodes that test membership, in their order: each ends at a NaN.
std::vector<std::vector<double>> member_sets(const OnnxNode& n) {
  std::vector<std::vector<double>> sets;
  if (!n.has_attribute("membership_values")) return sets;
  sets.emplace_back();
  for (double value : n.tensor("membership_values").to_doubles()) {
    if (std::isnan(value)) sets.emplace_back();
    else sets.back().push_back(value);
  }
  return sets;
}

struct Branches {
  Integers ids, leaves;
  int64_t at(size_t node, int64_t nodes, int64_t leaf_count) const {
    if (leaves[node] != 0) return -1 - checked_range(ids[node], 0, leaf_count - 1, "a branch to a leaf");
    return checked_range(ids[node], 0, nodes - 1, "a branch");
  }
};

// A test of membership is a chain of tests for equality, the first of which takes its place.
void add_members(Tables& tables, size_t node, const std::vector<double>& members) {
  const int64_t feature = tables.features[node], yes = tables.on_true[node], no = tables.on_false[node];
  const bool missing = tables.missing[node] != 0;
  auto at = node;
  tables.splits[at] = members.empty() ? std::numeric_limits<double>::quiet_NaN() : members[0];  // NaN equals nothing
  tables.modes[at] = kEqual;
  for (size_t i = 1; i < members.size(); ++i) {
    tables.on_false[at] = tables.size();
    tables.add(feature, kEqual, members[i], missing);
    at = tables.features.size() - 1;
    tables.on_true[at] = yes;
  }
  tables.on_false[at] = no;
}

Tables tables_of(const OnnxNode& n) {
  const Integers features = n.integers("nodes_featureids"),
                 missing = n.integers("nodes_missing_value_tracks_true", Integers());
  const Tensor mode_tensor = n.tensor("nodes_modes");
  if (mode_tensor.dtype() != DType::u8) fail("nodes_modes is {}; accepted: u8", to_string(mode_tensor.type()));
  const std::span<const uint8_t> modes = mode_tensor.as<uint8_t>();
  const std::vector<double> splits = n.tensor("nodes_splits").to_doubles();
  const Branches yes{n.integers("nodes_truenodeids"), n.integers("nodes_trueleafs")},
      no{n.integers("nodes_falsenodeids"), n.integers("nodes_falseleafs")};
  const size_t nodes = features.size();
  for (const Integers* list : {&yes.ids, &yes.leaves, &no.ids, &no.leaves})
    expect_length(*list, nodes, "a list of nodes", "nodes_featureids");
  expect_length(modes, nodes, "nodes_modes", "nodes_featureids");
  expect_length(splits, nodes, "nodes_splits", "nodes_featureids");
  if (!missing.empty()) expect_length(missing, nodes, "nodes_missing_value_tracks_true", "nodes_featureids");

  Tables tables;
  tables.weights = n.tensor("leaf_weights").to_doubles();
  tables.targets = n.integers("leaf_targetids");
  expect_length(tables.targets, tables.weights.size(), "leaf_targetids", "leaf_weights");
  const auto leaves = static_cast<int64_t>(tables.weights.size());
  for (int64_t leaf = 1; leaf <= leaves; ++leaf) tables.vote_starts.push_back(leaf);
  for (size_t i = 0; i < nodes; ++i) {
    tables.add(features[i], modes[i], splits[i], !missing.empty() && missing[i] != 0);
    tables.on_true[i] = yes.at(i, static_cast<int64_t>(nodes), leaves);
    tables.on_false[i] = no.at(i, static_cast<int64_t>(nodes), leaves);
  }
  const std::vector<std::vector<double>> sets = member_sets(n);
  size_t set = 0;
  for (size_t i = 0; i < nodes; ++i) {
    checked_range(modes[i], 0, kMember, "a node's mode");
    if (modes[i] != kMember) continue;
    if (set >= sets.size()) fail("membership_values has fewer sets than there are nodes with BRANCH_MEMBER");
    add_members(tables, i, sets[set++]);
  }
  tables.roots = n.integers("tree_roots");
  return tables;
}

PostTransform numbered_post_transform(const OnnxNode& n) {
  return static_cast<PostTransform>(checked_range(n.integer("post_transform", 0), 0, 4, "post_transform"));
}

std::vector<ValueId> import_tree_ensemble(OnnxNode& n) {
  constexpr const char* kAggregates[] = {"average", "sum", "min", "max"};
  const auto aggregate =
      static_cast<size_t>(checked_range(n.integer("aggregate_function", 1), 0, 3, "aggregate_function"));
  const int64_t targets = checked_range(n.integer("n_targets", 1), 1, std::numeric_limits<int32_t>::max(), "n_targets");
  const DType dtype = n.type(n.in(0)).dtype, wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  const ValueId scores = ensemble(n, tables_of(n), wide, targets, kAggregates[aggregate]);
  return {n.cast(transformed(n, numbered_post_transform(n), scores), dtype)};
}

constexpr OnnxOperator kOperators[] = {
    {"TreeEnsemble", 5, import_tree_ensemble, kMl},
    {"TreeEnsembleClassifier", 1, import_classifier, kMl},
    {"TreeEnsembleRegressor", 1, import_regressor, kMl},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_trees_def{.name = "trees", .operators = kOperators};

}  // namespace hone

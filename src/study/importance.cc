#include "study/importance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/philox.h"

namespace hone {
namespace {

constexpr int kTrees = 64, kDeepest = 16;
constexpr size_t kFewestTrials = 8, kLeaf = 2;

struct Observations {
  std::vector<std::vector<double>> columns;  // by parameter; a value below all others where a trial lacks it
  std::vector<bool> is_category;
  std::vector<double> values;
};

// A regression tree by least squares. Categories are ordered by the mean of their values at each node, which finds the
// best of all their divisions in two.
class Tree {
 public:
  Tree(const Observations& all, std::vector<uint32_t> rows, Philox& rng) : all_(all), rng_(rng) {
    grow(std::move(rows), 0);
  }

  // With the value of one parameter taken from another row.
  double predict(size_t row, size_t parameter, size_t from) const {
    size_t at = 0;
    while (nodes_[at].parameter >= 0) {
      const Node& node = nodes_[at];
      const auto p = static_cast<size_t>(node.parameter);
      const double value = all_.columns[p][p == parameter ? from : row];
      const bool left =
          node.is_category ? std::ranges::binary_search(node.left_values, value) : value <= node.threshold;
      at = left ? node.left : node.right;
    }
    return nodes_[at].mean;
  }

 private:
  struct Node {
    int parameter = -1;
    bool is_category = false;
    double threshold = 0, mean = 0;
    std::vector<double> left_values = {};
    size_t left = 0, right = 0;
  };
  struct Cut {
    double gain = 0, threshold = 0;
    int parameter = -1;
    std::vector<double> left_values = {};
  };

  size_t grow(std::vector<uint32_t> rows, int depth) {
    const size_t at = nodes_.size();
    nodes_.emplace_back();
    double sum = 0;
    for (uint32_t r : rows) sum += all_.values[r];
    nodes_[at].mean = sum / static_cast<double>(rows.size());
    if (depth == kDeepest || rows.size() < 2 * kLeaf) return at;
    Cut best;
    for (size_t p = 0; p < all_.columns.size(); ++p)
      if (all_.columns.size() < 3 || rng_.uniform() < 2.0 / 3) cut(rows, p, sum, best);
    if (best.parameter < 0) return at;
    const auto p = static_cast<size_t>(best.parameter);
    Node node{.parameter = best.parameter,
              .is_category = all_.is_category[p],
              .threshold = best.threshold,
              .mean = nodes_[at].mean,
              .left_values = best.left_values};
    const auto middle = std::stable_partition(rows.begin(), rows.end(), [&](uint32_t r) {
      const double value = all_.columns[p][r];
      return node.is_category ? std::ranges::binary_search(node.left_values, value) : value <= node.threshold;
    });
    std::vector<uint32_t> right(middle, rows.end());
    rows.erase(middle, rows.end());
    node.left = grow(std::move(rows), depth + 1);
    node.right = grow(std::move(right), depth + 1);
    nodes_[at] = std::move(node);
    return at;
  }

  void cut(const std::vector<uint32_t>& rows, size_t p, double sum, Cut& best) const {
    struct Group {
      double value, sum = 0;
      size_t count = 0;
    };
    std::map<double, Group> by_value;
    for (uint32_t r : rows) {
      Group& g = by_value.try_emplace(all_.columns[p][r], Group{all_.columns[p][r]}).first->second;
      g.sum += all_.values[r], ++g.count;
    }
    std::vector<Group> groups;
    for (const auto& [value, group] : by_value) groups.push_back(group);
    if (all_.is_category[p])
      std::ranges::stable_sort(groups, {}, [](const Group& g) { return g.sum / static_cast<double>(g.count); });
    const auto n = static_cast<double>(rows.size());
    double left_sum = 0, left = 0;
    for (size_t i = 0; i + 1 < groups.size(); ++i) {
      left_sum += groups[i].sum, left += static_cast<double>(groups[i].count);
      if (left < kLeaf || n - left < kLeaf) continue;
      const double right_sum = sum - left_sum;
      const double gain = left_sum * left_sum / left + right_sum * right_sum / (n - left) - sum * sum / n;
      if (gain <= best.gain * (1 + 1e-12) || gain <= 1e-12 * std::abs(sum * sum / n)) continue;
      best = {gain, (groups[i].value + groups[i + 1].value) / 2, static_cast<int>(p), {}};
      if (!all_.is_category[p]) continue;
      for (size_t k = 0; k <= i; ++k) best.left_values.push_back(groups[k].value);
      std::ranges::sort(best.left_values);
    }
  }

  const Observations& all_;
  Philox& rng_;
  std::vector<Node> nodes_;
};

// How much the squared error of the rows left out grows, by parameter.
void add_growth(const Observations& all, Philox& rng, std::vector<double>& growth) {
  const size_t n = all.values.size();
  std::vector<uint32_t> drawn;
  std::vector<bool> is_drawn(n);
  for (size_t i = 0; i < n; ++i) {
    drawn.push_back(rng.below(static_cast<uint32_t>(n)));
    is_drawn[drawn.back()] = true;
  }
  std::vector<size_t> others;
  for (size_t i = 0; i < n; ++i)
    if (!is_drawn[i]) others.push_back(i);
  if (others.empty()) return;
  const Tree tree(all, std::move(drawn), rng);
  const auto square = [](double x) { return x * x; };
  for (size_t p = 0; p < all.columns.size(); ++p) {
    std::vector<size_t> shuffled = others;
    for (size_t i = shuffled.size(); i > 1; --i)
      std::swap(shuffled[i - 1], shuffled[rng.below(static_cast<uint32_t>(i))]);
    double worse = 0;
    for (size_t i = 0; i < others.size(); ++i)
      worse += square(tree.predict(others[i], p, shuffled[i]) - all.values[others[i]]) -
               square(tree.predict(others[i], p, others[i]) - all.values[others[i]]);
    growth[p] += worse / static_cast<double>(others.size());
  }
}

}  // namespace

std::vector<Importance> importances(std::span<const TrialPtr> trials, size_t objective, uint64_t seed) {
  Observations all;
  std::vector<std::string> names;
  std::vector<const TrialRecord*> used;
  for (const TrialPtr& t : trials) {
    if (t->state != TrialState::complete || t->values.size() <= objective || !std::isfinite(t->values[objective]))
      continue;
    used.push_back(t.get());
    all.values.push_back(t->values[objective]);
    for (const TrialParameter& p : t->parameters)
      if (std::ranges::find(names, p.name) == names.end() && !p.distribution->is_single()) {
        names.push_back(p.name);
        all.is_category.push_back(p.distribution->is_category());
      }
  }
  if (used.size() < kFewestTrials) return {};
  for (const std::string& name : names) {
    std::vector<double>& column = all.columns.emplace_back();
    for (const TrialRecord* t : used) {
      const TrialParameter* p = t->find(name);
      column.push_back(p ? p->value : -INFINITY);
    }
  }
  std::vector<double> growth(names.size(), 0);
  for (int tree = 0; tree < kTrees; ++tree) {
    Philox rng(seed, static_cast<uint64_t>(tree));
    add_growth(all, rng, growth);
  }
  for (double& g : growth) g = std::max(g, 0.0);
  const double sum = std::accumulate(growth.begin(), growth.end(), 0.0);
  std::vector<Importance> result;
  for (size_t p = 0; p < names.size(); ++p) result.push_back({names[p], sum > 0 ? growth[p] / sum : 0});
  std::ranges::stable_sort(result, std::greater<>(), &Importance::share);
  return result;
}

}  // namespace hone

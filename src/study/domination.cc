#include "study/domination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "study/study.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// By slices along the last objective: each slice is a hypervolume of one objective less of the points at or before it.
double volume(Points points, std::span<const double> reference, size_t objectives) {
  std::erase_if(points, [&](const std::vector<double>& p) {
    for (size_t i = 0; i < objectives; ++i)
      if (!(p[i] < reference[i])) return true;
    return false;
  });
  if (points.empty()) return 0;
  if (objectives == 1)
    return reference[0] - (*std::ranges::min_element(points, {}, [](const auto& p) { return p[0]; }))[0];
  const size_t last = objectives - 1;
  std::ranges::sort(points, {}, [&](const std::vector<double>& p) { return p[last]; });
  if (objectives == 2) {
    double sum = 0, least = reference[0];
    for (size_t i = 0; i < points.size(); ++i) {
      least = std::min(least, points[i][0]);
      const double end = i + 1 < points.size() ? points[i + 1][1] : reference[1];
      sum += (end - points[i][1]) * (reference[0] - least);
    }
    return sum;
  }
  double sum = 0;
  Points below;
  for (size_t i = 0; i < points.size(); ++i) {
    below.push_back(points[i]);
    const double end = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    if (end > points[i][last]) sum += (end - points[i][last]) * volume(below, reference, last);
  }
  return sum;
}

}  // namespace

Points losses_of(std::span<const TrialPtr> trials, std::span<const Direction> directions) {
  Points points;
  for (const TrialPtr& trial : trials) {
    points.push_back(trial->values);
    for (size_t i = 0; i < directions.size(); ++i)
      if (directions[i] == Direction::maximize) points.back()[i] *= -1;
  }
  return points;
}

bool dominates(std::span<const double> a, std::span<const double> b) {
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    better |= a[i] < b[i];
  }
  return better;
}

std::vector<int> domination_ranks(const Points& points) {
  // In lexicographic order a point can only be dominated by one before it: each goes to the first front none of whose
  // points dominates it.
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return points[a] < points[b]; });
  std::vector<std::vector<size_t>> fronts;
  std::vector<int> ranks(points.size());
  for (size_t i : order) {
    const auto free = [&](const std::vector<size_t>& front) {
      return std::ranges::none_of(front, [&](size_t j) { return dominates(points[j], points[i]); });
    };
    // What is dominated by a front is dominated by those before it.
    auto at = std::ranges::partition_point(fronts, [&](const auto& front) { return !free(front); });
    if (at == fronts.end()) at = fronts.insert(at, std::vector<size_t>());
    at->push_back(i);
    ranks[i] = static_cast<int>(at - fronts.begin());
  }
  return ranks;
}

double hypervolume(Points points, std::span<const double> reference) {
  for (const auto& p : points)
    for (double v : p)
      if (v == -kInfinity) return kInfinity;
  for (double r : reference)
    if (std::isinf(r)) return kInfinity;
  return volume(std::move(points), reference, reference.size());
}

std::vector<double> reference_point(const Points& points) {
  std::vector<double> reference = points.at(0);
  for (const auto& p : points)
    for (size_t i = 0; i < p.size(); ++i) reference[i] = std::max(reference[i], p[i]);
  for (double& r : reference) {
    r = std::max(1.1 * r, 0.9 * r);
    if (r == 0) r = 1e-12;
  }
  return reference;
}

std::vector<size_t> hypervolume_subset(const Points& points, size_t count, std::span<const double> reference) {
  std::vector<size_t> chosen;
  const bool finite = std::ranges::all_of(reference, [](double r) { return std::isfinite(r); });
  if (!finite || count >= points.size()) {
    for (size_t i = 0; i < std::min(count, points.size()); ++i) chosen.push_back(i);
    return chosen;
  }
  // What a point adds only shrinks as others are chosen: a bound from before is looked at again only while it is
  // largest.
  std::vector<double> bound(points.size());
  for (size_t i = 0; i < points.size(); ++i) bound[i] = hypervolume({points[i]}, reference);
  std::vector<bool> taken(points.size());
  Points selected;
  double have = 0;
  while (chosen.size() < count) {
    size_t best = points.size();
    double most = -1;
    for (size_t i = 0; i < points.size(); ++i) {
      if (taken[i] || bound[i] <= most) continue;
      Points with = selected;
      with.push_back(points[i]);
      bound[i] = hypervolume(std::move(with), reference) - have;
      if (bound[i] > most) most = bound[i], best = i;
    }
    taken[best] = true;
    have += most;
    selected.push_back(points[best]);
    chosen.push_back(best);
  }
  return chosen;
}

std::vector<double> crowding_distances(const Points& points) {
  std::vector<double> distances(points.size(), 0);
  if (points.empty()) return distances;
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t k = 0; k < points[0].size(); ++k) {
    std::ranges::stable_sort(order, {}, [&](size_t i) { return points[i][k]; });
    const double low = points[order.front()][k], high = points[order.back()][k];
    if (low == high) continue;  // says nothing of any
    distances[order.front()] = distances[order.back()] = kInfinity;
    for (size_t i = 1; i + 1 < order.size(); ++i) {
      const double gap = points[order[i + 1]][k] - points[order[i - 1]][k];
      distances[order[i]] += std::isinf(high - low) ? 0 : gap / (high - low);
    }
  }
  return distances;
}

std::vector<TrialPtr> pareto_front(std::span<const TrialPtr> trials, std::span<const Direction> directions) {
  std::vector<TrialPtr> complete, front;
  if (directions.empty()) return front;
  for (const TrialPtr& trial : trials)
    if (trial->state == TrialState::complete && trial->values.size() == directions.size() && trial->violation() == 0)
      complete.push_back(trial);
  const Points points = losses_of(complete, directions);
  if (directions.size() == 1) {
    const auto best = std::ranges::min_element(points);
    if (best != points.end()) front.push_back(complete[static_cast<size_t>(best - points.begin())]);
    return front;
  }
  const std::vector<int> ranks = domination_ranks(points);
  for (size_t i = 0; i < complete.size(); ++i)
    if (ranks[i] == 0) front.push_back(complete[i]);
  return front;
}

}  // namespace hone

#include "measure/boxes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace hone {

double intersection_over_union(const Box& a, const Box& b) {
  const auto area = [](const Box& box) {
    return (static_cast<double>(box.x2) - box.x1) * (static_cast<double>(box.y2) - box.y1);
  };
  const double width = std::min<double>(a.x2, b.x2) - std::max<double>(a.x1, b.x1),
               height = std::min<double>(a.y2, b.y2) - std::max<double>(a.y1, b.y1);
  const double both = width * height, either = area(a) + area(b) - both;
  return width > 0 && height > 0 && either > 0 && std::isfinite(either) ? both / either : 0;
}

BoxMatches match_boxes(std::span<const Box> reference, std::span<const Box> candidate, double least_iou) {
  BoxMatches matches{.reference = std::ssize(reference), .candidate = std::ssize(candidate)};
  std::vector<size_t> order(candidate.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return candidate[a].score > candidate[b].score; });
  std::vector<bool> taken(reference.size());
  for (size_t c : order) {
    double best = 0;
    size_t with = 0;
    for (size_t r = 0; r < reference.size(); ++r) {
      if (taken[r] || reference[r].label != candidate[c].label) continue;
      if (const double iou = intersection_over_union(reference[r], candidate[c]); iou > best) best = iou, with = r;
    }
    if (best <= 0 || best < least_iou) continue;
    taken[with] = true;
    ++matches.matched;
    matches.iou += best;
  }
  return matches;
}

}  // namespace hone

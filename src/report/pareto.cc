#include "report/pareto.h"

#include <algorithm>

namespace hone {

std::vector<Point> pareto_front(std::vector<Point> points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y > b.y; });
  std::vector<Point> front;
  for (Point& p : points)
    if (front.empty() || p.y > front.back().y) front.push_back(std::move(p));
  return front;
}

}  // namespace hone

#include "report/labels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hone {
namespace {

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return std::max(0.0, width) * std::max(0.0, height);
}

bool inside(const Box& box, const Box& area) {
  return box.x >= area.x && box.y >= area.y && box.x + box.width <= area.x + area.width &&
         box.y + box.height <= area.y + area.height;
}

// The box whose nearest edge or corner is `distance` from the point in the given direction (radians, 0 = right,
// clockwise).
Box box_at(const LabelRequest& r, double angle, double distance) {
  const double width = label_width(r.text), dx = std::cos(angle), dy = std::sin(angle);
  return {r.x + dx * distance + (dx - 1) / 2 * width, r.y + dy * distance + (dy - 1) / 2 * kLabelHeight, width,
          kLabelHeight};
}

}  // namespace

double label_width(const std::string& text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  return 4 + 7.0 * static_cast<double>(text.size() -
                                       static_cast<size_t>(std::count_if(text.begin(), text.end(), continues)));
}

std::vector<PlacedLabel> place_labels(const std::vector<LabelRequest>& requests, const Box& area,
                                      const std::vector<Box>& obstacles) {
  // Right, left, above, below, then the diagonals.
  constexpr double kTurn = std::numbers::pi / 4;
  constexpr double kAngles[] = {0, 4 * kTurn, 6 * kTurn, 2 * kTurn, 7 * kTurn, 5 * kTurn, kTurn, 3 * kTurn};
  std::vector<Box> taken = obstacles;
  for (const LabelRequest& r : requests)
    taken.push_back({r.x - kPointRadius, r.y - kPointRadius, 2 * kPointRadius, 2 * kPointRadius});
  std::vector<PlacedLabel> placed;
  for (const LabelRequest& request : requests) {
    PlacedLabel best;
    double best_cost = -1;
    for (double distance = kPointRadius + 3; distance < 120 && best_cost != 0; distance += 12) {
      for (double angle : kAngles) {
        const Box box = box_at(request, angle, distance);
        double cost = inside(box, area) ? 0 : 1e6;
        for (const Box& other : taken) cost += overlap(box, other);
        if (best_cost >= 0 && cost >= best_cost) continue;
        best_cost = cost;
        best = {box, distance > kPointRadius + 10};
        if (cost == 0) break;
      }
    }
    taken.push_back(best.box);
    placed.push_back(best);
  }
  return placed;
}

}  // namespace hone

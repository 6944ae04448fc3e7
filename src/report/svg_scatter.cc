#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/number_text.h"
#include "report/pareto.h"
#include "report/svg.h"
#include "report/svg_canvas.h"

namespace hone {
namespace {

constexpr Box kArea{72, 20, 660, 340};
constexpr double kLegend = 160;  // to the right of the area

std::string describe_point(const Point& p, const ScatterPlot& plot) {
  return fmt::format("{}: {} {}, {} {}", p.label.empty() ? p.group : p.label,
                     title_with_unit(plot.x.title, plot.x.unit), number_text(p.x, {}),
                     title_with_unit(plot.y.title, plot.y.unit),
                     cell_text(Number{p.y, p.y_interval}, {NumberFormat::significant, 4}));
}

std::string describe(const ScatterPlot& plot) {
  std::string text;
  for (const Point& p : plot.points) text += describe_point(p, plot) + ". ";
  return text;
}

// A staircase: between two points of the front the better one known is the one to the left. Corners, from the first
// point to the right border.
std::vector<std::pair<double, double>> staircase(const std::vector<Point>& front, const AxisScale& x,
                                                 const AxisScale& y) {
  std::vector<std::pair<double, double>> corners;
  for (const Point& p : front) {
    if (!corners.empty()) corners.emplace_back(x.place(p.x), corners.back().second);
    corners.emplace_back(x.place(p.x), y.place(p.y));
  }
  corners.emplace_back(kArea.x + kArea.width, corners.back().second);
  return corners;
}

std::string path_of(const std::vector<std::pair<double, double>>& corners) {
  std::string path;
  for (const auto& [x, y] : corners) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x, y);
  return path;
}

// The lines as thin boxes, for labels to keep clear of.
std::vector<Box> boxes_of(const std::vector<std::pair<double, double>>& corners) {
  std::vector<Box> boxes;
  for (size_t i = 1; i < corners.size(); ++i) {
    const auto [x1, y1] = corners[i - 1];
    const auto [x2, y2] = corners[i];
    boxes.push_back({std::min(x1, x2) - 1, std::min(y1, y2) - 1, std::abs(x2 - x1) + 2, std::abs(y2 - y1) + 2});
  }
  return boxes;
}

// In the order in which they come.
std::vector<std::string> groups_of(const ScatterPlot& plot) {
  std::vector<std::string> groups;
  for (const Point& p : plot.points)
    if (!p.group.empty() && std::ranges::find(groups, p.group) == groups.end()) groups.push_back(p.group);
  return groups;
}

void legend(SvgCanvas& canvas, const std::vector<std::string>& groups) {
  const double left = kArea.x + kArea.width + 20;
  for (size_t i = 0; i < groups.size(); ++i) {
    const double y = kArea.y + 12 + 20 * static_cast<double>(i);
    canvas.circle(left, y - 4, kPointRadius, palette(i));
    canvas.text(left + 12, y, groups[i]);
  }
}

}  // namespace

std::string svg(const ScatterPlot& plot) {
  std::vector<double> xs, ys;
  for (const Point& p : plot.points) {
    xs.push_back(p.x), ys.push_back(p.y);
    if (p.y_interval) ys.push_back(p.y_interval->low), ys.push_back(p.y_interval->high);
  }
  const AxisScale x(plot.x, xs, kArea.x, kArea.x + kArea.width), y(plot.y, ys, kArea.y + kArea.height, kArea.y);
  const std::vector<std::string> groups = groups_of(plot);
  const double legend_height = kArea.y + 20 * static_cast<double>(groups.size()) + 8;
  SvgCanvas canvas(kArea.x + kArea.width + (groups.empty() ? 28 : kLegend),
                   std::max(kArea.y + kArea.height + 52, legend_height), plot.title, describe(plot));
  canvas.axes(kArea, plot.x, x, plot.y, y);
  const std::vector<Point> front = pareto_front(plot.points);
  std::vector<Box> obstacles;
  if (plot.pareto && front.size() > 1) {
    const auto corners = staircase(front, x, y);
    canvas.path(path_of(corners), palette(5), true);
    obstacles = boxes_of(corners);
  }

  std::vector<LabelRequest> requests;
  for (const Point& p : plot.points)
    if (p.y_interval) {
      const double top = y.place(p.y_interval->high), bottom = y.place(p.y_interval->low);
      obstacles.push_back({x.place(p.x) - 1, top, 2, bottom - top});
    }
  for (const Point& p : plot.points)
    if (!p.label.empty()) requests.push_back({x.place(p.x), y.place(p.y), p.label});
  const std::vector<PlacedLabel> labels = place_labels(requests, kArea, obstacles);
  for (size_t i = 0; i < labels.size(); ++i) {
    const Box& box = labels[i].box;
    if (labels[i].far)
      canvas.line(requests[i].x, requests[i].y, box.x + box.width / 2, box.y + box.height / 2 + 5, "currentColor", 0.7,
                  0.35);
    canvas.text(box.x + box.width / 2, box.y + 12, requests[i].text, "middle");
  }
  for (const Point& p : plot.points) {
    const double px = x.place(p.x), py = y.place(p.y);
    const bool best = std::any_of(front.begin(), front.end(), [&](const Point& f) { return f.x == p.x && f.y == p.y; });
    if (p.y_interval)
      canvas.line(px, y.place(p.y_interval->low), px, y.place(p.y_interval->high), palette(0), 1.5, 0.6);
    const bool fades = plot.pareto && !best;  // grey; what has the colour of a group is smaller
    if (p.group.empty()) {
      canvas.circle(px, py, kPointRadius, palette(fades ? 5 : 0), describe_point(p, plot));
    } else {
      const auto group = static_cast<size_t>(std::ranges::find(groups, p.group) - groups.begin());
      canvas.circle(px, py, fades ? kPointRadius / 2 : kPointRadius, palette(group), describe_point(p, plot));
    }
  }
  legend(canvas, groups);
  return canvas.finish();
}

}  // namespace hone

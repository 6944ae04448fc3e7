#include <fmt/format.h>

#include <algorithm>

#include "report/number_text.h"
#include "report/svg.h"
#include "report/svg_canvas.h"

namespace hone {
namespace {

constexpr Box kArea{72, 20, 560, 320};
constexpr double kLegend = 160;  // to the right of the area

std::string describe(const LinePlot& plot) {
  std::string text = fmt::format("{} against {}.", plot.y.title, plot.x.title);
  for (const Line& line : plot.lines) {
    if (line.points.empty()) continue;
    text += fmt::format(" {}: from {} to {}.", line.label, number_text(line.points.front().second, {}),
                        number_text(line.points.back().second, {}));
  }
  return text;
}

}  // namespace

std::string svg(const LinePlot& plot) {
  std::vector<double> xs, ys;
  for (const Line& line : plot.lines)
    for (const auto& [px, py] : line.points) xs.push_back(px), ys.push_back(py);
  const AxisScale x(plot.x, xs, kArea.x, kArea.x + kArea.width), y(plot.y, ys, kArea.y + kArea.height, kArea.y);
  const double legend_height = kArea.y + 20 * static_cast<double>(plot.lines.size()) + 8;
  SvgCanvas canvas(kArea.x + kArea.width + kLegend, std::max(kArea.y + kArea.height + 52, legend_height), plot.title,
                   describe(plot));
  canvas.axes(kArea, plot.x, x, plot.y, y);
  double legend_y = kArea.y + 12;
  for (size_t i = 0; i < plot.lines.size(); ++i, legend_y += 20) {
    const Line& line = plot.lines[i];
    const bool dashed = i / std::size(kPalette) % 2 == 1;  // the colours come again
    std::string path;
    for (const auto& [px, py] : line.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x.place(px), y.place(py));
    if (!path.empty()) canvas.path(path, palette(i), dashed);
    if (line.points.size() <= 40)
      for (const auto& [px, py] : line.points)
        canvas.circle(x.place(px), y.place(py), 3, palette(i),
                      fmt::format("{}: {}, {}", line.label, number_text(px, {}), number_text(py, {})));
    const double left = kArea.x + kArea.width + 14;
    canvas.path(fmt::format("M{0:.1f} {1:.1f}L{2:.1f} {1:.1f}", left, legend_y - 4, left + 18), palette(i), dashed);
    canvas.text(left + 24, legend_y, line.label);
  }
  return canvas.finish();
}

}  // namespace hone

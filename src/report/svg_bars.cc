// Few bars lie, each beside its label. Many stand close together; then the lowest are named and the others say their
// name when pointed at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/number_text.h"
#include "report/svg.h"
#include "report/svg_canvas.h"

namespace hone {
namespace {

constexpr size_t kMostLyingBars = 24, kNamed = 3;

std::string value_with_unit(const Bar& bar, const BarChart& chart) {
  return number_text(bar.value, {}) + (chart.value.unit.empty() ? "" : " " + chart.value.unit);
}
std::string tooltip(const Bar& bar, const BarChart& chart) {
  return fmt::format("{}: {}", bar.label, value_with_unit(bar, chart));
}

// The groups in order of appearance; a bar's colour is its group's place.
std::vector<std::string> groups_of(const BarChart& chart) {
  std::vector<std::string> groups;
  for (const Bar& bar : chart.bars)
    if (std::find(groups.begin(), groups.end(), bar.group) == groups.end()) groups.push_back(bar.group);
  return groups;
}
const char* colour_of(const Bar& bar, const std::vector<std::string>& groups) {
  return palette(static_cast<size_t>(std::find(groups.begin(), groups.end(), bar.group) - groups.begin()));
}

void legend(SvgCanvas& canvas, const std::vector<std::string>& groups, double x, double y) {
  if (groups.size() < 2) return;
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string name = groups[i].empty() ? "other" : groups[i];
    canvas.rect({x, y - 10, 11, 11}, palette(i));
    canvas.text(x + 16, y, name);
    x += 34 + label_width(name);
  }
}

std::vector<double> values_of(const BarChart& chart) {
  std::vector<double> values;
  for (const Bar& bar : chart.bars) values.push_back(bar.value);
  return values;
}

std::vector<size_t> lowest_first(const BarChart& chart) {
  std::vector<size_t> order(chart.bars.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return chart.bars[a].value < chart.bars[b].value; });
  std::erase_if(order, [&](size_t i) { return !std::isfinite(chart.bars[i].value); });
  return order;
}

std::string describe(const BarChart& chart) {
  const std::vector<size_t> order = lowest_first(chart);
  if (order.empty()) return fmt::format("{} bars", chart.bars.size());
  return fmt::format("{} bars; lowest {}; highest {}", chart.bars.size(), tooltip(chart.bars[order.front()], chart),
                     tooltip(chart.bars[order.back()], chart));
}

std::string lying_bars(const BarChart& chart) {
  constexpr double kRow = 22, kTop = 34;
  double label = 60;
  for (const Bar& bar : chart.bars) label = std::max(label, label_width(bar.label));
  const double left = std::min(label, 330.0) + 12, width = 420,
               height = kTop + kRow * static_cast<double>(chart.bars.size()) + 34;
  const AxisScale scale(Axis{chart.value.title}, values_of(chart), left, left + width, true);
  const std::vector<std::string> groups = groups_of(chart);
  SvgCanvas canvas(left + width + 90, height, chart.title, describe(chart));
  legend(canvas, groups, left, 16);
  for (double tick : scale.ticks()) {
    canvas.line(scale.place(tick), kTop - 6, scale.place(tick), height - 34, "currentColor", 1, 0.13);
    canvas.text(scale.place(tick), height - 20, scale.tick_text(tick), "middle", 11, true);
  }
  canvas.text(left + width / 2, height - 3, title_with_unit(chart.value.title, chart.value.unit), "middle", 12, true);
  double y = kTop;
  for (const Bar& bar : chart.bars) {
    canvas.text(left - 8, y + 13, bar.label, "end");
    if (std::isfinite(bar.value)) {
      const double zero = scale.place(0), end = scale.place(bar.value);
      canvas.rect({std::min(zero, end), y + 2, std::abs(end - zero), kRow - 6}, colour_of(bar, groups),
                  tooltip(bar, chart));
      canvas.text(std::max(zero, end) + 6, y + 13, value_with_unit(bar, chart), "start", 11, true);
    } else {
      canvas.text(scale.place(0) + 6, y + 13, number_text(bar.value, {}), "start", 11, true);
    }
    y += kRow;
  }
  return canvas.finish();
}

std::string standing_bars(const BarChart& chart) {
  constexpr Box kArea{72, 44, 860, 280};
  const AxisScale scale(Axis{chart.value.title}, values_of(chart), kArea.y + kArea.height, kArea.y, true);
  const std::vector<std::string> groups = groups_of(chart);
  const std::vector<size_t> order = lowest_first(chart);
  const size_t named = std::min(kNamed, order.size());
  SvgCanvas canvas(kArea.x + kArea.width + 20, kArea.y + kArea.height + 40 + 18 * static_cast<double>(named),
                   chart.title, describe(chart));
  legend(canvas, groups, kArea.x, 16);
  canvas.vertical_axis(kArea, chart.value, scale);
  const double pitch = kArea.width / static_cast<double>(chart.bars.size()), zero = scale.place(0);
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double x = kArea.x + pitch * static_cast<double>(i),
                 end = std::isfinite(bar.value) ? scale.place(bar.value) : zero;
    canvas.rect({x + 0.1 * pitch, std::min(zero, end), 0.8 * pitch, std::abs(end - zero)}, colour_of(bar, groups),
                tooltip(bar, chart));
  }
  canvas.line(kArea.x, zero, kArea.x + kArea.width, zero, "currentColor", 1, 0.5);
  double y = kArea.y + kArea.height + 30;
  for (size_t rank = 0; rank < named; ++rank, y += 18) {
    const Bar& bar = chart.bars[order[rank]];
    const std::string mark = fmt::format("{}", rank + 1);
    const double x = kArea.x + pitch * (static_cast<double>(order[rank]) + 0.5);
    canvas.text(x, scale.place(std::max(bar.value, 0.0)) - 5, mark, "middle", 11);
    canvas.text(kArea.x, y, fmt::format("{}{}  {}", mark, rank == 0 ? " (lowest)" : "", tooltip(bar, chart)), "start",
                12, true);
  }
  return canvas.finish();
}

}  // namespace

std::string svg(const BarChart& chart) {
  return chart.bars.size() <= kMostLyingBars ? lying_bars(chart) : standing_bars(chart);
}

}  // namespace hone

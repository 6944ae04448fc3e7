#include "report/study_drawings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "measure/statistics.h"
#include "report/axis_scale.h"
#include "report/number_text.h"
#include "report/svg_canvas.h"

namespace hone {
namespace {

constexpr Box kArea{72, 20, 560, 320};
constexpr double kLegend = 190;  // to the right of the area

struct Band {
  std::vector<double> low, middle, high;
};

Band band_of(const StudyCurve& curve) {
  Band band;
  size_t length = curve.runs.empty() ? 0 : SIZE_MAX;
  for (const std::vector<double>& run : curve.runs) length = std::min(length, run.size());
  for (size_t i = 0; i < length; ++i) {
    std::vector<double> at;
    for (const std::vector<double>& run : curve.runs) at.push_back(run[i]);
    const auto [low, high] = std::ranges::minmax(at);
    band.low.push_back(low), band.high.push_back(high), band.middle.push_back(median(at));
  }
  return band;
}

// From cool to warm.
std::string colour_of(double goodness) {
  const double t = std::isfinite(goodness) ? std::clamp(goodness, 0.0, 1.0) : 0;
  const auto mix = [&](int from, int to) { return from + static_cast<int>(std::lround(t * (to - from))); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0x6b, 0xd0), mix(0x8f, 0x5a), mix(0xc9, 0x1e));
}

const char* colour_of_state(const std::string& state) {
  if (state == "complete") return palette(2);
  if (state == "pruned") return palette(1);
  return state == "failed" ? palette(4) : palette(5);
}

}  // namespace

Drawing best_so_far_drawing(std::string key, const Axis& value, const std::vector<StudyCurve>& curves) {
  std::vector<Band> bands;
  std::vector<double> xs{1}, ys;
  std::string description = fmt::format("Best {} so far, by trial.", value.title);
  for (const StudyCurve& curve : curves) {
    bands.push_back(band_of(curve));
    const Band& b = bands.back();
    if (b.middle.empty()) continue;
    xs.push_back(static_cast<double>(b.middle.size()));
    ys.insert(ys.end(), b.low.begin(), b.low.end());
    ys.insert(ys.end(), b.high.begin(), b.high.end());
    description += fmt::format(" {}: {} after {} trials{}.", curve.label,
                               number_text(b.middle.back(), {NumberFormat::significant, 4}), b.middle.size(),
                               curve.runs.size() > 1 ? fmt::format(", median of {} seeds", curve.runs.size()) : "");
  }
  const Axis trials{.title = "complete trials"};
  const AxisScale x(trials, xs, kArea.x, kArea.x + kArea.width), y(value, ys, kArea.y + kArea.height, kArea.y);
  const std::string title = "Best so far";
  SvgCanvas canvas(kArea.x + kArea.width + kLegend,
                   std::max(kArea.y + kArea.height + 52, kArea.y + 20 * static_cast<double>(curves.size()) + 8), title,
                   description);
  canvas.axes(kArea, trials, x, value, y);
  for (size_t i = 0; i < curves.size(); ++i) {
    const Band& b = bands[i];
    std::string line, area;
    for (size_t n = 0; n < b.middle.size(); ++n) {
      const double at = x.place(static_cast<double>(n + 1));
      line += fmt::format("{}{:.1f} {:.1f}", n == 0 ? 'M' : 'L', at, y.place(b.middle[n]));
      area += fmt::format("{}{:.1f} {:.1f}", n == 0 ? 'M' : 'L', at, y.place(b.high[n]));
    }
    for (size_t n = b.middle.size(); n-- > 0;)
      area += fmt::format("L{:.1f} {:.1f}", x.place(static_cast<double>(n + 1)), y.place(b.low[n]));
    const bool dashed = i / std::size(kPalette) % 2 == 1;  // the colours come again
    if (curves[i].runs.size() > 1 && !area.empty()) canvas.area(area, palette(i), 0.18);
    if (!line.empty()) canvas.path(line, palette(i), dashed);
    const double left = kArea.x + kArea.width + 14, legend = kArea.y + 12 + 20 * static_cast<double>(i);
    canvas.path(fmt::format("M{0:.1f} {1:.1f}L{2:.1f} {1:.1f}", left, legend - 4, left + 18), palette(i), dashed);
    canvas.text(left + 24, legend, curves[i].label);
  }
  return {.key = std::move(key), .title = title, .svg = canvas.finish(), .description = description};
}

Drawing parallel_drawing(std::string key, std::string title, const std::vector<ParallelAxis>& axes,
                         const std::vector<ParallelLine>& lines) {
  constexpr double kTop = 46, kHeight = 280, kPitch = 130, kLeft = 90;
  constexpr size_t kLabels = 16;  // of an axis: more would lie on each other
  const double width = kLeft + kPitch * static_cast<double>(std::max<size_t>(axes.size(), 1) - 1) + 110;
  const std::string description =
      fmt::format("{} trials over {} axes; the warmer a line, the nearer its trial is to the objective.", lines.size(),
                  axes.size());
  SvgCanvas canvas(width, kTop + kHeight + 30, title, description);
  std::vector<AxisScale> scales;
  for (size_t a = 0; a < axes.size(); ++a) {
    std::vector<double> values;
    for (const ParallelLine& line : lines)
      if (std::isfinite(line.values.at(a))) values.push_back(line.values[a]);
    for (size_t i = 0; i < axes[a].labels.size(); ++i) values.push_back(static_cast<double>(i));
    scales.emplace_back(Axis{.title = axes[a].title, .unit = {}, .logarithmic = axes[a].logarithmic}, values,
                        kTop + kHeight, kTop);
  }
  const auto at = [&](size_t a) { return kLeft + kPitch * static_cast<double>(a); };
  std::vector<size_t> order(lines.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) { return lines[i].goodness; });  // the best are drawn last
  for (size_t i : order) {
    std::string path;
    bool joined = false;
    for (size_t a = 0; a < axes.size(); ++a) {
      const double value = lines[i].values[a];
      if (!std::isfinite(value)) {
        joined = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", joined ? 'L' : 'M', at(a), scales[a].place(value));
      joined = true;
    }
    if (!path.empty()) canvas.path(path, colour_of(lines[i].goodness));
  }
  for (size_t a = 0; a < axes.size(); ++a) {
    canvas.line(at(a), kTop, at(a), kTop + kHeight, "currentColor", 1, 0.6);
    canvas.text(at(a), a % 2 == 0 ? 16.0 : 32.0, axes[a].title, "middle", 11);
    if (axes[a].labels.empty()) {
      for (double tick : scales[a].ticks())
        canvas.text(at(a) + 5, scales[a].place(tick) + 4, scales[a].tick_text(tick), "start", 10, true);
    } else {
      const size_t every = (axes[a].labels.size() + kLabels - 1) / kLabels;
      for (size_t i = 0; i < axes[a].labels.size(); i += every)
        canvas.text(at(a) + 5, scales[a].place(static_cast<double>(i)) + 4, axes[a].labels[i], "start", 10, true);
    }
  }
  return {.key = std::move(key), .title = std::move(title), .svg = canvas.finish(), .description = description};
}

Drawing timeline_drawing(std::string key, const std::vector<TimelineBar>& bars) {
  constexpr double kRow = 18, kTop = 20;
  std::vector<double> free_from;  // when each lane is free: as many as trials were under way at once
  std::vector<size_t> lanes;
  std::vector<double> times{0};
  for (const TimelineBar& bar : bars) {
    size_t lane = 0;
    while (lane < free_from.size() && free_from[lane] > bar.begin) ++lane;
    if (lane == free_from.size()) free_from.push_back(0);
    free_from[lane] = bar.end;
    lanes.push_back(lane);
    times.push_back(bar.end);
  }
  const Axis axis{.title = "time", .unit = "s"};
  const AxisScale x(axis, times, kArea.x, kArea.x + kArea.width + kLegend - 20);
  const double height = kRow * static_cast<double>(std::max<size_t>(free_from.size(), 1)), bottom = kTop + height + 6;
  const std::string title = "When trials ran",
                    description = fmt::format("{} trials, up to {} at once.", bars.size(), free_from.size());
  SvgCanvas canvas(kArea.x + kArea.width + kLegend, bottom + 52, title, description);
  for (size_t i = 0; i < bars.size(); ++i)
    canvas.rect({x.place(bars[i].begin), kTop + kRow * static_cast<double>(lanes[i]) + 2,
                 std::max(1.0, x.place(bars[i].end) - x.place(bars[i].begin) - 0.5), kRow - 4},
                colour_of_state(bars[i].state), bars[i].tooltip);
  for (double tick : x.ticks()) {
    canvas.line(x.place(tick), bottom, x.place(tick), bottom + 5, "currentColor", 1, 0.5);
    canvas.text(x.place(tick), bottom + 19, x.tick_text(tick), "middle", 11, true);
  }
  canvas.text(kArea.x + kArea.width / 2, bottom + 38, "time, s", "middle", 12, true);
  return {.key = std::move(key), .title = title, .svg = canvas.finish(), .description = description};
}

}  // namespace hone

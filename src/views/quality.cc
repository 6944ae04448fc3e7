#include "views/quality.h"

#include <fmt/format.h>

#include <cmath>

#include "jobs/evaluation.h"

namespace hone {
namespace {

NumberStyle figure_style(const Metric& metric) {
  return metric.def->is_share ? NumberStyle{NumberFormat::percent, 2} : NumberStyle{NumberFormat::significant, 4};
}

Cell figure_cell(const Estimate& figure) {
  if (!std::isfinite(figure.value)) return Cell("not finite");
  return figure.ci95 ? number(figure.value, *figure.ci95) : number(figure.value);
}

Number with_interval(double value, Interval ci95) {
  if (!std::isfinite(ci95.low) || !std::isfinite(ci95.high)) return {value};
  return {value, ci95};
}

}  // namespace

Axis quality_axis(const QualityScale& scale) {
  return scale.metric ? Axis{.title = scale.metric->title()} : Axis{.title = "output SQNR", .unit = "dB"};
}

Point quality_point(const QualityScale& scale, const std::string& label, double x, const OutputDistance& d) {
  if (d.figure) return {label, x, d.figure->value, d.figure->ci95};
  const Interval e = d.error_ci95;
  if (!std::isfinite(e.high)) return {label, x, scale.quality(d), std::nullopt};
  return {label, x, scale.quality(d), Interval{bounded_decibels(e.high), bounded_decibels(e.low)}};
}

Column quality_column(const QualityScale& scale, const std::string& key) {
  const Axis axis = quality_axis(scale);
  return {key, axis.title, axis.unit, scale.metric ? figure_style(*scale.metric) : NumberStyle{NumberFormat::fixed, 2}};
}

Cell quality_cell(const QualityScale& scale, const OutputDistance& d) {
  if (d.figure) return figure_cell(*d.figure);
  if (!std::isfinite(d.error)) return Cell("not finite");
  const Point point = quality_point(scale, "", 0, d);
  return Number{point.y, point.y_interval};
}

std::vector<Column> distance_columns(const QualityScale& scale, std::vector<Column> columns) {
  columns.push_back({"average_bits", "average bits", "", {NumberFormat::fixed, 3}});
  columns.push_back({"bytes", "weights", "", {NumberFormat::bytes, 3}});
  columns.push_back({"output_error", "output error", "", {NumberFormat::significant, 3}});
  columns.push_back({"output_sqnr_db", "output SQNR", "dB", {NumberFormat::fixed, 2}});
  if (scale.metric) {
    const std::string title = scale.metric->title();
    const NumberStyle style = figure_style(*scale.metric);
    columns.push_back({scale.key(), title, "", style});
    columns.push_back({scale.key() + "_difference", title + ", difference", "", style});
    columns.push_back({"selection_" + scale.key(), title + ", where chosen", "", style});
  } else {
    columns.push_back({"selection_error", "error, where chosen", "", {NumberFormat::significant, 3}});
  }
  return columns;
}

std::vector<Cell> distance_cells(const OutputDistance& held_out, const OutputDistance& selecting) {
  std::vector<Cell> cells;
  if (!std::isfinite(held_out.error)) cells = {Cell("not finite"), Cell()};
  else if (held_out.error == 0) cells = {number(0), Cell("exact")};
  else cells = {with_interval(held_out.error, held_out.error_ci95), number(decibels(held_out.error))};
  if (held_out.figure) {
    cells.push_back(figure_cell(*held_out.figure));
    cells.push_back(held_out.difference
                        ? figure_cell({.value = held_out.difference->value, .ci95 = held_out.difference->ci95})
                        : Cell());
    cells.push_back(figure_cell({.value = selecting.figure->value}));
  } else {
    cells.push_back(std::isfinite(selecting.error) ? number(selecting.error) : Cell("not finite"));
  }
  return cells;
}

std::string text_of(const QualityScale& scale, const OutputDistance& d) {
  std::string text = fmt::format("output error {:.3g}", d.error);
  if (std::isfinite(d.error_ci95.high) && d.error > 0)
    text += fmt::format(" ({:.3g}-{:.3g})", d.error_ci95.low, d.error_ci95.high);
  if (!d.figure) return text;
  text += fmt::format(", {} {}", scale.metric->title(),
                      figure_text(d.figure->value, d.figure->ci95, scale.metric->def->is_share));
  if (d.difference) text += ", against the original " + difference_text(*scale.metric, *d.difference);
  return text;
}

}  // namespace hone

// Distances of changed models from the original (jobs/quality_scale.h) in tables, plots and sentences.
#pragma once

#include <string>
#include <vector>

#include "jobs/quality_scale.h"
#include "report/record.h"

namespace hone {

Axis quality_axis(const QualityScale& scale);
Point quality_point(const QualityScale& scale, const std::string& label, double x, const OutputDistance& held_out);
Column quality_column(const QualityScale& scale, const std::string& key);
Cell quality_cell(const QualityScale& scale, const OutputDistance& held_out);  // with its interval

// The columns `first`, average bits, bytes, output error and SQNR, the metric, all of held-out data; and the quality on
// what selected. The cells from the output error on.
std::vector<Column> distance_columns(const QualityScale& scale, std::vector<Column> first);
std::vector<Cell> distance_cells(const OutputDistance& held_out, const OutputDistance& selecting);

// "output error 0.012 (0.010-0.014)", and the metric.
std::string text_of(const QualityScale& scale, const OutputDistance& held_out);

}  // namespace hone

#include "labs/training_curves.h"

namespace hone {

LinePlot training_curve(const LabResults& results, const std::string& step, const std::string& curve, LinePlot plot) {
  for (const Json& line : results.rows(step, curve)) {
    Line& drawn = plot.lines.emplace_back(Line{.label = name_in(line, "label")});
    for (const Json& point : line.at("points"))
      if (point.size() == 2 && point[0].is_number() && point[1].is_number())
        drawn.points.emplace_back(point[0].get<double>(), point[1].get<double>());
  }
  return plot;
}

Table epoch_table(const LinePlot& accuracy) {
  Table table{.key = "epochs",
              .title = "Accuracy after each epoch",
              .columns = {{.key = "validation", .title = "validation"},
                          {.key = "step", .title = "step", .style = {NumberFormat::integer, 0}},
                          {.key = "accuracy", .title = "accuracy", .style = {NumberFormat::percent, 2}}}};
  for (const Line& line : accuracy.lines)
    for (const auto& [step, share] : line.points)
      table.rows.push_back({std::to_string(table.rows.size() + 1), number(step), number(share)});
  return table;
}

}  // namespace hone

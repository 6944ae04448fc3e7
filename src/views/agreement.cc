#include "views/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

std::string output_finding(const OutputAgreement& o, const std::string& examples) {
  std::string line = fmt::format("{}: mean cosine {:.5f} to the original's, least {:.5f}, over {}", o.output,
                                 o.cosine.mean, o.cosine.min, examples);
  if (o.quality.not_finite > 0)
    line += fmt::format("; {} of {} values are NaN or infinite", o.quality.not_finite, o.quality.elements);
  if (o.same_class) line += fmt::format("; the same class for {:.1f} %", 100 * o.same_class->value);
  if (o.same_neighbour) line += fmt::format("; the same nearest neighbour for {:.1f} %", 100 * *o.same_neighbour);
  if (o.shared_neighbours && o.neighbours > 1)
    line += fmt::format(", {:.1f} % of the {} nearest", 100 * o.shared_neighbours->value, o.neighbours);
  return line;
}

Cell cell_of(const std::optional<Estimate>& e) {
  if (!e) return {};
  return e->ci95 ? number(e->value, *e->ci95) : number(e->value);
}

Table outputs_table(const std::vector<OutputAgreement>& outputs, const std::string& title) {
  const NumberStyle six{NumberFormat::fixed, 6}, three{NumberFormat::significant, 3}, percent{NumberFormat::percent, 1};
  Table table{.key = "agreement",
              .title = title,
              .columns = {{"output", "output"},
                          {"rows", "rows", "", {NumberFormat::integer, 0}},
                          {"cosine", "mean cosine", "", six},
                          {"least_cosine", "least cosine", "", six},
                          {"max_abs_error", "largest error", "", three},
                          {"sqnr_db", "SQNR", "dB", {NumberFormat::fixed, 1}}}};
  const auto any = [&](auto member) {
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const OutputAgreement& o) { return (o.*member).has_value(); });
  };
  const bool classes = any(&OutputAgreement::same_class), neighbours = any(&OutputAgreement::same_neighbour);
  if (classes) {
    table.columns.push_back({"same_class", "same class", "", percent});
    table.columns.push_back({"divergence", "KL divergence", "nats", three});
  }
  if (neighbours) {
    table.columns.push_back({"same_neighbour", "same neighbour", "", percent});
    table.columns.push_back({"shared_neighbours", "shared neighbours", "", percent});
    table.columns.push_back({"neighbours", "of nearest", "", {NumberFormat::integer, 0}});
  }
  for (const OutputAgreement& o : outputs) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row = {o.output,
           number(static_cast<double>(o.cosine.rows)),
           number(o.cosine.mean),
           number(o.cosine.min),
           number(o.quality.max_abs_error),
           std::isinf(o.quality.sqnr_db) ? Cell("exact") : number(o.quality.sqnr_db)};
    if (classes) row.push_back(cell_of(o.same_class)), row.push_back(cell_of(o.divergence));
    if (neighbours) {
      row.push_back(o.same_neighbour ? number(*o.same_neighbour) : Cell());
      row.push_back(cell_of(o.shared_neighbours));
      row.push_back(o.neighbours > 0 ? number(static_cast<double>(o.neighbours)) : Cell());
    }
    if (o.quality.not_finite > 0)
      table.note += fmt::format("{}{}: {} of {} elements are NaN or infinite.", table.note.empty() ? "" : "\n",
                                o.output, o.quality.not_finite, o.quality.elements);
  }
  return table;
}

Table boxes_table(const BoxAgreement& boxes, const std::string& title) {
  const NumberStyle count{NumberFormat::integer, 0}, percent{NumberFormat::percent, 1};
  const BoxMatches& m = boxes.matches;
  const auto whole = [](int64_t n) { return number(static_cast<double>(n)); };
  return {.key = "agreement_boxes",
          .title = title,
          .columns = {{"what", "answers"},
                      {"images", "images", "", count},
                      {"reference_boxes", "boxes of the reference", "", count},
                      {"candidate_boxes", "of the candidate", "", count},
                      {"matched", "matched", "", count},
                      {"precision", "precision", "", percent},
                      {"recall", "recall", "", percent},
                      {"mean_iou", "mean IoU", "", {NumberFormat::fixed, 3}}},
          .rows = {{"boxes", whole(boxes.images), whole(m.reference), whole(m.candidate), whole(m.matched),
                    cell_of(boxes.precision), cell_of(boxes.recall),
                    m.matched > 0 ? number(m.iou / static_cast<double>(m.matched)) : Cell()}},
          .note = fmt::format("Boxes of a score of at least {:g}, paired within image and label where their IoU is at "
                              "least {:g}: by falling score, each with the free one that it overlaps most.",
                              boxes.least_score, boxes.least_iou)};
}

}  // namespace

std::vector<std::string> findings_of(const Agreement& agreement, const std::string& examples) {
  std::vector<std::string> findings;
  for (const OutputAgreement& o : agreement.outputs) findings.push_back(output_finding(o, examples));
  if (const auto& boxes = agreement.boxes)
    findings.push_back(
        fmt::format("{:.1f} % of its boxes are the original's, and {:.1f} % of the original's are found, over {}",
                    100 * boxes->precision.value, 100 * boxes->recall.value, examples));
  return findings;
}

std::vector<Block> agreement_tables(const Agreement& agreement, const std::string& title) {
  std::vector<Block> tables;
  if (!agreement.outputs.empty()) tables.push_back(outputs_table(agreement.outputs, title));
  if (agreement.boxes) tables.push_back(boxes_table(*agreement.boxes, title));
  return tables;
}

}  // namespace hone

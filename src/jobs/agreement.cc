#include "jobs/agreement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

// Values of an output over all runs, one after the other.
struct Collected {
  std::vector<float> values;
  int64_t width = 1;       // of a row
  bool embedding = false;  // rank 2
};

void collect(std::vector<Collected>& all, const std::vector<Tensor>& outputs) {
  const bool first = all.empty();
  all.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<int64_t>& shape = outputs[i].shape();
    const int64_t width = shape.empty() ? 1 : shape.back();
    if (width == 0 || (!first && width != all[i].width))
      fail("output {}: rows of {} elements after rows of {}; agreement needs rows of one length above 0", i, width,
           all[i].width);
    all[i].width = width;
    all[i].embedding = shape.size() == 2;
    const std::vector<float> values = outputs[i].to_floats();
    all[i].values.insert(all[i].values.end(), values.begin(), values.end());
  }
}

// For each row the other row with the largest cosine, the first of equals.
std::vector<int64_t> nearest_others(const Collected& c) {
  const int64_t rows = static_cast<int64_t>(c.values.size()) / c.width;
  const auto row = [&](int64_t r) {
    return std::span(c.values).subspan(static_cast<size_t>(r * c.width), static_cast<size_t>(c.width));
  };
  std::vector<int64_t> nearest(static_cast<size_t>(rows), -1);
  for (int64_t i = 0; i < rows; ++i) {
    double best = -2;
    for (int64_t j = 0; j < rows; ++j)
      if (j != i)
        if (const double cosine = row_cosine(row(i), row(j), c.width).mean; cosine > best)
          best = cosine, nearest[static_cast<size_t>(i)] = j;
  }
  return nearest;
}

double same_share(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  int64_t same = 0;
  for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
  return static_cast<double>(same) / static_cast<double>(a.size());
}

constexpr int64_t kFewestRows = 3;  // with two, the nearest other row is always the same

OutputAgreement compare_output(const std::string& name, const Collected& a, const Collected& b) {
  if (a.values.size() != b.values.size() || a.width != b.width)
    fail("output \"{}\" has {} values in rows of {} in one model and {} in rows of {} in the other", name,
         a.values.size(), a.width, b.values.size(), b.width);
  OutputAgreement result{.output = name,
                         .quality = compare(a.values, b.values),
                         .cosine = row_cosine(a.values, b.values, a.width),
                         .same_class = std::nullopt,
                         .same_neighbour = std::nullopt};
  if (name == "logits") result.same_class = top1_agreement(a.values, b.values, a.width);
  else if (a.embedding && result.cosine.rows >= kFewestRows)
    result.same_neighbour = same_share(nearest_others(a), nearest_others(b));
  return result;
}

}  // namespace

std::vector<OutputAgreement> agreement(Session& reference, Session& candidate, std::span<const NamedTensors> inputs) {
  const std::vector<std::string> names = reference.output_names(), others = candidate.output_names();
  if (names != others) fail("the models' outputs differ: {} and {}", fmt::join(names, ", "), fmt::join(others, ", "));
  std::vector<Collected> a, b;
  for (const NamedTensors& input : inputs) {
    collect(a, reference.run(input));
    collect(b, candidate.run(input));
  }
  std::vector<OutputAgreement> result;
  for (size_t i = 0; i < a.size(); ++i) result.push_back(compare_output(names[i], a[i], b[i]));
  return result;
}

Table agreement_table(const std::vector<OutputAgreement>& outputs, const std::string& title) {
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
  if (classes) table.columns.push_back({"same_class", "same class", "", percent});
  if (neighbours) table.columns.push_back({"same_neighbour", "same neighbour", "", percent});
  for (const OutputAgreement& o : outputs) {
    table.rows.push_back({o.output, number(static_cast<double>(o.cosine.rows)), number(o.cosine.mean),
                          number(o.cosine.min), number(o.quality.max_abs_error),
                          std::isinf(o.quality.sqnr_db) ? Cell("exact") : number(o.quality.sqnr_db)});
    if (classes) table.rows.back().push_back(o.same_class ? number(*o.same_class) : Cell());
    if (neighbours) table.rows.back().push_back(o.same_neighbour ? number(*o.same_neighbour) : Cell());
    if (o.quality.not_finite > 0)
      table.note += fmt::format("{}{}: {} of {} elements are NaN or infinite.", table.note.empty() ? "" : "\n",
                                o.output, o.quality.not_finite, o.quality.elements);
  }
  return table;
}

}  // namespace hone

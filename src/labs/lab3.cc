// Lab 3: a number format for each layer. What a search finds with so many trials, and what sensitivities and an exact
// choice find in one.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "labs/recipes.h"
#include "labs/registry.h"
#include "labs/said_numbers.h"
#include "labs/trials.h"

namespace hone {
namespace {

struct Price {
  double value;
  const char* study;  // and as one types it
};
constexpr Price kPrices[] = {{0, "0"}, {0.001, "0.001"}, {0.003, "0.003"}, {0.01, "0.01"}, {0.03, "0.03"}};

// In the words of the course, as studies of formats.toml.
constexpr const char* kFormats[] = {"Integer",       "MinifloatDenorm",    "MinifloatIEEE", "Log",
                                    "BlockFP",       "BlockMinifloat",     "BlockLog",      "Binary",
                                    "BinaryScaling", "BinaryResidualSign", "MXINT"};
constexpr const char* kMixed = "mixed";

const std::vector<std::string> kReading{"--data-validation-fraction", "0.05", "--data-split", "validation"};

std::string network(const LabPlaces& places) { return places.shared("network") + ".safetensors"; }

std::vector<std::string> reads(const LabPlaces& places) { return {places.images()}; }

std::vector<std::string> seeded(const std::string& study) { return {study + "-1", study + "-2", study + "-3"}; }

std::vector<std::string> studies_of_prices() {
  std::vector<std::string> studies;
  for (const Price& price : kPrices) studies.push_back(std::string("price-") + price.study);
  return studies;
}

LabStep judged(const LabPlaces& places, const std::string& name, const std::string& model) {
  return {.name = name + "-judged",
          .what = "its accuracy",
          .words = {"evaluate", model, "--data", places.images(), "--validation-fraction", "0.05", "--split",
                    "validation", "--json"}};
}

// What allocate chooses for a price, made, and judged as the search judges.
std::vector<LabStep> exact_steps(const LabPlaces& places, const std::string& name, const std::string& formats,
                                 const std::string& price) {
  const std::string plan = places.made(name) + ".toml", model = places.made(name) + ".safetensors";
  LabStep choice{.name = name,
                 .what = "sensitivities and the exact choice",
                 .words = {"allocate", network(places), "--data", places.images(), "--formats", formats, "--lambda",
                           price, "-o", plan, "--json"},
                 .makes = {plan}};
  choice.words.insert(choice.words.end(), kReading.begin(), kReading.end());
  // As a search rounds and computes, so that both are of the same formats and nothing else.
  choice.words.insert(choice.words.end(), {"--method", "nearest", "--compute", "f32"});
  if (places.quick) choice.words.insert(choice.words.end(), {"--trials", "1"});
  return {choice,
          {.name = name + "-made",
           .what = "the chosen formats",
           .words = {"quantize", network(places), "--config", plan, "-o", model, "--json"},
           .makes = {model}},
          judged(places, name, model)};
}

std::vector<LabStep> steps(const LabPlaces& places) {
  const std::string fresh = places.shared("network-new") + ".safetensors";
  std::vector<LabStep> all{
      {.name = "network-new",
       .what = "a network with random weights",
       .words = {"build", "convnet", "--set", "widths=[8,16,32]", "--set", "num_channels=1", "--set", "image_size=28",
                 "-o", fresh, "--json"},
       .makes = {fresh},
       .is_shared = true},
      train_step("network", "it learns the images", fresh, places.images(), places.file("network.toml"),
                 network(places),
                 places.quick ? std::vector<std::string>{"--steps", "150"} : std::vector<std::string>())};
  all.back().is_shared = true;
  all.push_back(judged(places, "network", network(places)));
  const auto add = [&](const std::vector<LabStep>& more) { all.insert(all.end(), more.begin(), more.end()); };
  const auto search = [&](const std::string& name, const std::string& what, const std::vector<std::string>& studies) {
    add(search_steps({.name = name,
                      .what = what,
                      .config = places.file(name + ".toml"),
                      .words = {network(places), "--data", places.images()},
                      .studies = studies},
                     places));
  };
  std::vector<std::string> samplers = seeded("random");
  for (const std::string& study : seeded("tpe")) samplers.push_back(study);
  search("precision", "widths and fractions by layer", samplers);
  add(exact_steps(places, "exact", "int{8,16,32}.f{2,4,8}", "0"));
  std::vector<std::string> formats(std::begin(kFormats), std::end(kFormats));
  formats.emplace_back(kMixed);
  search("formats", "each format of the course, and all at once", formats);
  search("lambda", "accuracy less a price of bits", studies_of_prices());
  for (const Price& price : kPrices)
    add(exact_steps(places, std::string("exact-price-") + price.study, "mxint{2,3,4,6,8}", price.study));
  return all;
}

Number accuracy_of(const LabResults& results, const std::string& step) {
  return measured(results.rows(step + "-judged", "evaluation").at(0), "accuracy");
}
double bits_of(const LabResults& results, const std::string& step) {
  return figure(results.row(step, "results", "choice", "the plan"), "average_bits");
}

const NumberStyle kShare{NumberFormat::percent, 2}, kBits{NumberFormat::fixed, 3}, kCount{NumberFormat::integer, 0};

std::vector<Column> choice_columns(const char* key, const char* title) {
  return {{key, title},
          {"how", "how"},
          {.key = "trials", .title = "trials", .style = kCount},
          {.key = "accuracy", .title = "accuracy", .style = kShare},
          {.key = "bits", .title = "average bits", .style = kBits}};
}

Table precision_table(const LabResults& results) {
  Table table{.key = "precision",
              .title = "Fixed-point formats by layer: int{8,16,32} with {2,4,8} bits of fraction",
              .columns = choice_columns("study", "study"),
              .note =
                  "Trials of three seeds each; the highest accuracy of each. Average bits count everything that the "
                  "file stores, not weights alone."};
  for (const char* sampler : {"random", "tpe"})
    for (const std::string& study : seeded(sampler)) {
      const auto trials = trials_of(results, "precision", study);
      const LabTrial& top = highest(trials);
      table.rows.push_back({study, "search", number(static_cast<double>(trials.size())), number(top.figure("accuracy")),
                            number(top.figure("bits"))});
    }
  table.rows.push_back(
      {"exact", "sensitivity", Cell(), accuracy_of(results, "exact"), number(bits_of(results, "exact"))});
  return table;
}

Drawing precision_figure(const LabResults& results) {
  Drawing drawing = best_so_far_drawing("precision_so_far", {.title = "highest accuracy so far"},
                                        {seeds_curve(results, "precision", "random", seeded("random")),
                                         seeds_curve(results, "precision", "TPE", seeded("tpe"))});
  drawing.title = "Task 1: accuracy over trials, median of three seeds and their range";
  return drawing;
}

std::vector<Line> format_lines(const LabResults& results) {
  std::vector<Line> lines;
  for (const char* format : kFormats)
    lines.push_back(curve_so_far(format, trials_of(results, "formats", format), Curve::accuracy));
  lines.push_back(curve_so_far("all at once", trials_of(results, "formats", kMixed), Curve::accuracy));
  const double exact = accuracy_of(results, "network").value;
  lines.push_back({"f32", {{1, exact}, {lines.back().points.back().first, exact}}});
  return lines;
}

// The curves that end within five points of the highest, from where they do.
std::vector<Line> zoomed(std::vector<Line> lines) {
  constexpr double kNear = 0.05;
  double top = 0;
  for (const Line& line : lines) top = std::max(top, line.points.back().second);
  for (Line& line : lines) std::erase_if(line.points, [&](const auto& point) { return point.second < top - kNear; });
  std::erase_if(lines, [](const Line& line) { return line.points.empty(); });
  return lines;
}

LinePlot format_plot(const char* key, const char* title, std::vector<Line> lines) {
  return {.key = key,
          .title = title,
          .x = {.title = "trial"},
          .y = {.title = "highest accuracy so far"},
          .lines = std::move(lines)};
}

Table format_table(const LabResults& results) {
  Table table{.key = "formats",
              .title = "Each format of the course: by layer it, in some widths, or f32",
              .columns = {{"format", "format"},
                          {.key = "trials", .title = "trials", .style = kCount},
                          {.key = "accuracy", .title = "highest accuracy", .style = kShare},
                          {.key = "bits", .title = "its average bits", .style = kBits}}};
  const auto add = [&](const char* title, const char* study) {
    const auto trials = trials_of(results, "formats", study);
    const LabTrial& top = highest(trials);
    table.rows.push_back({title, number(static_cast<double>(trials.size())), number(top.figure("accuracy")),
                          number(top.figure("bits"))});
  };
  for (const char* format : kFormats) add(format, format);
  add("all at once", kMixed);
  table.rows.push_back({"f32", Cell(), accuracy_of(results, "network"), Cell()});
  return table;
}

Table count_table(const LabResults& results) {
  std::map<std::string, int64_t> layers;
  const auto trials = trials_of(results, "formats", kMixed);
  for (const auto& [name, format] : highest(trials).parameters) ++layers[format];
  Table table{.key = "counts",
              .title = "All at once: how many layers of the highest trial have which format",
              .columns = {{"format", "format"}, {.key = "layers", .title = "layers", .style = kCount}}};
  for (const auto& [format, count] : layers) table.rows.push_back({format, number(static_cast<double>(count))});
  return table;
}

Table price_table(const LabResults& results) {
  Table table{.key = "prices",
              .title = "Accuracy less a price of average bits",
              .columns = choice_columns("price", "price of a bit"),
              .note = "The reward is accuracy - price * average bits."};
  table.columns.push_back({.key = "reward", .title = "reward", .style = {NumberFormat::fixed, 4}});
  for (const Price& price : kPrices) {
    const auto trials = trials_of(results, "lambda", std::string("price-") + price.study);
    const LabTrial& top = highest(trials, price.value);
    table.rows.push_back({price.study, "search", number(static_cast<double>(trials.size())),
                          number(top.figure("accuracy")), number(top.figure("bits")),
                          number(reward(top, price.value))});
    const std::string exact = std::string("exact-price-") + price.study;
    const Number accuracy = accuracy_of(results, exact);
    const double bits = bits_of(results, exact);
    table.rows.push_back(
        {price.study, "sensitivity", Cell(), accuracy, number(bits), number(accuracy.value - price.value * bits)});
  }
  return table;
}

LinePlot price_plot(const LabResults& results, Curve curve) {
  const bool is_reward = curve == Curve::reward;
  LinePlot plot{.key = is_reward ? "reward_by_price" : "accuracy_by_price",
                .title = is_reward ? "Task 3: reward over trials" : "Task 3: accuracy over trials",
                .x = {.title = "trial"},
                .y = {.title = is_reward ? "accuracy - price * bits" : "accuracy"}};
  for (const Price& price : kPrices)
    plot.lines.push_back(curve_so_far(fmt::format("price {}", price.study),
                                      trials_of(results, "lambda", std::string("price-") + price.study), curve,
                                      price.value));
  return plot;
}

// The row of the highest figure among those of searches.
std::string top_row(const Table& table, const char* column) {
  std::string name;
  double top = -1;
  for (const auto& row : table.rows) {
    const std::string each = std::get<std::string>(row[0]);
    if (value_of(table, {each}, "trials") > 0 && value_of(table, {each}, column) > top)
      top = value_of(table, {each}, column), name = each;
  }
  return name;
}

LabShown show(const LabResults& results, const LabPlaces&) {
  const Table precision = precision_table(results), formats = format_table(results), counts = count_table(results),
              prices = price_table(results);
  const std::vector<Line> lines = format_lines(results);
  const std::string top = top_row(formats, "accuracy");
  const Price &cheap = kPrices[1], &dear = kPrices[std::size(kPrices) - 1];
  return {
      .sections = {{"Task 2: one curve for each format",
                    {formats, format_plot("formats_so_far", "Task 2: accuracy over trials, by format", lines),
                     format_plot("formats_zoomed", "Task 2: the same, near the top", zoomed(lines)), counts}},
                   {"Task 1: widths and fractions by layer", {precision, precision_figure(results)}},
                   {"Task 3: a price of bits",
                    {prices, price_plot(results, Curve::accuracy), price_plot(results, Curve::reward)}}},
      .sentences = {
          fmt::format("Among fixed-point formats by layer, the study {} ends at {} with {} bits; sensitivities and one "
                      "exact choice give {} with {}.",
                      top_row(precision, "accuracy"), said(precision, {top_row(precision, "accuracy")}, "accuracy"),
                      said(precision, {top_row(precision, "accuracy")}, "bits"), said(precision, {"exact"}, "accuracy"),
                      said(precision, {"exact"}, "bits")),
          fmt::format("No curve of a format ends above that of {}, at {} with {} bits; f32 has {}. The highest of many "
                      "trials flatters.",
                      top, said(formats, {top}, "accuracy"), said(formats, {top}, "bits"),
                      said(formats, {"f32"}, "accuracy")),
          fmt::format(
              "Signs alone (Binary) end at {}, with a scale at {}, with a second sign at {}: look at how much of "
              "a weight each keeps.",
              said(formats, {"Binary"}, "accuracy"), said(formats, {"BinaryScaling"}, "accuracy"),
              said(formats, {"BinaryResidualSign"}, "accuracy")),
          fmt::format("With all formats to choose from in each layer, as many trials end at {}: look at the formats "
                      "that its highest trial takes.",
                      said(formats, {"all at once"}, "accuracy")),
          fmt::format("At a price of {} a bit, the search ends at {} bits and {}; at {}, at {} bits and {}. The exact "
                      "choice, which runs no trials, has {} and {} bits there.",
                      cheap.study, said(prices, {cheap.study, "search"}, "bits"),
                      said(prices, {cheap.study, "search"}, "accuracy"), dear.study,
                      said(prices, {dear.study, "search"}, "bits"), said(prices, {dear.study, "search"}, "accuracy"),
                      said(prices, {cheap.study, "sensitivity"}, "bits"),
                      said(prices, {dear.study, "sensitivity"}, "bits"))}};
}

}  // namespace

extern constinit const LabDef lab3_def{
    .name = "3", .title = "Mixed precision", .files = "lab3", .reads = reads, .steps = steps, .show = show};

}  // namespace hone

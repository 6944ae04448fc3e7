// Lab 1: fewer bits and fewer weights. Accuracy over the width of fixed-point formats and over sparsity, each as it is
// rounded or pruned and with training after it; and what the files weigh and take.
#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "labs/caption.h"
#include "labs/recipes.h"
#include "labs/registry.h"
#include "labs/said_numbers.h"
#include "labs/training_curves.h"
#include "labs/trials.h"
#include "measure/statistics.h"

namespace hone {
namespace {

// A width in bits with a fraction that suits it, as (8,4) of the course.
struct Width {
  const char *bits, *format;
  bool in_quick;
};
constexpr Width kWidths[] = {{"4", "int4.f2", true},     {"6", "int6.f3", false},    {"8", "int8.f4", true},
                             {"10", "int10.f6", false},  {"12", "int12.f8", false},  {"16", "int16.f8", true},
                             {"20", "int20.f10", false}, {"24", "int24.f12", false}, {"28", "int28.f14", false},
                             {"32", "int32.f16", true}};

// What is pruned, as the studies of pruning.toml begin.
struct Pruning {
  const char *name, *title;
};
constexpr Pruning kPrunings[] = {
    {"local", "weights, by layer"}, {"global", "weights, of all layers together"}, {"neurons", "whole neurons"}};
constexpr const char* kMethods[] = {"random", "l1"};
constexpr const char *kAlone = "as it is", *kTrained = "trained";

std::string study_of(const Pruning& pruning, const char* method, const char* how) {
  return fmt::format("{}-{}{}", pruning.name, method, how == kTrained ? "-trained" : "");
}

struct Packed {
  const char *name, *format;
};
constexpr Packed kPacked[] = {{"int8", "int8.channel"}, {"mxint8", "mxint8"}, {"int4", "int4.g32"}};

std::vector<std::string> reads(const LabPlaces& places) { return {places.all_reviews(), places.encoder()}; }

std::string width_config(const LabPlaces& places) { return places.file(places.quick ? "quick.toml" : "qat.toml"); }
std::string pruning_config(const LabPlaces& places) {
  return places.file(places.quick ? "pruning-quick.toml" : "pruning.toml");
}

LabStep width_step(const LabPlaces& places) {
  std::string formats;
  for (const Width& width : kWidths)
    if (width.in_quick || !places.quick) formats += (formats.empty() ? "" : ",") + std::string(width.format);
  const std::string folder = places.made("widths");
  return {.name = "widths",
          .what = "fixed-point formats, rounded and trained in",
          .words = {"sweep", bert_tiny_model(places), "--formats", formats, "--with-activations", "--train",
                    "--train-config", width_config(places), "--data", places.reviews(), "--threads", "2", "-o", folder,
                    "--json"},
          .makes = {folder}};
}

std::vector<LabStep> pruning_steps(const LabPlaces& places) {
  LabSearch search{.name = "pruning",
                   .what = "pruning, alone and with training after it",
                   .config = pruning_config(places),
                   .words = {bert_tiny_model(places), "--data", places.reviews()},
                   .quick_trials = 0};
  for (const Pruning& pruning : kPrunings)
    for (const char* method : kMethods)
      for (const char* how : {kAlone, kTrained}) search.studies.push_back(study_of(pruning, method, how));
  return search_steps(search, places);
}

std::vector<LabStep> steps(const LabPlaces& places) {
  std::vector<LabStep> all = bert_tiny_steps(places);
  all.push_back(width_step(places));
  for (const LabStep& step : pruning_steps(places)) all.push_back(step);
  all.push_back(
      {.name = "rows",
       .what = "on how many reviews that is",
       .words = {"evaluate", bert_tiny_model(places), "--data", places.reviews(), "--split", "validation", "--json"}});
  all.push_back(train_step("epochs", "epochs of training in one format", bert_tiny_model(places), places.reviews(),
                           places.file("epochs.toml"), places.made("epochs") + ".safetensors", fewer_rows(places)));
  LabStep bench{.name = "bench",
                .what = "what the files take",
                .words = {"bench", bert_tiny_model(places), "--batch", "1", "--seq", places.quick ? "32" : "96"}};
  for (const Packed& packed : kPacked) {
    const std::string file = places.made(packed.name) + ".safetensors";
    all.push_back({.name = packed.name,
                   .what = fmt::format("a file of {}", packed.format),
                   .words = {"quantize", bert_tiny_model(places), "--to", packed.format, "-o", file, "--json"},
                   .makes = {file}});
    bench.words.insert(bench.words.begin() + 2, file);
  }
  std::reverse(bench.words.begin() + 2, bench.words.begin() + 2 + std::size(kPacked));
  bench.words.insert(bench.words.end(), {"--seconds", places.quick ? "1" : "5", "--json"});
  all.push_back(bench);
  return all;
}

const NumberStyle kShare{NumberFormat::percent, 2}, kBytes{NumberFormat::bytes, 3};

const char* how_of(const Json& row) { return row.contains("how") && row.at("how") == "trained" ? kTrained : kAlone; }

Table width_table(const LabResults& results, const LabPlaces& places) {
  Table table{.key = "widths",
              .title = "Accuracy over the width of fixed-point formats",
              .columns = {{"width", "width"},
                          {"how", "how"},
                          {"format", "format"},
                          {.key = "accuracy", .title = "accuracy", .style = kShare},
                          {.key = "bits", .title = "average bits", .style = {NumberFormat::fixed, 2}},
                          {.key = "bytes", .title = "weights", .style = kBytes}},
              .note =
                  "Weights and inputs of products in the format. As it is: rounded after training (PTQ); trained: "
                  "trained in the format (QAT). On reviews that chose nothing, with 95 % intervals. Average bits "
                  "count everything that is stored."};
  const auto add = [&](const std::string& width, const Json& row) {
    table.rows.push_back({width, how_of(row), name_in(row, "format"), measured(row, "accuracy"),
                          number(figure(row, "average_bits")), number(figure(row, "bytes"))});
  };
  table.note += fmt::format(" Training: {}.", training_caption(width_config(places)));
  const Json& rows = results.rows("widths", "sweep");
  for (const Width& width : kWidths)
    for (const Json& row : rows)
      if (name_in(row, "format") == width.format) add(width.bits, row);
  for (const Json& row : rows)
    if (name_in(row, "format") == "the original") add("f32", row);
  return table;
}

double accuracy_of(const std::vector<Cell>& row) { return std::get<Number>(row[3]).value; }

LinePlot width_plot(const Table& table) {
  LinePlot plot{.key = "width_curves",
                .title = "Task 1: accuracy over the fixed-point width, after training (PTQ) and trained in it (QAT)",
                .x = {.title = "width", .unit = "bits"},
                .y = {.title = "accuracy"},
                .lines = {{.label = "PTQ"}, {.label = "QAT"}, {.label = "f32"}}};
  for (const auto& row : table.rows) {
    const std::string width = std::get<std::string>(row[0]), how = std::get<std::string>(row[1]);
    if (width != "f32") plot.lines[how == "trained" ? 1 : 0].points.emplace_back(std::stod(width), accuracy_of(row));
    else if (how != "trained") plot.lines[2].points = {{4, accuracy_of(row)}, {32, accuracy_of(row)}};
  }
  return plot;
}

// Trials of one study by their sparsity: over seeds where the study has some.
std::map<double, std::vector<double>> by_sparsity(const LabResults& results, const std::string& study) {
  std::map<double, std::vector<double>> all;
  for (const LabTrial& trial : trials_of(results, "pruning", study)) {
    const std::string& text = trial.parameters.at("prune.sparsity");
    all[parse_json(text, study).get<double>()].push_back(trial.figure("accuracy"));
  }
  return all;
}

Table pruning_table(const LabResults& results, const LabPlaces& places) {
  Table table{
      .key = "pruning",
      .title = "Accuracy over sparsity",
      .columns = {{"pruned", "pruned"},
                  {"method", "method"},
                  {.key = "sparsity", .title = "sparsity", .style = {NumberFormat::fixed, 1}},
                  {"how", "how"},
                  {.key = "accuracy", .title = "accuracy, mean", .style = kShare},
                  {.key = "least", .title = "least of the seeds", .style = kShare},
                  {.key = "most", .title = "most", .style = kShare},
                  {.key = "seeds", .title = "seeds", .style = {NumberFormat::integer, 0}}},
      .note =
          "As it is: pruned, and no more; trained: with training after it, in which zeros stay. On the "
          "reviews for validation; with the 95 % interval where there is one run, the range where there are seeds."};
  table.note +=
      fmt::format(" Training: {}.", training_caption(pruning_config(places), "studies.local-l1-trained.retrain"));
  const double rows = figure(results.rows("rows", "evaluation").at(0), "rows");
  for (const Pruning& pruning : kPrunings)
    for (const char* method : kMethods)
      for (const char* how : {kAlone, kTrained})
        for (const auto& [sparsity, found] : by_sparsity(results, study_of(pruning, method, how))) {
          const auto [least, most] = std::ranges::minmax(found);
          const auto count = static_cast<double>(found.size());
          const double mean = std::accumulate(found.begin(), found.end(), 0.0) / count;
          const Cell accuracy = count > 1 ? number(mean) : number(mean, share_interval(mean, rows));
          table.rows.push_back(
              {pruning.name, method, number(sparsity), how, accuracy, number(least), number(most), number(count)});
        }
  return table;
}

LinePlot pruning_plot(const Table& table, const Pruning& pruning) {
  LinePlot plot{.key = std::string("pruning_") + pruning.name,
                .title = fmt::format("Task 2: accuracy over sparsity, {}", pruning.title),
                .x = {.title = "sparsity"},
                .y = {.title = "accuracy"}};
  for (const char* method : kMethods)
    for (const char* how : {kAlone, kTrained}) {
      Line line{.label = fmt::format("{}{}", method, how == kTrained ? ", then trained" : "")};
      for (const auto& row : table.rows)
        if (std::get<std::string>(row[0]) == pruning.name && std::get<std::string>(row[1]) == method &&
            std::get<std::string>(row[3]) == how)
          line.points.emplace_back(std::get<Number>(row[2]).value, std::get<Number>(row[4]).value);
      plot.lines.push_back(std::move(line));
    }
  return plot;
}

std::vector<std::string> names_of_files() {
  std::vector<std::string> names{"f32"};
  for (const Packed& packed : kPacked) names.emplace_back(packed.format);
  return names;
}

Table file_table(const LabResults& results) {
  Table table{.key = "files",
              .title = "Files",
              .columns = {{"file", "file"}, {.key = "bytes", .title = "bytes", .style = kBytes}}};
  const Json& rows = results.rows("bench", "results");
  for (size_t i = 0; const std::string& name : names_of_files())
    table.rows.push_back({name, number(figure(rows.at(i++), "file_bytes"))});
  return table;
}

Table time_table(const LabResults& results) {
  Table table{
      .key = "times",
      .title = "Time of one review",
      .columns = {{"file", "file"},
                  {.key = "median_ms", .title = "median", .unit = "ms", .style = {NumberFormat::significant, 3}}},
      .note =
          "One review of one thread, as hone bench measures, with 95 % intervals; it differs from run to "
          "run."};
  const Json& rows = results.rows("bench", "results");
  for (size_t i = 0; const std::string& name : names_of_files()) {
    const Json& row = rows.at(i++);
    Number time{figure(row, "median_ms")};
    if (const Json& ends = row.value("ci95_ms", Json()); ends.is_array() && ends.size() == 2 && ends[0].is_number())
      time.interval = Interval{ends[0].get<double>(), ends[1].get<double>()};
    table.rows.push_back({name, time});
  }
  return table;
}

LabShown show(const LabResults& results, const LabPlaces& places) {
  const Table widths = width_table(results, places), pruning = pruning_table(results, places),
              files = file_table(results), times = time_table(results);
  const LinePlot epochs = training_curve(results, "epochs", "curve_accuracy",
                                         {.key = "epochs_accuracy",
                                          .title = "Task 1: accuracy after each epoch of training in int8.f4",
                                          .x = {.title = "step"},
                                          .y = {.title = "accuracy"}});
  const Table epoch_rows = epoch_table(epochs);
  std::vector<Block> pruned{pruning};
  for (const Pruning& each : kPrunings) pruned.emplace_back(pruning_plot(pruning, each));
  const auto of_width = [&](const char* width, const char* how) { return said(widths, {width, how}, "accuracy"); };
  const auto relate = [&](const char* width) {
    return relation(widths, {width, "trained"}, {width, kAlone}, "accuracy");
  };
  const auto of_pruned = [&](const char* method, const char* sparsity, const char* how) {
    return said(pruning, {"local", method, sparsity, how}, "accuracy");
  };
  return {
      .sections = {{"Task 1: width", {widths, width_plot(widths), epoch_rows, epochs}},
                   {"Task 2: sparsity", pruned},
                   {"What the files weigh and take", {files, times}}},
      .sentences = {
          fmt::format("With 4 bits, rounding after training gives {} and training in the format {}: it {} the other.",
                      of_width("4", kAlone), of_width("4", "trained"), relate("4")),
          fmt::format("With 8 bits it is {} and {}, with f32 {}: training in 8 bits {} rounding.",
                      of_width("8", kAlone), of_width("8", "trained"), of_width("f32", kAlone), relate("8")),
          fmt::format(
              "Of each layer, a share of 0.5 pruned at random leaves {}, by l1 {}: look at how far the two methods are "
              "apart.",
              of_pruned("random", "0.5", kAlone), of_pruned("l1", "0.5", kAlone)),
          fmt::format("At 0.9 l1 leaves {}, and {} with training after it; random {} and {}.",
                      of_pruned("l1", "0.9", kAlone), of_pruned("l1", "0.9", kTrained),
                      of_pruned("random", "0.9", kAlone), of_pruned("random", "0.9", kTrained)),
          fmt::format("The file takes {} in f32, {} in int8.channel and {} in int4.g32.", said(files, {"f32"}, "bytes"),
                      said(files, {"int8.channel"}, "bytes"), said(files, {"int4.g32"}, "bytes"))}};
}

}  // namespace

extern constinit const LabDef lab1_def{
    .name = "1", .title = "Quantization and pruning", .files = "lab1", .reads = reads, .steps = steps, .show = show};

}  // namespace hone

// Lab 2: architectures. Three samplers over layers, heads and widths, what more epochs do, and what a search sees that
// counts compression in.
#include <algorithm>

#include <fmt/format.h>

#include "labs/caption.h"
#include "labs/recipes.h"
#include "labs/registry.h"
#include "labs/said_numbers.h"
#include "labs/training_curves.h"
#include "labs/trials.h"

namespace hone {
namespace {

struct Studies {
  const char* title;
  std::vector<std::string> names;
};
const std::vector<Studies>& samplers() {
  static const std::vector<Studies> all{
      {"random", {"random-1", "random-2", "random-3"}}, {"grid", {"grid"}}, {"TPE", {"tpe-1", "tpe-2", "tpe-3"}}};
  return all;
}

struct Way {
  const char *study, *title;
};
constexpr Way kWays[] = {
    {"uncompressed", "none"}, {"compressed", "compressed"}, {"retrained", "compressed, then trained"}};

std::vector<std::string> reads(const LabPlaces& places) {
  return {places.all_reviews(), places.encoder(), places.images()};
}

std::vector<LabStep> steps(const LabPlaces& places) {
  const std::string untrained = places.shared("untrained") + ".safetensors";
  std::vector<LabStep> all{bert_tiny_untrained(places),
                           train_step("epochs", "four epochs", untrained, places.reviews(), places.file("epochs.toml"),
                                      places.made("epochs") + ".safetensors", fewer_rows(places))};
  std::vector<std::string> studies;
  for (const Studies& sampler : samplers()) studies.insert(studies.end(), sampler.names.begin(), sampler.names.end());
  const auto add = [&](const LabSearch& search) {
    for (const LabStep& step : search_steps(search, places)) all.push_back(step);
  };
  add({.name = "nas",
       .what = "architectures by three samplers",
       .config = places.file("nas.toml"),
       .words = {places.recipe("config.json"), "--data", places.reviews()},
       .studies = studies,
       .quick_trials = 2});
  studies.clear();
  for (const Way& way : kWays) studies.emplace_back(way.study);
  add({.name = "compression",
       .what = "what compression does to a search",
       .config = places.file("compression.toml"),
       .words = {"--data", places.images()},
       .studies = studies});
  return all;
}

const NumberStyle kShare{NumberFormat::percent, 2}, kCount{NumberFormat::integer, 0};

// "4 layers, 8 heads, 256 wide, 1024 within; 2 of the first attention left out"
std::string text_of_encoder(const LabTrial& trial) {
  const auto of = [&](const char* key) { return trial.parameters.at(std::string("build.") + key); };
  const auto left_out = std::ranges::count_if(trial.parameters, [](const auto& p) { return p.second == "identity"; });
  return fmt::format("{} layers, {} heads, {} wide, {} within; {} of the first attention left out",
                     of("num_hidden_layers"), of("num_attention_heads"), of("hidden_size"), of("intermediate_size"),
                     left_out);
}

std::string text_of_network(const LabTrial& trial) {
  return fmt::format("widths {}, kernel {}, rate {}", trial.parameters.at("build.widths"),
                     trial.parameters.at("build.kernel"), trial.parameters.at("train.rate"));
}

Table nas_table(const LabResults& results, const LabPlaces& places) {
  Table table{.key = "architectures",
              .title = "Architectures",
              .columns = {{"sampler", "sampler"},
                          {"study", "study"},
                          {.key = "trials", .title = "trials", .style = kCount},
                          {.key = "accuracy", .title = "highest accuracy", .style = kShare},
                          {.key = "weights", .title = "weights", .style = kCount},
                          {.key = "architecture", .title = "its architecture", .prose = true}},
              .note = fmt::format("Each trial trains from random weights: {}. All are judged on the same reviews for "
                                  "validation, by which the highest is chosen, so that it flatters.",
                                  training_caption(places.file("nas.toml"), "train"))};
  for (const Studies& sampler : samplers())
    for (const std::string& study : sampler.names) {
      const auto trials = trials_of(results, "nas", study);
      const LabTrial& top = highest(trials);
      table.rows.push_back({sampler.title, study, number(static_cast<double>(trials.size())),
                            number(top.figure("accuracy")), number(top.figure("parameters")), text_of_encoder(top)});
    }
  return table;
}

Drawing nas_figure(const LabResults& results) {
  std::vector<StudyCurve> curves;
  for (const Studies& sampler : samplers()) curves.push_back(seeds_curve(results, "nas", sampler.title, sampler.names));
  Drawing drawing = best_so_far_drawing("architectures_so_far", {.title = "highest accuracy so far"}, curves);
  drawing.title = "Task 1: accuracy over trials; median and range over seeds";
  return drawing;
}

Table compression_table(const LabResults& results, const LabPlaces& places) {
  Table table{.key = "compression",
              .title = "A search that sees compression: int8 weights, half of them 0",
              .columns = {{"way", "compression"},
                          {.key = "trials", .title = "trials", .style = kCount},
                          {.key = "accuracy", .title = "highest accuracy", .style = kShare},
                          {.key = "bits", .title = "average bits", .style = {NumberFormat::fixed, 3}},
                          {.key = "bytes", .title = "file", .style = {NumberFormat::bytes, 3}},
                          {.key = "architecture", .title = "its architecture", .prose = true}},
              .note = fmt::format("Each trial trains from random weights: {}; after compression: {}.",
                                  training_caption(places.file("compression.toml"), "train"),
                                  training_caption(places.file("compression.toml"), "studies.retrained.retrain"))};
  for (const Way& way : kWays) {
    const auto trials = trials_of(results, "compression", way.study);
    const LabTrial& top = highest(trials);
    table.rows.push_back({way.title, number(static_cast<double>(trials.size())), number(top.figure("accuracy")),
                          number(top.figure("bits")), number(top.figure("bytes")), text_of_network(top)});
  }
  return table;
}

LinePlot compression_plot(const LabResults& results) {
  LinePlot plot{.key = "compression_so_far",
                .title = "Task 2: accuracy over trials without compression, with it, and with training after it",
                .x = {.title = "trial"},
                .y = {.title = "highest accuracy so far"}};
  for (const Way& way : kWays)
    plot.lines.push_back(curve_so_far(way.title, trials_of(results, "compression", way.study), Curve::accuracy));
  return plot;
}

LabShown show(const LabResults& results, const LabPlaces& places) {
  const Table nas = nas_table(results, places), compression = compression_table(results, places);
  const LinePlot accuracy = training_curve(results, "epochs", "curve_accuracy",
                                           {.key = "epochs_accuracy",
                                            .title = "Accuracy after each epoch",
                                            .x = {.title = "step"},
                                            .y = {.title = "accuracy"}}),
                 loss = training_curve(
                     results, "epochs", "curve_loss",
                     {.key = "epochs_loss", .title = "Loss by step", .x = {.title = "step"}, .y = {.title = "loss"}});
  const Table epochs = epoch_table(accuracy);
  const auto end_of = [&](const char* sampler, const char* study) { return said(nas, {sampler, study}, "accuracy"); };
  const auto of = [&](size_t way, const char* column) { return said(compression, {kWays[way].title}, column); };
  const std::string last = std::to_string(epochs.rows.size());
  return {
      .sections = {{"Task 1: three samplers", {nas, nas_figure(results)}},
                   {"Task 1: more epochs", {epochs, accuracy, loss}},
                   {"Task 2: compression-aware search", {compression, compression_plot(results)}}},
      .sentences = {
          fmt::format("Random search ends at {}, {} and {} with three seeds, TPE at {}, {} and {}: look at the bands "
                      "before the medians.",
                      end_of("random", "random-1"), end_of("random", "random-2"), end_of("random", "random-3"),
                      end_of("TPE", "tpe-1"), end_of("TPE", "tpe-2"), end_of("TPE", "tpe-3")),
          fmt::format("The grid, which tries points in a shuffled order, ends at {} after {} trials.",
                      end_of("grid", "grid"), said(nas, {"grid", "grid"}, "trials")),
          fmt::format("After the last of {} validations accuracy is {}, after the first {}: compare that with what "
                      "separates the samplers.",
                      last, said(epochs, {last}, "accuracy"), said(epochs, {"1"}, "accuracy")),
          fmt::format("Without compression the search ends at {} in {}, compressed at {} in {}.", of(0, "accuracy"),
                      of(0, "bytes"), of(1, "accuracy"), of(1, "bytes")),
          fmt::format("Trained after compression it ends at {} with {} bits; without compression at {}.",
                      of(2, "accuracy"), of(2, "bits"), of(0, "accuracy"))}};
}

}  // namespace

extern constinit const LabDef lab2_def{
    .name = "2", .title = "Search of architectures", .files = "lab2", .reads = reads, .steps = steps, .show = show};

}  // namespace hone

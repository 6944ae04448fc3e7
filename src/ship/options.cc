// What ship is asked for, and the TOML that repeats a choice.
#include <filesystem>

#include "base/duration.h"
#include "io/toml.h"
#include "jobs/format_list.h"
#include "ship/ship.h"

namespace hone {
namespace {

constexpr OptionField<EvaluationFlags> kData[] = {
    flag("data",
         "Data set that the file is chosen and judged on: a file or a folder, or a .txt with a text a line. "
         "Rows are dealt out: some to learn from, some to choose on, some that only judge",
         &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<ShipOptions> kPromises[] = {
    flag("max-size", "Largest size of the file, e.g. 2MB", &ShipOptions::max_size),
    flag("max-latency", "Longest time of one inference, e.g. 5ms, or 0.7x of the original's",
         &ShipOptions::max_latency),
    flag("max-drop",
         "Most that may be lost of the metric: 1% (points of a share; of other metrics a part of the original's value) "
         "or 0.01 (in the metric's own numbers). Without any promise it is 1%",
         &ShipOptions::max_drop),
    flag("min-metric", "Least value of the metric, e.g. 0.91 or 91%", &ShipOptions::min_metric)};
constexpr OptionField<ShipOptions> kTrain[] = {
    flag("train", "Also train: against rounding, adapters beside rounded weights, after structured pruning",
         &ShipOptions::train),
    flag("train-config", "TOML file with the keys of hone train --config", &ShipOptions::train_config,
         {.file = OptionFile::reads})};
constexpr OptionField<ShipOptions> kRows[] = {
    flag("judging-rows", "Rows that the chosen file is judged on; 0: as many as the time allows",
         &ShipOptions::judging_rows, {.least = 0, .most = 1e9})};
// How the data are read and judged; of splits and limits, what they mean for rows that are dealt out.
std::vector<OptionField<EvaluationFlags>> reading_fields() {
  std::vector<OptionField<EvaluationFlags>> all = EvaluationFlags::fields("data-");
  for (OptionField<EvaluationFlags>& field : all)
    if (field.name == std::string_view("data-split")) field.doc = "Deal out the rows of this split alone";
    else if (field.name == std::string_view("data-limit"))
      field.doc = "Deal out at most so many rows, drawn by the seed";
  return all;
}

// What figures depend on beside the data, the training's file and who runs the model.
std::vector<OptionField<ShipOptions>> settings_fields() {
  return joined_fields<ShipOptions>(std::span(kTrain).first(1), reading_fields(), ShapeFlags::fields(),
                                    SeedFlags::fields());
}

constexpr OptionField<ShipOptions> kTime[] = {
    flag("time", "Time that all of it may take, e.g. 90s, 10min or 1h", &ShipOptions::time),
    flag("formats", "Formats to try, e.g. int8.channel,mxint{3..8}, instead of the usual ones", &ShipOptions::formats,
         {.takes_several = true})};

}  // namespace

std::span<const OptionField<ShipOptions>> ShipOptions::fields() {
  static const auto all =
      joined_fields<ShipOptions>(kData, kPromises, kTime, kTrain, reading_fields(), kRows, ShapeFlags::fields(),
                                 SeedFlags::fields(), RunFlags::fields(), RunFlags::trust_fields());
  return all;
}

ShipModelOptions ShipOptions::typed() const {
  const std::optional<double> seconds = parse_seconds(time);
  if (!seconds) fail("--time {}: expected a time above 0 such as 90s, 10min or 1h", time);
  if (data.empty())
    fail("there are no data to choose and judge on; give --data, or --config with a TOML that names some");
  if (!train && !train_config.empty()) fail("--train-config says how to train; give --train, too");
  ShipModelOptions options{.evaluation = evaluation(),
                           .promises = parse_promises(max_size, max_latency, max_drop, min_metric),
                           .formats = formats.empty() ? default_formats() : parse_format_list(formats),
                           .train = train,
                           .train_config = train_config,
                           .seconds = *seconds,
                           .again = again,
                           .judging_rows = judging_rows,
                           .shapes = shapes(),
                           .session = session_options(),
                           .seed = seed};
  options.evaluation.data.seed = seed;
  options.settings = options_toml<ShipOptions>(settings_fields(), *this);
  options.asked = options_toml<ShipOptions>(kPromises, *this);
  return options;
}

void read_ship_config(const std::string& path, ShipOptions& options) {
  constexpr std::string_view kRecipe = "recipe.";
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  Recipe recipe;
  for (const auto& [key, values] : read_toml_options(path)) {
    try {
      if (key.starts_with(kRecipe)) set_option(recipe_fields(), recipe, key.substr(kRecipe.size()), values);
      else set_option(ShipOptions::fields(), options, key, values);
    } catch (const Error& e) {
      fail("{}: {}", path, e.what());
    }
    if (key == "data") options.data = folder / options.data;
    if (key == "train-config") options.train_config = folder / options.train_config;
  }
  if (is_given(recipe)) options.again = recipe;
}

std::vector<std::string> default_formats() {
  return {"int8.channel", "mxint8", "mxint6", "mxint5", "mxint4", "int4.g32", "mxint3"};
}

std::string work_folder(const std::string& output) { return output + ".ship"; }

std::string config_path(const std::string& output) {
  return std::filesystem::path(output).replace_extension(".toml").string();
}

}  // namespace hone

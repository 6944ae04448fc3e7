// hone ship: a model in, a smaller file out that keeps what was promised, judged on rows that took no part in its
// choice.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/bench.h"
#include "jobs/evaluation_flags.h"
#include "jobs/run_options.h"
#include "jobs/save_model.h"
#include "jobs/task.h"
#include "ship/promise.h"
#include "ship/quality.h"
#include "ship/recipe.h"

namespace hone {

struct ShipModelOptions {
  EvaluationOptions evaluation;  // the data, how they are read, and the metric
  Promises promises;
  std::vector<std::string> formats;  // to try, as of parse_format_list(); empty: default_formats()
  bool train = false;
  std::string train_config;     // TOML of hone train; empty: its defaults
  double seconds = 600;         // that all of it may take
  std::optional<Recipe> again;  // what is made, without a search
  int64_t judging_rows = 0;     // that the chosen is judged on; 0: as many as the time allows
  ShapeOptions shapes;          // of the inputs that times are of
  SessionOptions session;
  uint64_t seed = 1;
  // TOML lines for what repeats the choice: what figures depend on, but the data and the training, and the promises.
  std::string settings, asked;
};

// The same as a program or another language gives it.
struct ShipOptions : EvaluationFlags, ShapeFlags, RunFlags, SeedFlags {
  std::string max_size, max_latency, max_drop, min_metric, time = "10min", train_config;
  std::vector<std::string> formats;
  bool train = false;
  std::optional<Recipe> again;
  int64_t judging_rows = 0;

  ShipModelOptions typed() const;
  static std::span<const OptionField<ShipOptions>> fields();
};
// Of the TOML that ship wrote beside a file: what it was chosen from, and under [recipe] how it is made. What flags
// give counts before it. Throws Error.
void read_ship_config(const std::string& path, ShipOptions& options);

std::vector<std::string> default_formats();

// Formats, methods and trainings that were tried.
struct TriedCandidate {
  std::string name, fault;  // fault: why it could not be made; the rest is empty then
  Recipe recipe;
  int64_t bytes = 0;
  std::optional<AnswerQuality> quality;  // on the rows to choose on; none: its size ruled it out
  std::optional<Speed> speed;
  bool meets = false;  // all promises, as far as they were measured
  double seconds = 0;  // that it took
};

// What ship decided before it wrote anything.
struct ShipPlan {
  std::string rows;  // who is in which part
  int64_t choosing_rows = 0, judging_rows = 0;
  std::string objective;  // "the smallest file that keeps the promises"
  int64_t original_bytes = 0;
  bool limits_size = false;                // --max-size is given
  std::vector<TriedCandidate> candidates;  // of a dry run: with what their files would take
};

struct ShipResult {
  ShipPlan plan;
  std::optional<FigureKind> kind;  // of the figures; none: the output error alone is known
  size_t chosen = 0;               // of plan.candidates
  AnswerQuality original, judged;  // on the rows to judge on
  std::string judged_on;           // "200 rows of reviews.csv"
  SavedModel saved;
  BenchResult timed;                 // the original, and the written file
  std::vector<std::string> kept;     // a sentence for each promise: how sure it is that it is kept
  std::vector<std::string> untried;  // for lack of time, by name
  std::string config;                // the TOML that repeats the choice
  double seconds = 0, allowed_seconds = 0;
  int64_t recalled = 0;  // candidates that an earlier run had measured
};

// Nothing is written: what would be tried, and what each file would take.
ShipPlan plan_ship(const Model& model, const std::string& output, const ShipModelOptions& options,
                   const TaskContext& context = {});

// Writes `output`, and beside it, unless `options.again` is given, the TOML. While it works, what was measured is kept
// in the folder work_folder(output): a run that was stopped goes on there, and so does one that asks for less. Throws
// Error, with nothing written, when a promise can't be kept: which one, the nearest that can, and what would help.
ShipResult ship(const Model& model, const std::string& output, const ShipModelOptions& options,
                const TaskContext& context = {});

std::string work_folder(const std::string& output);  // "small.safetensors.ship"
std::string config_path(const std::string& output);  // "small.toml" of "small.safetensors"

}  // namespace hone

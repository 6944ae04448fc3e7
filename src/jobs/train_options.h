// What hone train is asked for: one table of fields, from which flags, TOML keys and the text that a checkpoint is held
// against are read.
#pragma once

#include <any>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "data/data_options.h"
#include "passes/compress/lora.h"
#include "train/optimizers/optimizer.h"
#include "train/schedules/schedule.h"

namespace hone {

struct TrainingOptions : ScheduleOptions {
  int64_t epochs = 3, steps = 0;  // steps: instead of epochs
  int64_t batch = 32, parts = 1;  // rows of one update, and in how many parts they run
  int64_t window = 8;             // batches of texts whose rows are sorted by length together
  bool in_order = false;          // rows as the data have them, in every epoch
  int64_t max_length = 0;         // of texts, in tokens; 0: what the model takes
  std::string optimizer = "adamw";
  double rate = 0, decay = -1;  // 0 and -1: the optimizer's
  std::vector<std::string> optimizer_option, rule;
  bool decay_all = false;
  double clip_norm = 0, clip_value = 0, dropout = 0;
  std::vector<std::string> dropout_layers;  // empty: the last
  std::string loss, class_weights;  // loss: empty for what suits the labels; weights: "balanced", or a number for each
  double label_smoothing = 0;
  int64_t recompute = 0;
  std::string head = "auto", pooling = "auto", predictions;
  bool from_scratch = false;
  std::vector<std::string> lora;  // layers that get low-rank adapters, which alone are trained, with the last layer
  int64_t lora_rank = 8;
  double lora_alpha = 0, lora_dropout = 0;  // alpha 0: as the rank
  bool rslora = false, dora = false;
  bool keep_zeros = false;
  std::vector<std::string> qat;  // rules of formats that weights and inputs are rounded to while they are trained
  bool learn_scales = false;     // of those formats
  std::string teacher;           // a model whose predictions, or layers, are learned, too
  double temperature = 2, distill_weight = 0.5, distill_layer_weight = 1;
  std::vector<std::string> distill_layers;  // STUDENT=TEACHER
  int64_t image_size = 0, crop_padding = 0;
  bool flip = false;
  std::string metric;                                // empty: what suits the labels
  int64_t validate_every = 0, checkpoint_every = 0;  // steps; 0: after each epoch
  int64_t log_every = 10, patience = 0;
  int64_t seed = 1;
};
std::span<const OptionField<TrainingOptions>> training_fields();

// The optimizer and its options, by `optimizer` and `optimizer_option`. Throws Error with the nearest names.
struct ChosenOptimizer {
  const OptimizerDef* def;
  std::any options;
  double rate, decay;
};
ChosenOptimizer choose_optimizer(const TrainingOptions& options);

// Reads a TOML file with the keys of both tables; those of an optimizer may stand in a table of its name, and those of
// the data in [data]. `data_path` becomes the key "data", or "path" in that table, seen from the file's folder, where
// it has one.
void read_train_config(const std::string& path, TrainingOptions& options, DataOptions& reading, std::string& data_path);

// What decides the bits of a run, a line for each key that is not as usual.
std::string decisive_options(const TrainingOptions& options, const DataOptions& reading);

// Of the adapters. Throws Error for options of theirs where none are asked for.
LoraOptions lora_options(const TrainingOptions& options);

// Throws Error for options of a teacher where there is none.
void check_distillation(const TrainingOptions& options);

// For --help: names and what they are.
std::string optimizers_text();

}  // namespace hone

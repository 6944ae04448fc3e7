#include "jobs/train_options.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/registry.h"
#include "base/text.h"
#include "io/toml.h"
#include "train/registry.h"

namespace hone {
namespace {

using T = TrainingOptions;

constexpr OptionField<T> kFields[] = {
    {"epochs", "how often all rows are seen", &T::epochs},
    {"steps", "how many updates are made, instead of epochs", &T::steps},
    {"batch", "rows of one update", &T::batch},
    {"parts", "in how many parts the rows of an update run, one after the other, to spare memory", &T::parts},
    {"window", "batches of texts whose rows are sorted by length together, so that little is padded; 1: none",
     &T::window},
    {"in-order", "take rows in the data's order in every epoch, instead of another each time", &T::in_order},
    {"max-length", "tokens that a text is cut to; 0: as many as the model takes", &T::max_length},
    {"recompute",
     "compute activations again for the backward pass, and keep one of so many places where a single value "
     "goes on; 0: keep all",
     &T::recompute},
    {"optimizer", "sgd, adam, adamw, lion or adafactor", &T::optimizer},
    {"rate", "the learning rate; 0: the optimizer's usual one", &T::rate},
    {"decay", "weight decay; -1: the optimizer's usual one", &T::decay},
    {"optimizer-option", "one of the optimizer's own, e.g. beta2=0.98", &T::optimizer_option},
    {"rule",
     "weights with a rule of their own: NAMES=frozen, NAMES=trained, NAMES=lazy or NAMES=rate:0.1,decay:0, where NAMES "
     "is a regular expression or op:NAME; the first that matches counts",
     &T::rule},
    {"decay-all", "let biases and weights of normalizations decay, too", &T::decay_all},
    {"clip-norm", "largest norm of all gradients together; 0: any", &T::clip_norm},
    {"clip-value", "largest magnitude of an element of a gradient; 0: any", &T::clip_value},
    {"dropout", "share of what the last layer reads that is left out", &T::dropout},
    {"dropout-layers", "layers whose inputs go through dropout instead: a regular expression of weights' names",
     &T::dropout_layers},
    {"loss", "cross-entropy, bce, mse or kl (default: what suits the labels)", &T::loss},
    {"class-weights",
     "weights of the classes in cross-entropy: \"balanced\", or a number for each class, separated by commas",
     &T::class_weights},
    {"label-smoothing", "cross-entropy: share of each row's target that all classes have alike", &T::label_smoothing},
    {"head", "the last layer: auto, keep, replace or add", &T::head},
    {"pooling", "of an added layer behind features of words: auto (their mean), mean or first", &T::pooling},
    {"predictions", "the output that labels are about (default: found)", &T::predictions},
    {"from-scratch", "begin with random weights of this architecture", &T::from_scratch},
    {"lora",
     "train low-rank adapters beside these layers, and the last layer, and nothing else: a regular expression of "
     "weights' names, or op:linear, op:conv, op:gather",
     &T::lora},
    {"lora-rank", "rank of the adapters", &T::lora_rank},
    {"lora-alpha", "what adapters compute counts alpha / rank times; 0: once", &T::lora_alpha},
    {"lora-dropout", "share of what adapters read that is left out", &T::lora_dropout},
    {"rslora", "adapters count alpha / sqrt(rank) times", &T::rslora},
    {"dora", "adapters learn the lengths of the weights' rows, too", &T::dora},
    {"keep-zeros", "weights that are 0 stay 0: those that were pruned", &T::keep_zeros},
    {"qat",
     "train weights, and what layers read, rounded to formats, and write them packed: a rule as of hone quantize, e.g. "
     "op:linear=int4.channel, op:conv.in=int8",
     &T::qat},
    {"learn-scales", "learn the scales of the formats of qat, too", &T::learn_scales},
    {"teacher", "a model whose predictions are learned beside the labels, or what its layers compute", &T::teacher},
    {"temperature", "what the predictions of both are divided by before they are compared", &T::temperature},
    {"distill-weight", "share of the loss that the teacher's predictions make; the labels make the rest",
     &T::distill_weight},
    {"distill-layers",
     "STUDENT=TEACHER, a layer that learns to compute what one of the teacher's does: the names of weights without "
     ".weight, or of attention, whose probabilities are compared",
     &T::distill_layers},
    {"distill-layer-weight", "how often the mean squared differences of those layers count", &T::distill_layer_weight},
    {"image-size", "side that images are resized to; 0: as the model takes them", &T::image_size},
    {"crop-padding", "black around training images, from which a part of their size is cut anywhere", &T::crop_padding},
    {"flip", "mirror training images as often as not", &T::flip},
    {"metric", "what validation goes by, e.g. accuracy, f1, mcc, mse (default: what suits the labels)", &T::metric},
    {"validate-every", "steps between two validations; 0: after each epoch", &T::validate_every},
    {"checkpoint-every", "steps between two checkpoints; 0: after each epoch", &T::checkpoint_every},
    {"log-every", "steps between two entries of the log", &T::log_every},
    {"patience", "end after so many validations in a row that have not moved the metric on; 0: never", &T::patience},
    {"seed",
     "random seed for the order of rows, augmentation, dropout and new weights",
     &T::seed,
     nullptr,
     false,
     {.least = 0}},
};

void expect_at_least(const char* name, int64_t value, int64_t least) {
  if (value < least) fail("option {}: {} is too small; at least {} is needed", name, value, least);
}

}  // namespace

std::span<const OptionField<TrainingOptions>> training_fields() {
  static const std::vector<OptionField<T>> fields = [] {
    std::vector<OptionField<T>> all(std::begin(kFields), std::end(kFields));
    append_fields(all, ScheduleOptions::fields());
    return all;
  }();
  return fields;
}

ChosenOptimizer choose_optimizer(const TrainingOptions& options) {
  for (const auto& [name, value] : {std::pair("batch", options.batch),
                                    {"parts", options.parts},
                                    {"window", options.window},
                                    {"log-every", options.log_every}})
    expect_at_least(name, value, 1);
  for (const auto& [name, value] : {std::pair("epochs", options.epochs),
                                    {"steps", options.steps},
                                    {"max-length", options.max_length},
                                    {"image-size", options.image_size},
                                    {"crop-padding", options.crop_padding},
                                    {"validate-every", options.validate_every},
                                    {"checkpoint-every", options.checkpoint_every},
                                    {"patience", options.patience},
                                    {"recompute", options.recompute},
                                    {"seed", options.seed}})
    expect_at_least(name, value, 0);
  if (options.epochs == 0 && options.steps == 0) fail("epochs and steps are 0: there is nothing to do");
  if (options.parts > options.batch) fail("a batch of {} rows can't run in {} parts", options.batch, options.parts);
  const OptimizerDef* def = find_def(train::all(), options.optimizer);
  if (!def) {
    const std::vector<std::string> names = names_of(train::all());
    fail("unknown optimizer {}; known: {}{}", options.optimizer, fmt::join(names, ", "),
         did_you_mean(options.optimizer, names));
  }
  ChosenOptimizer chosen{.def = def, .options = def->options->defaults(), .rate = def->rate, .decay = def->decay};
  if (options.rate != 0) chosen.rate = options.rate;
  if (options.decay != -1) chosen.decay = options.decay;
  for (const std::string& text : options.optimizer_option) {
    const size_t at = text.find('=');
    if (at == std::string::npos) fail("optimizer-option \"{}\": expected NAME=VALUE, e.g. beta2=0.98", text);
    def->options->set(chosen.options, text.substr(0, at), {text.substr(at + 1)});
  }
  return chosen;
}

void read_train_config(const std::string& path, TrainingOptions& options, DataOptions& reading,
                       std::string& data_path) {
  const std::vector<std::string> names = option_names(training_fields()), of_data = option_names(DataOptions::fields());
  std::vector<std::pair<std::string, std::string>> of_optimizers;  // a file may have options of several
  for (const auto& [key, values] : read_toml_options(path)) {
    try {
      const size_t dot = key.find('.');
      const std::string table = dot == std::string::npos ? "" : key.substr(0, dot), name = key.substr(dot + 1);
      if (key == "data" || key == "data.path") {
        if (values.size() != 1) fail("data is one path, found {}", values.size());
        data_path = (std::filesystem::path(path).parent_path() / values[0]).string();
      } else if (table == "data") {
        set_option(DataOptions::fields(), reading, name, values);
      } else if (table.empty() || table == "train") {
        const bool is_data = !std::ranges::count(names, name) && std::ranges::count(of_data, name);
        if (is_data) set_option(DataOptions::fields(), reading, name, values);
        else set_option(training_fields(), options, name, values);
        if (name == "teacher") options.teacher = (std::filesystem::path(path).parent_path() / options.teacher).string();
      } else {
        if (!find_def(train::all(), table))
          fail("unknown table [{}]; known: [train], [data], and those of optimizers", table);
        if (values.size() != 1) fail("option {} takes one value, found {}", name, values.size());
        of_optimizers.emplace_back(table, name + "=" + values[0]);
      }
    } catch (const Error& e) {
      fail("{}: {}", path, e.what());
    }
  }
  for (auto& [table, option] : of_optimizers)
    if (table == options.optimizer) options.optimizer_option.push_back(std::move(option));
}

std::string decisive_options(const TrainingOptions& options, const DataOptions& reading) {
  TrainingOptions decisive = options;
  const TrainingOptions usual;
  decisive.log_every = usual.log_every;
  decisive.checkpoint_every = usual.checkpoint_every;
  decisive.patience = usual.patience;
  return options_toml(training_fields(), decisive) + options_toml(DataOptions::fields(), reading);
}

LoraOptions lora_options(const TrainingOptions& options) {
  const T usual;
  const bool is_asked = options.lora_rank != usual.lora_rank || options.lora_alpha != usual.lora_alpha ||
                        options.lora_dropout != usual.lora_dropout || options.rslora || options.dora;
  if (is_asked && options.lora.empty())
    fail("options of adapters are given, and no layers that get some: lora names them, e.g. --lora op:linear");
  return {.rule = options.lora,
          .skip = {},
          .rank = options.lora_rank,
          .alpha = options.lora_alpha,
          .dropout = options.lora_dropout,
          .rslora = options.rslora,
          .dora = options.dora,
          .seed = options.seed};
}

void check_distillation(const TrainingOptions& options) {
  const T usual;
  const bool is_asked = options.temperature != usual.temperature || options.distill_weight != usual.distill_weight ||
                        options.distill_layer_weight != usual.distill_layer_weight || !options.distill_layers.empty();
  if (options.teacher.empty() && is_asked)
    fail("options of distillation are given, and no teacher: teacher names a model, e.g. --teacher large.safetensors");
  if (!options.teacher.empty() && options.distill_weight == 0 && options.distill_layers.empty())
    fail("nothing is learned from the teacher: distill-weight is 0, and distill-layers names none");
}

std::string optimizers_text() {
  std::string text;
  for (const OptimizerDef* def : train::all()) {
    text += fmt::format("  {:10} {} (rate {:g}, decay {:g})\n", def->name, def->doc, def->rate, def->decay);
    for (const OptionInfo& info : def->options->fields())
      text += fmt::format("             {}={}: {}\n", info.name, info.default_text, info.doc);
  }
  return text;
}

}  // namespace hone

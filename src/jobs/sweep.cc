#include "jobs/sweep.h"

#include "jobs/format_list.h"

namespace hone {
namespace {

using S = SweepOptions;

constexpr OptionField<S> kAsked[] = {
    flag("formats", "Formats and patterns, e.g. 'int{4..32}.f{2,4,8},mxint{2..8}'", &S::formats,
         {.takes_several = true}),
    flag("sparsity", "Prune instead, to these shares: 0.1:0.9, 0.5:0.9:0.05 or 0.5,0.75", &S::sparsity),
    flag("methods", "Scores to prune by, e.g. random,l1 (hone prune --help lists them)", &S::methods,
         {.has_commas = true, .takes_several = true, .only_with = "sparsity"}),
    flag("structure", "What is pruned: none, heads, neurons, channels or layers", &S::structure,
         {.only_with = "sparsity"}),
    flag("scope", "local or global", &S::scope, {.only_with = "sparsity"})};
constexpr OptionField<EvaluationFlags> kData[] = {
    flag("data",
         "What quality is measured on, half of it to choose by and half to report: a file as of --calib, or a data set "
         "(default: that of --calib; where the method learns, it learns from the other half)",
         &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<S> kOwn[] = {
    flag("with-activations", "The inputs of products in each format too", &S::with_activations),
    flag("train",
         "Train the model in each format as well, beside quantizing it, or after pruning, where zeros stay: for one "
         "epoch on the training rows of --data, or as --train-config says",
         &S::train),
    flag("train-config", "TOML file with the keys of hone train --config", &S::train_config,
         {.file = OptionFile::reads, .only_with = "train"}),
    flag("measurements",
         "File in which measurements are remembered between runs (default: measurements.txt in --output)",
         &S::measurements, {.file = OptionFile::writes})};

// The last layer stays what it is: outputs are compared with the original's.
std::optional<TrainModelOptions> training_of(const S& options, const SessionOptions& session) {
  if (!options.train) return std::nullopt;
  TrainModelOptions training;
  training.training.epochs = 1;
  training.training.head = "keep";
  training.data = options.data;
  training.reading = options.choice().data.reading;
  if (!options.train_config.empty())
    read_train_config(options.train_config, training.training, training.reading, training.data);
  if (training.data.empty()) fail("there is nothing to train on; give --data, or the key data in --train-config");
  if (!training.training.qat.empty())
    fail("{}: qat says what is rounded, which {}; leave it out", options.train_config,
         options.sparsity.empty() ? "here --formats do" : "a sweep of --formats does");
  training.session = session;
  return training;
}

SessionOptions session_of(const S& options) {
  SessionOptions session = options.session_options();
  session.compute = options.compute_type();
  return session;
}

FormatSweepOptions of_formats(const S& options) {
  const SessionOptions session = session_of(options);
  return {.formats = parse_format_list(options.formats),
          .activations = options.with_activations,
          .quantize = options.quantize(),
          .data = {options.data, options.calibration().batch, {}},
          .calibration = options.calibration(),
          .judged = options.choice(),
          .training = training_of(options, session),
          .session = session,
          .measurements = options.measurements};
}

// The options of quantizing stay unused, but for the data.
PruneSweepOptions of_pruning(const S& options) {
  if (!options_toml(quantize_fields(), options.quantize()).empty() || options.with_activations)
    fail("options of formats are given with --sparsity; they are for --formats");
  const SessionOptions session = session_of(options);
  PruneOptions prune;
  prune.structure = options.structure, prune.scope = options.scope;
  return {.sparsities = parse_sparsities(options.sparsity),
          .methods = options.methods.empty() ? std::vector<std::string>{"l1"} : options.methods,
          .prune = prune,
          .data = {options.data, options.calibration().batch, {}},
          .calibration = options.calibration(),
          .judged = options.choice(),
          .training = training_of(options, session),
          .session = session,
          .measurements = options.measurements};
}

}  // namespace

std::span<const OptionField<S>> S::asked_fields() { return kAsked; }

std::span<const OptionField<S>> S::other_fields() {
  static const auto all = joined_fields<S>(kData, EvaluationFlags::choice_fields("data-"), kOwn,
                                           QuantizeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields());
  return all;
}

std::span<const OptionField<S>> S::fields() {
  static const auto all = joined_fields<S>(asked_fields(), other_fields());
  return all;
}

TypedSweepOptions S::typed() const {
  check();
  if (data.empty() && calibration().file.empty()) fail("there is nothing to measure quality on; give --data FILE");
  if (formats.empty() == sparsity.empty())
    fail("a sweep is over formats or over sparsities; give one of --formats and --sparsity");
  if (sparsity.empty()) return of_formats(*this);
  return of_pruning(*this);
}

SweepResult sweep(const Model& model, const TypedSweepOptions& options, const TaskContext& context) {
  if (const auto* of_formats = std::get_if<FormatSweepOptions>(&options))
    return sweep_formats(model, *of_formats, context);
  return sweep_pruning(model, std::get<PruneSweepOptions>(options), context);
}

SweepResult sweep(const Model& model, const SweepOptions& options, const TaskContext& context) {
  return sweep(model, options.typed(), context);
}

}  // namespace hone

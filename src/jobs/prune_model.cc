#include "jobs/prune_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "calibrate/collect.h"
#include "data/reader.h"
#include "io/artefact.h"
#include "io/sparse_storage.h"
#include "ir/bodies.h"
#include "jobs/calibration_data.h"
#include "jobs/evaluation.h"
#include "jobs/scratch_folder.h"
#include "jobs/train_model.h"
#include "jobs/untrained_lines.h"
#include "ops/calls/conv.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "passes/pipelines.h"
#include "prune/loss_gradients.h"
#include "train/train_graph.h"
#include "train/training_form.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr OptionField<PruneSchedule> kFields[] = {
    {"schedule",
     "one-shot, gradual (more in each stage, by a cubic curve) or iterative (a share of what is left in each "
     "stage, and the weights begin anew as they were)",
     &PruneSchedule::schedule},
    {"stages", "stages of a schedule, with training after each", &PruneSchedule::stages},
    {"score-rate", "learning rate of the descent that the score movement follows", &PruneSchedule::score_rate},
};

constexpr OptionField<PruneFlags> kOwn[] = {
    flag("data",
         "What scores, and training, learn from: texts, arrays or a data set; for snip and movement with labels",
         &PruneFlags::data, {.file = OptionFile::reads}),
    flag("batch", "Samples of the data that run at once", &PruneFlags::rows_at_once,
         {.least = 1, .most = int64_t{1} << 20}),
    flag("train-config", "TOML file with the keys of hone train: trains what is left, after each stage; zeros stay",
         &PruneFlags::train_config, {.file = OptionFile::reads}),
    flag("store", "whole, or sparse: a bitmap and the values that are left, where that is smaller",
         &PruneFlags::store)};

const char* loss_of(TargetKind kind) {
  switch (kind) {
    case TargetKind::classes:
      return "cross-entropy";
    case TargetKind::labels:
      return "bce";
    case TargetKind::numbers:
      return "mse";
    default:
      return nullptr;
  }
}

// The rows for training of a data set, or all where it has no splits; or an array file, with labels.
CalibrationData labelled_samples(const Model& model, const Calibration& data, const DataOptions& reading) {
  const bool is_read_otherwise = !options_toml(DataOptions::fields(), reading).empty();
  if (is_calibration_file(data.file) && !is_read_otherwise) return read_calibration(model, data.file, data.batch);
  const Dataset dataset = read_dataset(data.file, reading);
  const bool has_train = std::ranges::count(dataset.splits, "train", &Split::name) > 0;
  return evaluation_samples(
      model, {.data = {.path = data.file, .reading = reading, .split = has_train ? "train" : "", .batch = data.batch}});
}

double sparsity_of_stage(const PruneSchedule& schedule, double whole, int64_t stage) {
  const double t = static_cast<double>(stage) / static_cast<double>(schedule.stages);
  return schedule.schedule == "gradual" ? whole * (1 - std::pow(1 - t, 3)) : 1 - std::pow(1 - whole, t);
}

int64_t weight_count(const Graph& graph) { return sizes(graph).parameters; }

// What reads weights that are pruned, and tables, of which no one expects it.
constexpr const OpDef* kSeen[] = {&linear_def, &conv_def, &gather_def};

class Pruner {
 public:
  Pruner(const Model& model, const PruneModelOptions& options, const TaskContext& context)
      : model_(model), options_(options), context_(context) {
    check();
  }

  PrunedModel run() {
    TrainingForm form = training_form(model_.graph);
    original_ = std::move(form.graph);
    passed_over_ = passed_over_lines(unseen_weights(original_, kSeen), form.relaid, "unpruned");
    Model current = model_;
    current.graph = original_;
    const auto stages = options_.schedule.schedule == "one-shot" ? int64_t{1} : options_.schedule.stages;
    double before = 0;
    for (int64_t stage = 1; stage <= stages; ++stage) {
      PruneOptions now = options_.prune;
      const double whole = now.sparsity < 0 ? 0.5 : now.sparsity;
      if (stages > 1) {
        const double overall = sparsity_of_stage(options_.schedule, whole, stage);
        // Channels that went are no more; weights that went are the zeros with the lowest scores.
        now.sparsity = is_structured(now) ? 1 - (1 - overall) / (1 - before) : overall;
        before = overall;
      }
      context_.tell(fmt::format("stage {} of {}: scores", stage, stages));
      const ScoreSources sources =
          score_sources(current, current.graph, now, options_.data, options_.schedule.score_rate);
      PrunedGraph pruned = prune_weights(current.graph, now, sources);
      parts_ = std::move(pruned.parts);
      current.graph = std::move(pruned.graph);
      if (options_.schedule.schedule == "iterative") rewind(current.graph);
      current.graph.compact();
      if (!options_.train_config.empty()) train(current, stage);
    }
    return result(std::move(current));
  }

 private:
  void check() const {
    check_options(options_.prune);
    const PruneSchedule& s = options_.schedule;
    const std::vector<std::string> known{"one-shot", "gradual", "iterative"};
    if (!std::ranges::count(known, s.schedule))
      fail("schedule is \"{}\"; accepted: {}{}", s.schedule, fmt::join(known, ", "), did_you_mean(s.schedule, known));
    if (s.stages < 1 || s.stages > 1000) fail("stages are {}; accepted: 1 to 1000", s.stages);
    if (!(s.score_rate > 0) || !std::isfinite(s.score_rate)) fail("score-rate is {}; accepted: above 0", s.score_rate);
    if (s.schedule != "one-shot" && options_.train_config.empty())
      fail(
          "a schedule has training between its stages; say how by --train-config FILE (the keys of hone train "
          "--config)");
    if (s.schedule == "iterative" && is_structured(options_.prune))
      fail("iterative begins anew with the weights as they were, which {} no longer fit; take gradual",
           options_.prune.structure);
    if (s.schedule != "one-shot" &&
        (options_.prune.structure == "layers" || options_.prune.structure.find(':') != std::string::npos))
      fail("{} go at once; leave the schedule out, and train after it by --train-config", options_.prune.structure);
    if (!options_.train_config.empty() && options_.data.file.empty())
      fail("there is nothing to train on; give --data FILE");
    const std::vector<std::string> stores{"whole", kSparse};
    if (!std::ranges::count(stores, options_.store))
      fail("store is \"{}\"; accepted: {}{}", options_.store, fmt::join(stores, ", "),
           did_you_mean(options_.store, stores));
  }

  // The weights as they were before training, without those that went: Frankle and Carbin, "The lottery ticket
  // hypothesis" (2019). What training added stays as it is.
  void rewind(Graph& graph) const {
    for (const PrunedPart& part : parts_) {
      const ValueId now = graph.find_constant(part.name), then = original_.find_constant(part.name);
      if (now == kNone || then == kNone) continue;
      const std::vector<float> trained = graph.constant(now)->to_floats();
      std::vector<float> values = original_.constant(then)->to_floats();
      for (size_t i = 0; i < values.size(); ++i)
        if (trained[i] == 0) values[i] = 0;
      graph.set_constant(now, Tensor::from_floats(graph.constant(now)->dtype(), graph.constant(now)->shape(), values));
    }
    for (ValueId id : graph.constants()) {
      const ValueId then = original_.find_constant(graph.value(id).label);
      const bool is_pruned = std::ranges::count(parts_, graph.value(id).label, &PrunedPart::name) > 0;
      if (graph.value(id).label.empty() || is_pruned || then == kNone) continue;
      if (original_.constant(then)->type() == graph.constant(id)->type())
        graph.set_constant(id, *original_.constant(then));
    }
  }

  void train(Model& current, int64_t stage) {
    const std::string in = scratch_.path() + fmt::format("/pruned_{}.safetensors", stage),
                      out = scratch_.path() + fmt::format("/trained_{}.safetensors", stage);
    save_as_artefact(in, current.graph, current.files);
    TrainModelOptions training{.data = options_.data.file};
    std::string named_data;
    read_train_config(options_.train_config, training.training, training.reading, named_data);
    if (!named_data.empty() && !fs::equivalent(named_data, options_.data.file))
      fail("{}: names the data {}, and --data {}; leave it out there", options_.train_config, named_data,
           options_.data.file);
    training.training.keep_zeros = true;
    training.session = options_.data.session;
    const Model begun = load_model(in);
    const TrainedModel after =
        train_model(begun, training, {.progress = context_.progress, .cancelled = context_.cancelled});
    trained_.push_back({after.outcome, after.data_rows, after.data});
    save_trained(out, after, begun);
    Model trained = load_model(out);
    trained.path = model_.path, trained.name = model_.name;
    trained.weight_files = model_.weight_files, trained.file_bytes = model_.file_bytes;
    current = std::move(trained);
  }

  PrunedModel result(Model pruned) const {
    const int64_t after = weight_count(pruned.graph);
    const StoredBytes stored = stored_bytes(pruned.graph);
    const bool is_sparse = options_.store == kSparse;
    if (is_sparse) pruned.graph.metadata[kStoreKey] = kSparse;
    return {.model = std::move(pruned),
            .structure = options_.prune.structure,
            .is_smaller = is_structured(options_.prune),
            .is_sparse = is_sparse,
            .weights_before = weight_count(original_),
            .weights_after = after,
            .stored = stored,
            .parts = parts_,
            .passed_over = passed_over_,
            .trained = trained_};
  }

  const Model& model_;
  const PruneModelOptions& options_;
  const TaskContext& context_;
  Graph original_;
  std::vector<PrunedPart> parts_;
  std::vector<StageTraining> trained_;
  std::vector<std::string> passed_over_;
  ScratchFolder scratch_;
};

}  // namespace

std::span<const OptionField<PruneSchedule>> prune_schedule_fields() { return kFields; }

std::span<const OptionField<PruneFlags>> PruneFlags::own_fields() {
  static const auto all = joined_fields<PruneFlags>(prune_fields(), prune_schedule_fields(), kOwn);
  return all;
}

std::span<const OptionField<PruneFlags>> PruneFlags::fields() {
  static const auto all = joined_fields<PruneFlags>(own_fields(), RunFlags::fields());
  return all;
}

PruneModelOptions PruneFlags::typed() const {
  return {.prune = *this,
          .schedule = *this,
          .data = {data, rows_at_once, session_options()},
          .train_config = train_config,
          .store = store};
}

LossData loss_data(const Graph& graph, const CalibrationData& read, const std::string& file, const std::string& what) {
  if (read.right.empty() || !loss_of(read.right[0].kind) || read.judged != Judged::rows)
    fail("{}: {} needs data with labels: a data set, or .npz with an array labels", file, what);
  LossData found{.loss = loss_of(read.right[0].kind)};
  const std::string label = predictions_label(graph, "");
  const auto output = std::ranges::find(graph.outputs(), label, &Output::label);
  const TensorType& type = graph.type(output->value);
  for (size_t b = 0; b < read.batches.size(); ++b) {
    NamedTensors batch = read.batches[b];
    const int64_t rows = batch.begin()->second.dim(0);
    const RightAnswers& right = read.right[b];
    const bool classes = right.kind == TargetKind::classes;
    const auto count = static_cast<int64_t>(classes ? right.classes.size() : right.values.size());
    std::vector<int64_t> shape{rows};
    if (count % std::max<int64_t>(rows, 1) != 0) fail("{}: {} labels for {} samples", file, count, rows);
    if (type.rank() > 2 || !classes) shape.push_back(count / rows);
    batch[TrainNames::kLabels] =
        classes ? Tensor::of<int64_t>(shape, right.classes) : Tensor::of<float>(shape, right.values);
    found.batches.push_back(std::move(batch));
  }
  return found;
}

ScoreSources score_sources(const Model& model, const Graph& graph, const PruneOptions& options, const Calibration& data,
                           double score_rate, const DataOptions& reading) {
  using Needs = ScoreDef::Needs;
  const ScoreDef& def = find_score(options);
  ScoreSources sources;
  if (def.needs == Needs::nothing) return sources;
  if (data.file.empty())
    fail("method {} scores weights by data; give --data FILE{}", def.name,
         def.needs == Needs::inputs ? "" : ", with labels");
  const std::vector<std::string> labels = prunable_weights(graph, options);
  if (def.needs == Needs::inputs) {
    const CalibrationData read = read_calibration(model, data.file, data.batch, reading);
    sources.statistics =
        collect_statistics(graph, read.batches, {.moments = true, .only = labels, .session = data.session});
    return sources;
  }
  const LossData loss =
      loss_data(graph, labelled_samples(model, data, reading), data.file, fmt::format("method {}", def.name));
  sources.gradients = def.needs == Needs::gradient ? loss_gradients(graph, labels, loss, data.session)
                                                   : weight_movements(graph, labels, loss, score_rate, data.session);
  return sources;
}

PrunedModel prune_model(const Model& model, const PruneModelOptions& options, const TaskContext& context) {
  return Pruner(model, options, context).run();
}

PrunedModel prune_model(const Model& model, const PruneFlags& options, const TaskContext& context) {
  return prune_model(model, options.typed(), context);
}

void check_storage(const PruneModelOptions& options, const std::string& output) {
  const ExporterDef& exporter = exporter_for(output);  // also refuses names that say no format
  if (options.store == kSparse && !exporter.has_sparse_storage)
    fail("{}: a bitmap and values are stored in .safetensors; ONNX has all elements", output);
}

SavedModel save_pruned(const std::string& path, const PrunedModel& pruned, const Model& original) {
  Model source = pruned.model;
  source.graph = original.graph;
  return save_model(path, pruned.model.graph, source);
}

StoredBytes stored_bytes(const Graph& graph) {
  StoredBytes bytes;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId id : each.constants()) {
      bytes.whole += each.constant(id)->bytes();
      bytes.sparse += sparse_bytes(*each.constant(id));
    }
  });
  return bytes;
}

}  // namespace hone

#include "nas/trial_life.h"

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "io/artefact.h"
#include "io/artefact_size.h"
#include "io/tokenizer_files.h"
#include "ir/flops.h"
#include "jobs/build_model.h"
#include "jobs/finite_weights.h"
#include "jobs/open_session.h"
#include "jobs/prune_model.h"
#include "jobs/save_model.h"
#include "jobs/scratch_folder.h"
#include "jobs/text_inputs.h"
#include "jobs/train_model.h"
#include "measure/timing.h"
#include "nas/trial_start.h"
#include "nas/zero_cost.h"
#include "passes/compress/lora.h"
#include "tokenizers/word_vocabulary.h"
#include "train/head.h"
#include "train/initialise.h"
#include "train/nested_weights.h"
#include "train/train_graph.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// A name and not a rule that matches what there is.
bool is_name(const std::string& address) {
  return address.find(':') == address.npos && address.find_first_of("\\^$*+?()[]{}|") == address.npos;
}

// Rules of the plan with the addresses of its formats: one that is the name of a constant is that constant alone, and
// chooses nothing in a candidate of fewer layers that lacks it.
QuantizeOptions rounding_of(const TrialPlan& plan, const Graph& graph) {
  QuantizeOptions options = plan.quantize;
  for (const auto& [address, format] : plan.formats) {
    const bool here = has_address(graph, address);
    if (!here && plan.is_built() && is_name(address)) continue;
    options.rule.push_back((here ? "name:" : "") + address + "=" + format);
  }
  return options;
}

bool rounds(const QuantizeOptions& options) {
  return !options.to.empty() || !options.rule.empty() || !options.activations.empty();
}

void file_figures(const Graph& graph, const ShapeOptions& shapes, bool with_flops, Figures& figures) {
  const Sizes all = sizes(graph);
  figures["parameters"] = static_cast<double>(all.parameters);
  figures["bits"] =
      all.parameters == 0 ? 0 : 8 * static_cast<double>(all.weight_bytes) / static_cast<double>(all.parameters);
  if (!with_flops) return;
  const Graph fixed = specialise(graph, bind_symbols(graph, shapes));
  double flops = 0;
  for (NodeId node : fixed.nodes()) flops += node_flops(fixed, node);
  figures["flops"] = flops;
}

void remove_random_mark(Graph& graph) { graph.metadata.erase("random_weights"); }

}  // namespace

std::shared_ptr<const EvaluationData> TrialLife::read_data(const LifeOptions& options) {
  if (options.data.empty()) return nullptr;
  DataChoice choice = options.judged.data;
  choice.path = options.data;
  if (choice.split.empty()) {  // what is left for the end is not what candidates are chosen by
    const Dataset dataset = read_dataset(choice.path, choice.reading);
    if (dataset.find_split("validation")) choice.split = "validation";
  }
  return std::make_shared<const EvaluationData>(read_evaluation_data(choice));
}

TrialLife::TrialLife(LifeOptions options, std::shared_ptr<const EvaluationData> data)
    : options_(std::move(options)),
      data_(std::move(data)),
      latencies_(std::make_unique<LatencyTable>(options_.latency_table)) {
  for (const std::string& figure : options_.figures)
    if (figure_kind(figure).needs_data && options_.data.empty())
      fail("{} is a figure of labelled data; give --data", figure);
  options_.judged.data.path = options_.data;
  if (!data_) data_ = read_data(options_);
  if (options_.vocabulary > 0) vocabulary_ = word_vocabulary(training_texts(), options_.vocabulary);
}

std::vector<std::string> TrialLife::training_texts() const {
  if (!data_ || data_->dataset.texts.empty()) fail("a vocabulary is made of texts, and there are none; give --data");
  const Split* train = data_->dataset.find_split("train");
  if (!train) return data_->dataset.texts;
  std::vector<std::string> texts;
  for (const int64_t row : train->rows) texts.push_back(data_->dataset.texts[static_cast<size_t>(row)]);
  return texts;
}

std::string TrialLife::metric_of(const std::string& figure) const {
  if (figure != "loss") return figure_kind(figure).metric;
  const bool numbers = data_ && std::holds_alternative<Targets>(data_->dataset.labels);
  return numbers ? "mse" : "cross_entropy";
}

Model TrialLife::start(const TrialPlan& plan) const {
  Model model = plan.is_built()
                    ? build_model({.model = plan.model, .set = plan.build, .weights = "", .seed = options_.seed})
                    : load_model(plan.model, plan.inputs, plan.model_format);
  if (!options_.tokenizer.empty()) model.files[fs::path(options_.tokenizer).filename()] = read_file(options_.tokenizer);
  if (!vocabulary_.empty()) model.files[kVocabTxt] = vocabulary_;
  if (!options_.inherit.empty()) {
    if (!plan.is_built())
      fail("{} has weights; only what hone build builds can inherit those of {}", plan.model, options_.inherit);
    inherit_weights(model.graph, load_model(options_.inherit).graph);
  }
  if (!plan.identities.empty()) model.graph = without_layers(canonicalise_for_training(model.graph), plan.identities);
  return model;
}

Model TrialLife::network(const TrialPlan& plan) const {
  const LabelNeeds needs = label_needs(data_->dataset);
  Model model = start(plan);
  model.graph = fit_head(canonicalise_for_training(model.graph),
                         {.width = needs.width, .per_word = needs.per_word, .seed = options_.seed})
                    .graph;
  return model;
}

Model TrialLife::begin(const TrialPlan& plan) const {
  return supernet_ ? supernet_->begun(network(plan)) : start(plan);
}

// Built weights are made for speed, not to learn.
bool TrialLife::begins_anew(const TrialPlan& plan) const {
  return plan.is_built() && options_.inherit.empty() && !supernet_;
}

Model TrialLife::trained(Model model, const TrainingOptions& training, const std::string& folder, bool keep_zeros,
                         const LifeHooks& hooks, int64_t steps_before) const {
  if (!data_) fail("a candidate is to be trained, and there are no data; give --data");
  const std::string in = folder + "/in.safetensors", out = folder + "/out.safetensors";
  save_artefact(in, model.graph, model.files);
  TrainModelOptions options{.data = options_.data, .reading = options_.judged.data.reading};
  options.folder = folder + "/run";
  options.training = training;
  options.training.keep_zeros = keep_zeros || training.keep_zeros;
  std::string& metric = options.training.metric;
  for (const std::string& figure : options_.figures)  // validations go by what the search goes by
    if (metric.empty() && figure != "loss") metric = metric_of(figure);
  options.session = options_.session;
  options.session.compute.reset();
  if (hooks.report)
    options.validated = [&](const Validation& v) {
      hooks.report(steps_before + v.step, {{"loss", v.loss}, {metric, v.metric}});
    };
  const Model begun = load_model(in);
  save_trained(out, train_model(begun, options, {.progress = hooks.progress}), begun);
  Model result = load_model(out);
  fs::remove_all(options.folder), fs::remove(in);
  result.path = model.path, result.name = model.name;
  return result;
}

Model TrialLife::pruned(Model model, const TrialPlan& plan) const {
  check_options(plan.prune);
  model.graph = canonicalise_for_training(model.graph);
  Calibration data = plan.calibration;
  DataOptions reading;  // of the study's own data
  if (data.file.empty()) data.file = options_.data, reading = options_.judged.data.reading;
  data.session = options_.session;
  const ScoreSources sources = score_sources(model, model.graph, plan.prune, data, PruneSchedule().score_rate, reading);
  model.graph = prune_weights(model.graph, plan.prune, sources).graph;
  model.graph.compact();
  return model;
}

// Training after compression sees weights as they will be: fake_quant stays in the graph until it ends, and gradients
// pass straight through.
Model TrialLife::rounded(Model model, const TrialPlan& plan, const std::string& folder, const LifeHooks& hooks) const {
  const int64_t steps_before = plan.trains ? plan.train.steps : 0;
  if (!plan.retrains) {
    const Graph canonical = canonicalise(model.graph);
    const QuantizeOptions options = rounding_of(plan, canonical);
    Calibration calibration = plan.calibration;
    calibration.session = options_.session;
    model.graph = rounds(options) ? quantize_model(model, options, std::nullopt, calibration).graph : canonical;
    return model;
  }
  model.graph = canonicalise_for_training(model.graph);
  const QuantizeOptions options = rounding_of(plan, model.graph);
  if (rounds(options)) {
    if (options.method != "nearest")
      fail("quantize.method {}: weights that are trained as they are rounded are rounded to the nearest; leave it out",
           options.method);
    model.graph = run_pass(model.graph, "quantize", {FormatRules(options)});
  }
  TrainingOptions training = plan.retrain;
  if (training.head == "auto") training.head = "keep";  // it is rounded as the other layers are, and fits the labels
  model = trained(std::move(model), training, folder, plan.prunes, hooks, steps_before);
  model.graph = canonicalise(run_pass(canonicalise_for_training(model.graph), "fold_fake_quant"));
  return model;
}

void TrialLife::judge(const Model& model, Figures& figures, const Progress& progress) const {
  EvaluationOptions judged = options_.judged;
  judged.metrics.clear();
  for (const std::string& figure : options_.figures) {
    const std::string metric = metric_of(figure);
    if (!metric.empty() && !std::ranges::count(judged.metrics, metric)) judged.metrics.push_back(metric);
  }
  if (judged.metrics.empty()) return;
  Session session = open_session(model, options_.session);
  const Evaluated evaluated = Evaluation(model, *data_, judged).run(session, progress);
  for (const std::string& figure : options_.figures)
    for (const Figure& found : evaluated.figures)
      if (found.name == metric_of(figure)) figures[figure] = found.estimate.value;
}

void TrialLife::time(const Model& model, Figures& figures) const {
  if (options_.figures.contains("predicted_latency")) {
    const LatencyPrediction predicted =
        latencies_->predict(model, options_.shapes, options_.session, options_.latency_seconds);
    figures["predicted_latency"] = predicted.ms;
    if (predicted.end_to_end_ms) figures["latency"] = *predicted.end_to_end_ms;
  }
  if (!options_.figures.contains("latency") && !options_.figures.contains("memory")) return;
  Session session = open_session(model, options_.session);
  const NamedTensors inputs =
      default_inputs(session.graph(), bind_symbols(session.graph(), options_.shapes), options_.seed);
  session.run(inputs);
  const SessionStatistics s = session.statistics();
  figures["memory"] =
      static_cast<double>(s.prepacked_bytes + s.direct_weight_bytes + s.arena_bytes + s.scratch_bytes + s.output_bytes);
  if (!options_.figures.contains("latency")) return;
  const TimedCall call{"candidate", [&] { session.run(inputs); }};
  const std::vector<Timing> timing =
      interleave({&call, 1}, {.max_seconds = options_.latency_seconds, .max_warmup_seconds = 0.5});
  figures["latency"] = timing[0].p50 * 1e-6;
}

Figures TrialLife::run(const TrialPlan& plan, const std::string& output, const LifeHooks& hooks) const {
  ScratchFolder scratch;
  tell(hooks.progress, "making the model");
  Model model = begin(plan);
  const Graph original = model.graph;
  Figures figures = of_start(plan, model);
  if (plan.trains) {
    TrainingOptions training = plan.train;
    training.from_scratch |= begins_anew(plan);
    model = trained(std::move(model), training, scratch.path(), false, hooks, 0);
    if (has_adapters(model.graph))
      model.graph = run_pass(canonicalise_for_training(model.graph), "fuse_lora", {FuseLoraOptions()});
    remove_random_mark(model.graph);
  }
  if (plan.prunes) {
    tell(hooks.progress, "pruning");
    model = pruned(std::move(model), plan);
  }
  tell(hooks.progress, "rounding");
  model = rounded(std::move(model), plan, scratch.path(), hooks);
  model.graph.metadata["compute"] = to_string(plan.compute);
  require_finite_weights(model.graph, original);
  const SavedModel saved = save_as_artefact(output, model.graph, model.files);
  const Model written = load_model(output);  // what is measured is the file
  figures["bytes"] = static_cast<double>(saved.bytes);
  file_figures(written.graph, options_.shapes, options_.figures.contains("flops"), figures);
  tell(hooks.progress, "judging");
  judge(written, figures, hooks.progress);
  time(written, figures);
  return figures;
}

// A built model's weights are those that its training would begin with.
Figures TrialLife::of_start(const TrialPlan& plan, const Model& model) const {
  std::set<std::string> wanted;
  for (const std::string& figure : options_.figures)
    if (figure_kind(figure).source == FigureSource::start) wanted.insert(figure);
  if (wanted.empty()) return {};
  Model begun = model;
  if (begins_anew(plan))
    begun.graph = with_new_weights(canonicalise_for_training(begun.graph), static_cast<uint64_t>(plan.train.seed));
  if (plan.train.max_length > 0) cut_texts(begun, plan.train.max_length);
  return zero_cost_figures(begun, wanted,
                           {.data = options_.data,
                            .reading = options_.judged.data.reading,
                            .shapes = options_.shapes,
                            .session = options_.session});
}

Figures TrialLife::of_start(const TrialPlan& plan) const { return of_start(plan, begin(plan)); }

// Scores that learn from data decide which weights go, not how many.
Figures TrialLife::of_untrained(const TrialPlan& plan) const {
  TrialPlan quick = plan;
  quick.quantize.method = "nearest";
  quick.quantize.bias_correction = quick.quantize.smooth_quant = quick.quantize.awq_scaling = false;
  quick.prune.method = "l1";
  quick.retrains = false;
  Model model = start(quick);
  if (quick.prunes && is_structured(quick.prune)) model = pruned(std::move(model), quick);
  model = rounded(std::move(model), quick, "", {});
  model.graph.metadata["compute"] = to_string(plan.compute);
  Figures figures{{"bytes", static_cast<double>(artefact_bytes(model.graph, model.files))}};
  file_figures(model.graph, options_.shapes, true, figures);
  return figures;
}

}  // namespace hone

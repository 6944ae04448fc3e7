#include "nas/supernet.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/stop.h"
#include "data/batch_reader.h"
#include "data/dataset_facts.h"
#include "jobs/row_inputs.h"
#include "nas/search_space.h"
#include "ops/calls/batch_norm.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"
#include "train/initialise.h"
#include "train/loop/checkpoint.h"
#include "train/loop/training_loop.h"
#include "train/norm_statistics.h"
#include "train/supernet.h"

namespace hone {
namespace {

constexpr int64_t kCheckpointEvery = 100;  // steps, where nothing else is asked for

constexpr OptionField<SupernetConfig> kOwnFields[] = {
    {"sub-nets", "networks of each step at random, beside the largest and the smallest", &SupernetConfig::sub_nets},
    {"points", "different networks that they are drawn from", &SupernetConfig::points},
    {"statistics", "batches that the batch norms of a candidate are measured on", &SupernetConfig::statistics},
    {"file", "where it is kept, so that it is trained once", &SupernetConfig::file}};
// What of a training holds for that of a supernet.
constexpr std::string_view kTrainingKeys[] = {
    "steps",      "batch",     "window",       "in-order",   "max-length",  "optimizer",        "rate",
    "decay",      "decay-all", "clip-norm",    "clip-value", "dropout",     "label-smoothing",  "temperature",
    "image-size", "flip",      "crop-padding", "recompute",  "seed",        "distill-weight",   "checkpoint-every",
    "schedule",   "warmup",    "final-rate",   "step-every", "step-factor", "optimizer-option", "dropout-layers"};

bool is_of_architecture(const std::string& name) { return name.starts_with("build.") || name.starts_with("layer."); }

// Points of the space as far as they choose a network, each once: none that is a corner.
std::vector<TrialPlan> drawn(const SupernetRequest& request) {
  Study study(open_storage("memory"), {.name = "supernet", .seed = static_cast<uint64_t>(request.config.seed)},
              make_sampler("random", static_cast<uint64_t>(request.config.seed), {}));
  const auto text = [](const TrialPlan& plan) {
    std::string all;
    for (const auto& [key, value] : plan.build) all += key + "=" + value + "\n";
    for (const std::string& name : plan.identities) all += name + "\n";
    return all;
  };
  std::set<std::string> seen{text(corner_plan(request.space, request.fixed, Corner::largest)),
                             text(corner_plan(request.space, request.fixed, Corner::smallest))};
  std::vector<TrialPlan> plans;
  const int64_t tries = 20 * request.config.points;  // a small space has fewer
  for (int64_t i = 0; i < tries && std::ssize(plans) < request.config.points; ++i) {
    LiveTrial trial = study.ask(request.space);
    const Json all = trial.values();
    Json values = Json::object();
    for (const auto& [name, value] : all.items())
      if (is_of_architecture(name)) values[name] = value;
    study.tell(trial, TrialState::failed);
    TrialPlan plan = plan_of(request.fixed, values);
    if (seen.insert(text(plan)).second) plans.push_back(std::move(plan));
  }
  return plans;
}

// What is trained, without inputs that it does not read.
Graph network_graph(const SupernetRequest& request, const TrialPlan& plan) {
  Graph graph = request.network(plan).graph;
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (ValueId input : inputs)
    if (graph.use_count(input) == 0) graph.erase_input(input);
  return graph;
}

// Those that a step trains beside the largest: the smallest, and some of the drawn ones.
std::vector<size_t> sub_nets(const SupernetConfig& config, size_t smallest, std::vector<size_t> points, int64_t step) {
  std::vector<size_t> chosen{smallest};
  Philox random(static_cast<uint64_t>(config.seed), static_cast<uint64_t>(step));
  while (std::ssize(chosen) <= config.sub_nets && !points.empty()) {
    const auto at = points.begin() + random.below(static_cast<uint32_t>(points.size()));
    chosen.push_back(*at);
    points.erase(at);
  }
  return chosen;
}

template <class Work>
auto of_network(const char* which, Work work) {
  try {
    return work();
  } catch (const Error& e) {
    fail("[supernet]: the {} network of the space: {}", which, e.what());
  }
}

}  // namespace

std::span<const OptionField<SupernetConfig>> SupernetConfig::fields() {
  static const std::vector<OptionField<SupernetConfig>> fields = [] {
    std::vector<OptionField<SupernetConfig>> all(std::begin(kOwnFields), std::end(kOwnFields));
    append_fields(all, training_fields());
    std::erase_if(all, [](const auto& field) {
      return !std::ranges::count(kOwnFields, std::string_view(field.name), &OptionField<SupernetConfig>::name) &&
             !std::ranges::count(kTrainingKeys, std::string_view(field.name));
    });
    return all;
  }();
  return fields;
}

std::string SupernetConfig::decisive() const {
  SupernetConfig decisive = *this;
  decisive.file.clear();
  decisive.checkpoint_every = SupernetConfig().checkpoint_every;
  return options_toml(fields(), decisive);
}

SupernetConfig read_supernet(const Json& table, const std::string& source) {
  if (!table.is_object()) fail("{}: supernet is no table of keys", source);
  SupernetConfig config;
  try {
    for (const auto& [key, value] : table.items())
      set_option(SupernetConfig::fields(), config, key, option_texts(value));
    if (config.steps < 1) fail("steps are {}; give steps, at least 1", config.steps);
    if (config.sub_nets < 0 || config.points < config.sub_nets)
      fail("sub-nets are {} of {} points; expected 0 <= sub-nets <= points", config.sub_nets, config.points);
    if (config.points > 1000) fail("points are {}; accepted: up to 1000, each of which is compiled", config.points);
    if (config.statistics < 1) fail("statistics are {}; at least 1 batch is needed", config.statistics);
    if (config.distill_weight == 0 && config.temperature != SupernetConfig().temperature)
      fail("temperature is of what the largest network predicts, and distill-weight is 0");
    choose_optimizer(config);
    Schedule(config, 1, config.steps);
  } catch (const Error& e) {
    fail("{}: [supernet]: {}", source, e.what());
  }
  return config;
}

void check_supernet(const SupernetRequest& request) {
  if (!request.fixed.is_built())
    fail("[supernet]: {} has one architecture; it takes what hone build builds", request.fixed.model);
  if (request.data.empty()) fail("[supernet] is trained on data; give --data");
  if (std::ranges::none_of(request.space.parameters(),
                           [](const SpaceParameter& p) { return is_of_architecture(p.name); }))
    fail(
        "[supernet]: no parameter begins with build. or layer., so that there is one network alone; train it by "
        "[train]");
  const Graph largest = of_network(
      "largest", [&] { return network_graph(request, corner_plan(request.space, request.fixed, Corner::largest)); });
  of_network("smallest", [&] {
    const Graph smallest = network_graph(request, corner_plan(request.space, request.fixed, Corner::smallest));
    require_nested(smallest, largest);
    return 0;
  });
}

Supernet::Supernet(const SupernetRequest& request) : session_(request.session) {
  session_.compute.reset();  // weights and sums are f32
  Model model = request.network(corner_plan(request.space, request.fixed, Corner::largest));
  largest_ = network_graph(request, corner_plan(request.space, request.fixed, Corner::largest));
  if (request.parent_sha256.empty())
    largest_ = with_new_weights(std::move(largest_), static_cast<uint64_t>(request.config.seed));
  Dataset read = read_dataset(request.data, request.reading);
  const DatasetFacts found = check_dataset(read);
  data_.emplace(usable_rows(std::move(read), found, false), model, request.config);
  data_->fit(largest_);
  if (data_->needs().loss == "mse" && request.config.temperature != SupernetConfig().temperature)
    fail("[supernet]: temperature softens the shares of classes, and {} has numbers; leave it out", request.data);
  std::string space;
  for (const SpaceParameter& p : request.space.parameters())
    if (is_of_architecture(p.name)) space += fmt::format("space {} = {}\n", p.name, p.distribution.describe());
  for (const auto& [key, value] : request.fixed.build) space += fmt::format("build {} = {}\n", key, value);
  train(request, sha256_hex(request.fixed.model + model.files.at("config.json")),
        request.config.decisive() + options_toml(DataOptions::fields(), request.reading) + space +
            fmt::format("data = {}\nbegins with = {}\ncode = {}\n", found.sha256, request.parent_sha256,
                        device_name(session_)));
  if (largest_.nodes(batch_norm_def).empty()) return;
  BatchReader batches(data_->train(), 1);
  while (std::ssize(batches_) < request.config.statistics) {
    const std::optional<Batch> batch = batches.next();
    if (!batch) break;
    NamedTensors& inputs = batches_.emplace_back(std::move(data_->parts(*batch, 1)[0]));
    inputs.erase(TrainNames::kLabels);
  }
}

void Supernet::train(const SupernetRequest& request, const std::string& identity, const std::string& options) {
  const SupernetConfig& config = request.config;
  std::optional<Checkpoint> kept;
  int64_t begin = 0;
  if (!config.file.empty() && std::filesystem::exists(config.file)) {
    kept = load_checkpoint(config.file);
    check_resumable(config.file, *kept, identity, options);
    begin = json_get<int64_t>(kept->progress, "step", config.file);
    if (begin < 0 || begin > config.steps) fail("{}: was left at step {} of {}", config.file, begin, config.steps);
  }
  const ChosenOptimizer optimizer = choose_optimizer(config);
  TrainGraphOptions graphs{
      .loss = {.loss = data_->needs().loss, .label_smoothing = config.label_smoothing, .class_weights = {}},
      .groups = {.rules = {}, .decay = optimizer.decay, .decay_all = config.decay_all},
      .optimizer = optimizer.def,
      .optimizer_options = optimizer.options,
      .clip_norm = config.clip_norm,
      .clip_value = config.clip_value,
      .dropout = config.dropout,
      .dropout_layers = config.dropout_layers,
      .seed = static_cast<uint64_t>(config.seed),
      .recompute = config.recompute};
  SupernetTrainer trainer(largest_, {.graphs = graphs,
                                     .distil = {.temperature = config.temperature, .weight = config.distill_weight},
                                     .session = session_});
  if (const std::string note = data_->fit_norms(trainer.trainer().graphs(), 1); !note.empty())
    tell(request.progress, note);
  if (kept) trainer.trainer().restore(kept->tensors, begin, config.file);
  const auto save = [&] {
    if (config.file.empty()) return;
    save_checkpoint(config.file, {.model = identity,
                                  .options = options,
                                  .progress = {{"step", trainer.trainer().steps()}},
                                  .tensors = trainer.trainer().tensors()});
  };
  double loss = std::nan("");
  size_t networks = 0;
  if (begin < config.steps) {
    const size_t smallest = of_network("smallest", [&] {
      return trainer.add(network_graph(request, corner_plan(request.space, request.fixed, Corner::smallest)));
    });
    std::vector<size_t> points;
    for (const TrialPlan& plan : drawn(request)) {
      check_stop();
      tell(request.progress, fmt::format("supernet: making network {}", points.size() + 3));
      Graph graph;
      try {
        graph = network_graph(request, plan);
      } catch (const Error&) {
        continue;  // a candidate that is not possible: a trial of it says why
      }
      points.push_back(of_network("drawn", [&] { return trainer.add(graph); }));
    }
    networks = points.size() + 2;
    const TrainingLoop loop(data_->train(), Schedule(config, optimizer.rate, config.steps), config.steps);
    const int64_t every = config.checkpoint_every > 0 ? config.checkpoint_every : kCheckpointEvery;
    try {
      loop.run(begin, config.steps,
               {.make =
                    [&](const TrainingStep& step) {
                      const std::vector<size_t> parts = sub_nets(config, smallest, points, step.number);
                      return loss = trainer.step(parts, data_->parts(step.batch, 1)[0], step.rate);
                    },
                .lost =
                    [&](const TrainingStep& step, double) {
                      fail("[supernet]: the loss of step {} is {}; give a smaller rate, or clip-norm = 1",
                           step.number + 1, loss);
                    },
                .made =
                    [&](const TrainingStep& step, double) {
                      const int64_t made = step.number + 1;
                      tell(request.progress,
                           fmt::format("supernet: step {} of {}, loss {:.4f}", made, config.steps, loss));
                      if (made % every == 0 && made < config.steps) save();
                      return true;
                    }});
    } catch (const Stopped&) {
      save();
      throw;
    }
    save();
  }
  largest_ = trainer.trained();
  what_ = begin == config.steps
              ? fmt::format("supernet: {} steps, read from {}", begin, config.file)
              : fmt::format("supernet: {} steps with {} networks, loss {:.4g}{}", config.steps, networks, loss,
                            begin > 0 ? fmt::format(", resumed after step {}", begin) : "");
}

Model Supernet::begun(Model network) const {
  require_nested(network.graph, largest_);
  inherit_weights(network.graph, largest_);
  if (!batches_.empty()) network.graph = with_measured_statistics(std::move(network.graph), batches_, session_);
  network.graph.metadata.erase("random_weights");
  data_->describe_rows(network);
  return network;
}

}  // namespace hone

// bench_train_step [MODEL] [--batch B] [--length S] [--threads N] [--seconds T] [--freeze NAMES] [--dropout RATE]
// [--lora NAMES] [--qat RULE]... [--recompute N] [--compute bf16] [--no-pass NAME]... [--save FILE] [--steps]
// [--on-demand]: the time of a training step as `hone train` takes it: forward, gradients and AdamW with updates in
// place, on random data. MODEL is bert-tiny (2 layers of 128, the default), minilm-l6, resnet18-stem (for 28 x 28
// pixels), a config.json, or a file that --save wrote. Prints the median and the best step, and the best times by class
// of kernels; --steps: of each step; --on-demand: a step for each line `run` of the input, answered by its nanoseconds;
// to `memory`, the most bytes that the process has held so far, less what it held before it opened the model.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>

#include "base/cache_folder.h"
#include "base/json.h"
#include "base/philox.h"
#include "base/registry.h"
#include "bench/timing.h"
#include "io/artefact.h"
#include "measure/memory.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "runtime/session.h"
#include "train/lora.h"
#include "train/registry.h"
#include "train/rounded_training.h"
#include "train/train_graph.h"

namespace hone {
namespace {

const std::map<std::string, const char*> kEncoders{
    {"bert-tiny", R"({"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512,
                      "max_position_embeddings": 512, "vocab_size": 30522})"},
    {"minilm-l6", R"({"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536,
                      "max_position_embeddings": 512, "vocab_size": 30522})"}};

Json config_of(const std::string& model) {
  if (model == "resnet18-stem") {
    Json config = preset_config("resnet18");
    config["stem"] = "small", config["num_channels"] = 1, config["image_size"] = 28, config["num_classes"] = 10;
    return config;
  }
  const auto known = kEncoders.find(model);
  Json config = known == kEncoders.end() ? read_json_file(model) : parse_json(known->second, model);
  config["architectures"] = {"BertForSequenceClassification"};
  return config;
}

struct Options {
  std::string model = "bert-tiny", save, frozen, isa, compute = "f32";
  int64_t batch = 32, length = 128;
  int threads = 1;
  double seconds = 6, dropout = 0;
  std::vector<std::string> disabled, lora, qat;
  int64_t rank = 6, recompute = 0;
  bool steps = false, on_demand = false;
};

// Of a file that --save wrote, or with random weights.
Graph model_of(const Options& o) {
  if (std::filesystem::exists(o.model) && is_artefact(o.model)) return load_artefact(o.model).graph;
  const Json config = config_of(o.model);
  const ModelRequest request{
      .config = config, .source = o.model, .inputs = {}, .pooling = {}, .weights = random_weights(1)};
  return canonicalise_for_training(model_for(config, o.model).build(request));
}

TrainGraphs graphs_of(const Options& o) {
  TrainGraphOptions options;
  options.optimizer = find_def(train::all(), "adamw");
  options.optimizer_options = options.optimizer->options->defaults();
  options.dropout = o.dropout;
  options.recompute = o.recompute;
  if (!o.frozen.empty()) options.groups.rules = {o.frozen + "=frozen"};
  Graph model = model_of(o);
  if (!o.lora.empty()) {
    LoraOptions lora;
    lora.rule = o.lora, lora.rank = o.rank;
    AdaptedModel adapted = adapt_for_training(std::move(model), lora);
    model = std::move(adapted.graph);
    options.groups.rules.insert(options.groups.rules.end(), adapted.rules.begin(), adapted.rules.end());
  }
  if (!o.qat.empty())
    model = round_for_training(std::move(model), {.rules = o.qat}, {}).graph;  // no scales are learned
  return make_train_graphs(std::move(model), options);
}

// Random tokens or pixels for each argument, labels below 2.
NamedTensors random_batch(const Graph& graph, const Options& o) {
  Philox rng(1);
  NamedTensors inputs{{TrainNames::kRate, Tensor::scalar<float>(1e-4f)},
                      {TrainNames::kSample, Tensor::scalar<int64_t>(0)}};
  for (ValueId v : graph.arguments()) {
    const Value& value = graph.value(v);
    if (value.type.shape.empty()) continue;
    std::vector<int64_t> shape;
    for (const Dim& dim : value.type.shape)
      shape.push_back(dim.is_constant() ? dim.constant() : shape.empty() ? o.batch : o.length);
    const auto elements = static_cast<size_t>(element_count(shape));
    if (is_float(value.type.dtype)) {
      std::vector<float> numbers(elements);
      for (float& x : numbers) x = rng.normal();
      inputs[value.label] = Tensor::of<float>(shape, numbers);
      continue;
    }
    std::vector<int64_t> numbers(elements, value.label == "attention_mask" ? 1 : 0);
    for (size_t i = 0; i < elements; ++i)
      if (value.label == "input_ids") numbers[i] = static_cast<int64_t>(rng.uniform(0, 30522));
      else if (value.label == TrainNames::kLabels) numbers[i] = static_cast<int64_t>(i % 2);
    inputs[value.label] = Tensor::of<int64_t>(shape, numbers);
  }
  std::erase_if(inputs, [&](const auto& named) { return graph.find_value(named.first) == kNone; });
  return inputs;
}

void run(const Options& o) {
  if (!o.save.empty()) return save_artefact(o.save, model_of(o));
  const int64_t before = memory_use().resident_bytes;
  const TrainGraphs graphs = graphs_of(o);
  SessionOptions options;
  options.threads = o.threads;
  options.compute = parse_compute(o.compute);
  options.pipeline.disabled = o.disabled;
  options.cache_folder = default_cache_folder();  // as hone train has it
  if (!o.isa.empty()) options.device = open_device("cpu:" + o.isa);
  Session session(graphs.step, options);
  Context context;
  for (ValueId v : graphs.step.inputs())
    if (const Value& held = graphs.step.value(v); held.role == InputRole::state)
      context.set_state(held.label, Tensor(held.type.dtype, constant_shape(held.type.shape)));
  NamedTensors inputs = random_batch(graphs.step, o);
  const std::vector<std::string> names = session.output_names();
  const auto loss_at = static_cast<size_t>(std::ranges::find(names, TrainNames::kLoss) - names.begin());
  RunProfile profile;
  float loss = 0;
  int count = 0;
  const auto step = [&](RunProfile* to) {
    inputs[TrainNames::kStep] = Tensor::scalar<float>(static_cast<float>(++count));
    return seconds_of([&] { loss = session.run(context, inputs, to)[loss_at].as<float>()[0]; });
  };
  if (o.on_demand) {
    for (std::string line; std::getline(std::cin, line);) {
      if (line == "memory") fmt::print("{}\n", memory_use().peak_bytes - before);
      else fmt::print("{:.0f}\n", 1e9 * step(nullptr));
      std::fflush(stdout);
    }
    return;
  }
  std::vector<double> times, best;
  step(nullptr);
  const float first = loss;
  for (double spent = 0; spent < o.seconds || times.size() < 3; spent += times.back()) {
    times.push_back(step(&profile));
    best.resize(profile.steps.size(), 1e300);
    for (size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], profile.milliseconds(i));
  }
  struct Class {
    double milliseconds = 0, flops = 0, bytes = 0;
    int steps = 0;
  };
  std::map<std::string, Class> classes;
  for (size_t i = 0; i < best.size(); ++i) {
    const StepProfile& each = profile.steps[i];
    Class& c = classes[each.kind];
    c.milliseconds += best[i], c.flops += each.flops, c.bytes += each.bytes, ++c.steps;
    if (o.steps)
      fmt::print("{:9.3f} ms {:8.1f} GFLOP/s {:6.1f} GB/s  {} {} -> {} {}\n", best[i], each.flops / best[i] * 1e-6,
                 each.bytes / best[i] * 1e-6, each.kind, each.ops, each.name, each.why_interpreted);
  }
  for (const auto& [kind, c] : classes)
    fmt::print("{:<22} {:4} steps {:9.3f} ms {:8.1f} GFLOP/s {:6.1f} GB/s\n", kind, c.steps, c.milliseconds,
               c.flops / c.milliseconds * 1e-6, c.bytes / c.milliseconds * 1e-6);
  std::ranges::sort(times);
  fmt::print(
      "{} {} x {}, {} threads: median {:.2f} ms, best {:.2f} ms of {} steps; arena {:.1f} MB; loss {:.4f} to {:.4f}\n",
      o.model, o.batch, o.length, o.threads, 1e3 * times[times.size() / 2], 1e3 * times[0], times.size(),
      static_cast<double>(session.statistics().arena_bytes) * 1e-6, first, loss);
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::Options options;
  CLI::App app("The time of a training step");
  app.add_option("model", options.model, "bert-tiny, minilm-l6, resnet18-stem, a config.json, or what --save wrote")
      ->capture_default_str();
  app.add_option("--save", options.save, "Write the model to this file, and end");
  app.add_option("--batch", options.batch)->capture_default_str();
  app.add_option("--length", options.length, "Of texts; the side of images")->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--seconds", options.seconds)->capture_default_str();
  app.add_option("--freeze", options.frozen, "Weights whose names match this regular expression are not trained");
  app.add_option("--lora", options.lora, "Layers that get low-rank adapters, as `hone train` takes them");
  app.add_option("--rank", options.rank, "Of the adapters")->capture_default_str();
  app.add_option("--qat", options.qat, "Rules of rounding, as `hone train` takes them");
  app.add_option("--dropout", options.dropout, "Rate, before the last layer")->capture_default_str();
  app.add_option("--recompute", options.recompute, "Activations, as `hone train` takes it")->capture_default_str();
  app.add_option("--compute", options.compute, "What products read: f32 or bf16")->capture_default_str();
  app.add_option("--isa", options.isa, "Instruction set to generate code for, as `hone bench` takes it");
  app.add_option("--no-pass", options.disabled, "A pass to leave out");
  app.add_flag("--steps", options.steps, "Every step by itself");
  app.add_flag("--on-demand", options.on_demand, "A step for each line `run` of the input; `memory`");
  CLI11_PARSE(app, argc, argv);
  hone::run(options);
}

// bench_train_step [MODEL] [--batch B] [--length S] [--threads N] [--seconds T] [--freeze PREFIX] [--steps]: the time
// of a training step: forward, gradients and AdamW with updates in place, of a BERT classifier without dropout on
// random tokens. MODEL is bert-tiny (2 layers of 128, the default), minilm-l6, or a config.json. Prints the median and
// the best step, and the best times by class of kernels; --steps: of each step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <CLI/CLI.hpp>

#include "base/json.h"
#include "base/philox.h"
#include "bench/timing.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/calls.h"
#include "passes/differentiate.h"
#include "runtime/session.h"

namespace hone {
namespace {

const std::map<std::string, const char*> kConfigs{
    {"bert-tiny", R"({"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512,
                      "max_position_embeddings": 512, "vocab_size": 30522})"},
    {"minilm-l6", R"({"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536,
                      "max_position_embeddings": 512, "vocab_size": 30522})"}};

Graph classifier(const std::string& model) {
  const auto known = kConfigs.find(model);
  Json config = known == kConfigs.end() ? read_json_file(model) : parse_json(known->second, model);
  config["architectures"] = {"BertForSequenceClassification"};
  const ModelRequest request{.config = config,
                             .source = model,
                             .inputs = {"input_ids", "attention_mask", "token_type_ids", "labels"},
                             .pooling = {},
                             .weights = random_weights(1)};
  return model_for(config, model).build(request);
}

// Numbers of one step: the rate and the factor of the root with their corrections for means that began at 0, and the
// decoupled decay.
struct AdamW {
  ValueId rate, scale, keep;
};

AdamW count_steps(Graph& g) {
  const auto number = [&](float x) { return g.add_scalar(x); };
  const ValueId count =
      g.add_state("steps", {.dtype = DType::f32, .shape = {}, .format = std::nullopt}, Tensor::scalar<float>(0));
  const ValueId next = ops::add(g, {count, number(1)});
  g.add_update(count, next);
  const auto left = [&](float beta) { return ops::sub(g, {number(1), ops::pow(g, {number(beta), next})}); };
  return {ops::div(g, {number(1e-4f), left(0.9f)}), ops::rsqrt(g, {left(0.999f)}), number(1 - 1e-4f * 0.01f)};
}

void update(Graph& g, const AdamW& adam, ValueId w, ValueId d) {
  const auto zeros = [&](const char* what) {
    return g.add_state(g.value(w).label + what, g.type(w), Tensor(DType::f32, constant_shape(g.type(w).shape)));
  };
  const ValueId m = zeros(".m"), v = zeros(".v");
  const ValueId m2 = ops::weighted_sum(g, {.a = m, .b = d}),
                v2 = ops::weighted_sum(g, {.a = v, .b = ops::mul(g, {d, d}), .alpha = 0.999, .beta = 0.001});
  g.add_update(
      w, ops::adam_step(g, {.w = w, .m = m2, .v = v2, .rate = adam.rate, .scale = adam.scale, .keep = adam.keep}));
  g.add_update(m, m2);
  g.add_update(v, v2);
}

Graph training_step(Graph g, const std::string& frozen) {
  std::vector<ValueId> constants;
  for (NodeId n : g.nodes())
    for (ValueId v : g.node(n).operands)
      if (v != kNone && g.constant(v) && !g.value(v).label.empty() &&
          std::ranges::find(constants, v) == constants.end())
        constants.push_back(v);
  for (ValueId v : constants)
    if (is_float(g.type(v).dtype) && (frozen.empty() || !g.value(v).label.starts_with(frozen))) g.make_parameter(v);
  const std::vector<ValueId> parameters = trainable_parameters(g);
  ValueId loss = kNone;
  for (const Output& output : g.outputs())
    if (output.label == "loss") loss = output.value;
  const std::vector<ValueId> gradients = differentiate(g, loss, parameters);
  const AdamW adam = count_steps(g);
  for (size_t i = 0; i < parameters.size(); ++i) update(g, adam, parameters[i], gradients[i]);
  return g;
}

NamedTensors random_batch(int64_t batch, int64_t length) {
  Philox rng(1);
  std::vector<int64_t> ids, labels;
  for (int64_t i = 0; i < batch * length; ++i) ids.push_back(static_cast<int64_t>(rng.uniform(0, 30522)));
  for (int64_t i = 0; i < batch; ++i) labels.push_back(i % 2);
  const std::vector<int64_t> ones(static_cast<size_t>(batch * length), 1),
      zeros(static_cast<size_t>(batch * length), 0);
  return {{"input_ids", Tensor::of<int64_t>({batch, length}, ids)},
          {"attention_mask", Tensor::of<int64_t>({batch, length}, ones)},
          {"token_type_ids", Tensor::of<int64_t>({batch, length}, zeros)},
          {"labels", Tensor::of<int64_t>({batch}, labels)}};
}

struct Options {
  std::string model = "bert-tiny", frozen, isa;
  int64_t batch = 32, length = 128;
  int threads = 1;
  double seconds = 6;
  bool steps = false;
};

void run(const Options& o) {
  SessionOptions options;
  options.threads = o.threads;
  if (!o.isa.empty()) options.target = parse_target(o.isa);
  Session session(training_step(classifier(o.model), o.frozen), options);
  session.prepare({{"B", o.batch}, {"S", o.length}});
  Context context;
  const NamedTensors inputs = random_batch(o.batch, o.length);
  std::vector<double> times, best;
  RunProfile profile;
  float first = 0, last = 0;
  for (double spent = 0; spent < o.seconds || times.size() < 3; spent += times.back()) {
    std::vector<Tensor> outputs;
    times.push_back(seconds_of([&] { outputs = session.run(context, inputs, &profile); }));
    const std::vector<std::string> names = session.output_names();
    for (size_t i = 0; i < names.size() && i < outputs.size(); ++i)
      if (names[i] == "loss") (times.size() == 1 ? first : last) = outputs[i].as<float>()[0];
    best.resize(profile.steps.size(), 1e300);
    for (size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], profile.milliseconds(i));
  }
  struct Class {
    double milliseconds = 0, flops = 0, bytes = 0;
    int steps = 0;
  };
  std::map<std::string, Class> classes;
  for (size_t i = 0; i < best.size(); ++i) {
    const StepProfile& step = profile.steps[i];
    Class& c = classes[step.kind];
    c.milliseconds += best[i], c.flops += step.flops, c.bytes += step.bytes, ++c.steps;
    if (o.steps)
      fmt::print("{:9.3f} ms {:8.1f} GFLOP/s {:6.1f} GB/s  {} {} -> {} {}\n", best[i], step.flops / best[i] * 1e-6,
                 step.bytes / best[i] * 1e-6, step.kind, step.ops, step.name, step.why_interpreted);
  }
  for (const auto& [kind, c] : classes)
    fmt::print("{:<20} {:4} steps {:9.3f} ms {:8.1f} GFLOP/s {:6.1f} GB/s\n", kind, c.steps, c.milliseconds,
               c.flops / c.milliseconds * 1e-6, c.bytes / c.milliseconds * 1e-6);
  std::ranges::sort(times);
  fmt::print(
      "{} {} x {}, {} threads: median {:.2f} ms, best {:.2f} ms of {} steps; arena {:.1f} MB; loss {:.4f} to {:.4f}\n",
      o.model, o.batch, o.length, o.threads, 1e3 * times[times.size() / 2], 1e3 * times[0], times.size(),
      static_cast<double>(session.statistics().arena_bytes) * 1e-6, first, last);
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  hone::Options options;
  CLI::App app("The time of a training step");
  app.add_option("model", options.model, "bert-tiny, minilm-l6, or a config.json")->capture_default_str();
  app.add_option("--batch", options.batch)->capture_default_str();
  app.add_option("--length", options.length)->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--seconds", options.seconds)->capture_default_str();
  app.add_option("--freeze", options.frozen, "Parameters whose names begin so are not trained");
  app.add_option("--isa", options.isa, "Instruction set to generate code for, as `hone bench` takes it");
  app.add_flag("--steps", options.steps, "Every step by itself");
  CLI11_PARSE(app, argc, argv);
  hone::run(options);
}

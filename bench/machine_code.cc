// bench_machine_code [--only TEXT]... [--plans] [--texts FOLDER]: what machine code a fixed list of graphs becomes. For
// every op on its sample calls, layers of every packed format and a few networks, on levels of instructions that this
// CPU need not have, with fixed and with open sizes: one line for each kernel,
//   GRAPH LEVEL NUMBER CLASS BYTES HASH
// where the hash is of the object file (code, constants and relocations), whose kernel always has the same name. Two
// builds generate the same code where their lines are equal:
//   bench_machine_code >new.txt && diff old.txt new.txt
// With --plans, what leads to the code instead: a line for each step of a graph, with the hash of its plan, arguments,
// work items, pointers, description, predicted speed and laid out weights. --texts writes what was hashed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "device/x86/machine.h"
#include "device/x86/registry.h"
#include "ir/unbacked.h"
#include "kernels/lower.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/calls/activations.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/registry.h"
#include "passes/pipelines.h"
#include "runtime/cut_graph.h"
#include "tests/support/op_calls.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

constexpr const char* kKernel = "kernel";

struct Level {
  std::string_view name;
  X86Target target;
};

Features with_all(std::initializer_list<Feature> wanted) {
  Features features;
  for (const Feature f : wanted) features = features.with(f);
  return features;
}

// The same list on each machine: features and rates by name, caches of one size.
std::vector<Level> levels() {
  using enum Feature;
  const auto level = [](std::string_view name, std::initializer_list<Feature> features, std::string_view rates) {
    return Level{name, X86Target(with_all(features), microarchitecture(rates), {32 << 10, 1 << 20, 32 << 20})};
  };
  return {level("avx2", {avx2}, "unknown"),
          level("avx_vnni", {avx2, avx_vnni}, "intel"),
          level("avx2_emulated", {avx2, vnni_emulated, amx_emulated}, "unknown"),
          level("avx512", {avx512}, "unknown"),
          level("avx512_vnni", {avx512, avx512_vbmi, avx512_vbmi2, avx512_vnni}, "intel"),
          level("zen4", {avx512, avx512_vbmi, avx512_vbmi2, avx512_vnni, avx512_bf16}, "zen4"),
          level("zen5", {avx_vnni, avx512, avx512_vbmi, avx512_vbmi2, avx512_vnni, avx512_bf16}, "zen5"),
          level("amx", {avx_vnni, avx512, avx512_vbmi, avx512_vbmi2, avx512_vnni, avx512_bf16, amx_bf16, amx_int8},
                "sapphire_rapids"),
          level("avx512_emulated", {avx512, avx512_vbmi, avx512_vnni, avx512_bf16, amx_emulated}, "zen4")};
}

// A graph in the form that is lowered, and the sizes of its symbols.
struct Subject {
  std::string name;
  Graph graph;
  Bindings sizes;
};

Tensor weights_of(std::vector<int64_t> shape) {
  Philox rng(1);
  return random_floats(rng, std::move(shape));
}

// A linear layer of `rows` rows and a table that is read, of weights in `format`. Rows: 0 for an open number of them.
Subject packed_layers(const std::string& format, Compute compute, int64_t rows) {
  Graph graph;
  const Format parsed = parse_format(format);
  const Dim m = rows > 0 ? Dim(rows) : Dim::symbol("M");
  const ValueId x = graph.add_input("x", {DType::f32, Shape{m, Dim(320)}});
  const ValueId ids = graph.add_input("ids", {DType::i64, Shape{m}});
  const ValueId w = graph.add_constant("w", pack(parsed, weights_of({192, 320})));
  const ValueId y = ops::linear(graph, {.x = x, .w = w});
  graph.add_output(ops::gelu(graph, {y}), "y");
  graph.add_output(ops::gather(graph, {.table = w, .indices = ids}), "rows");
  const std::string name =
      fmt::format("layers {} {} {}", format, to_string(compute), rows > 0 ? std::to_string(rows) : "M");
  return {name, prepare_for_codegen(std::move(graph), compute), rows > 0 ? Bindings{} : Bindings{{"M", 24}}};
}

Subject network(const std::string& model, Compute compute, int64_t batch) {
  const Json config = preset_config(model);
  Graph graph =
      model_for(config, model)
          .build({.config = config, .source = model, .inputs = {}, .pooling = {}, .weights = random_weights(1)});
  std::vector<std::string> symbols;
  for (ValueId input : graph.arguments())
    for (const Dim& dim : graph.type(input).shape) dim.collect_symbols(symbols);
  Bindings sizes;
  for (const std::string& symbol : symbols) sizes[symbol] = batch;
  return {fmt::format("{} {} {}", model, to_string(compute), batch), prepare_for_codegen(std::move(graph), compute),
          std::move(sizes)};
}

// What has sizes that are known without data, as a session prepares it before it knows the others.
Graph before_data(Graph graph) {
  const auto waits = [&](ValueId v) { return depends_on_data(graph.type(v).shape); };
  for (NodeId n : graph.nodes())
    if (std::ranges::any_of(graph.node(n).results, waits)) return specialised_parts(graph, {}).head;
  return graph;
}

Subject calls_of_op(const OpDef& op, Compute compute) {
  return {fmt::format("{} {}", op.name, to_string(compute)),
          before_data(prepare_for_codegen(calls_of(op).graph, compute)),
          {}};
}

using Make = std::function<Subject()>;

std::vector<Make> subjects() {
  std::vector<Make> all;
  for (const Compute compute : {Compute::f32, Compute::bf16}) {
    for (const OpDef* op : ops::all()) all.push_back([=] { return calls_of_op(*op, compute); });
    for (const std::string& format : test::packed_examples())
      for (const int64_t rows : {1, 16, 64, 0}) all.push_back([=] { return packed_layers(format, compute, rows); });
    for (const char* model : {"mlp", "convnet", "resnet18", "mobilenet_v3_small"})
      for (const int64_t batch : {1, 3}) all.push_back([=] { return network(model, compute, batch); });
  }
  return all;
}

std::string digest(std::span<const std::byte> bytes) {
  return hash128({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).hex();
}

// Of weights that are laid out for the kernel.
std::string text_of_panels(const Graph& graph, const Step& step, const X86Target& target) {
  const X86Device device(target);
  const Prepacking& layout = prepacking(device, *step.plan);
  if (!layout.key) return "";
  std::string text = fmt::format("panels {} {}\n", layout.key(device, *step.plan), layout.bytes(device, *step.plan));
  for (const PointerBinding& pointer : step->pointers)
    if (pointer.plane == PointerBinding::Plane::prepacked)
      if (const Tensor* const weights = graph.constant(pointer.value)) {
        const Buffer panels = lay_out(*step.plan, target, *weights, 1);
        text += fmt::format("laid out {}\n", digest(panels.bytes()));
      }
  return text;
}

std::string text_of(const Graph& graph, const Step& step, const X86Target& target) {
  std::string text = fmt::format("reads {} writes {} overwritable {} shared {}\n", fmt::join(step->reads, ","),
                                 fmt::join(step->writes, ","), fmt::join(step->overwritable, ","), step.shared_bytes);
  for (const PointerBinding& pointer : step->pointers)
    text += fmt::format("pointer {} {} {}\n", static_cast<int>(pointer.plane), pointer.value, pointer.byte_offset);
  for (size_t i = 0; i < step.refused.size(); ++i) text += fmt::format("refused {}\n", step.refused[i]);
  if (!step.plan) return text + step->why_interpreted;
  KernelArgs args{.pointers = {}, .dims = step.dims};
  const Launch call = launch(*step.plan, target, args);
  const KernelSpeed speed = hone::speed(X86Device(target), *step.plan);
  text += fmt::format("{}\nsizes {}\nitems {} of {}, scratch {}\n{}\nspeed {} {} {}\n", step.plan->text(),
                      fmt::join(args.dims, " "), call.items, call.items_per_chunk, call.scratch_bytes,
                      describe(*step.plan, target), speed.best, speed.worst, static_cast<int>(speed.unit));
  return text + text_of_panels(graph, step, target);
}

class Listing {
 public:
  Listing(std::string folder) : folder_(std::move(folder)) {}

  void add_plans(const Subject& subject, const Level& level) {
    PreparedGraph prepared(subject.graph, {.device = x86_device(level.target)});
    const LoweredGraph lowered = prepared.place(prepared.sizes(subject.sizes));
    for (size_t i = 0; i < lowered.steps.size(); ++i) {
      const Step& step = lowered.steps[i];
      const std::string place = fmt::format("{} {} {}", subject.name, level.name, i);
      const std::string text = text_of(prepared.graph(), step, level.target);
      fmt::print("{} {} {}\n", place, step.plan ? step.plan->kernel().name : "interpreted",
                 digest(std::as_bytes(std::span(text))));
      if (!folder_.empty()) write_file(folder_ + "/" + file_name(place) + ".txt", text);
    }
  }

  void add(const Subject& subject, const Level& level) {
    PreparedGraph prepared(subject.graph, {.device = x86_device(level.target)});
    const LoweredGraph lowered = prepared.place(prepared.sizes(subject.sizes));
    ObjectCompiler compiler(code_machine(level.target));
    int number = 0;
    for (const Step& step : lowered.steps) {
      if (!step.plan || !seen_.insert(fmt::format("{} {}", level.name, step.plan->text())).second) continue;
      list(fmt::format("{} {} {}", subject.name, level.name, number++), compiler, *step.plan, level.target);
    }
  }

 private:
  // As ObjectLibrary does it: code that spills is made again as long as it can get smaller.
  void list(const std::string& place, ObjectCompiler& compiler, const KernelPlan& plan, const X86Target& target) {
    const X86KernelDef* const def = device_x86::find(plan.kernel());
    for (int shrink = 0;; ++shrink) {
      const auto emit = [&](Emitter& e) { def->emit(e, plan, kKernel, shrink); };
      const ObjectCode code = compiler.compile(emit);
      if (!code.spilled.empty() && def->can_shrink(X86Device(target), plan, shrink + 1)) continue;
      fmt::print("{} {} {} {}\n", place, plan.kernel().name, code.bytes.size(), digest(code.bytes));
      if (!folder_.empty()) write_file(folder_ + "/" + file_name(place) + ".s", compiler.assembly(emit));
      return;
    }
  }

  static std::string file_name(std::string place) {
    std::ranges::replace_if(
        place, [](char c) { return c == ' ' || c == '/'; }, '_');
    return place;
  }

  std::string folder_;
  std::set<std::string> seen_;  // plans, by level
};

int run(int argc, char** argv) {
  CLI::App app("The machine code of a fixed list of graphs, a line for each kernel");
  std::vector<std::string> only;
  std::string folder;
  app.add_option("--only", only, "Graphs in whose name this is found");
  bool plans = false;
  app.add_flag("--plans", plans, "What leads to the code, instead of the code");
  app.add_option("--texts", folder, "A folder for the code of each kernel as text, or for what leads to it");
  CLI11_PARSE(app, argc, argv);
  if (!folder.empty()) std::filesystem::create_directories(folder);
  Listing listing(folder);
  const std::vector<Level> on = levels();
  for (const Make& make : subjects()) {
    const Subject subject = make();
    const auto is_in_name = [&](const std::string& text) { return subject.name.find(text) != std::string::npos; };
    if (!only.empty() && std::ranges::none_of(only, is_in_name)) continue;
    for (const Level& level : on) plans ? listing.add_plans(subject, level) : listing.add(subject, level);
  }
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) { return hone::run(argc, argv); }

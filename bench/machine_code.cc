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
#include <set>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "bench/code_subjects.h"
#include "device/x86/machine.h"
#include "device/x86/registry.h"
#include "kernels/lower.h"

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
  for (const MakeSubject& make : subjects()) {
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

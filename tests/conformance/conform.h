// Runs a graph through sessions on every level of instructions, with 1 and 2 threads, and holds the results to the
// reference.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/registry.h"
#include "device/x86/device.h"
#include "runtime/session.h"
#include "tests/support/emulated_tiles.h"
#include "tests/support/graph_bound.h"

namespace hone::test {

// One folder of machine code for the whole program: the second session of a graph reads what the first compiled.
inline const std::string& kernel_folder() {
  struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / fmt::format("hone-conformance-{}", getpid())).string();
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

// Another device than the CPU, where the environment names one; null otherwise.
inline std::shared_ptr<Device> chosen_device() {
  const char* name = std::getenv("HONE_TEST_DEVICE");
  return name ? open_device(name) : nullptr;
}

struct Ran {
  std::vector<Tensor> outputs;
  RunProfile profile;
  std::vector<std::string> names;
};

inline Ran run_session(const Graph& graph, const NamedTensors& inputs, SessionOptions options) {
  options.cache_folder = kernel_folder();
  if (std::shared_ptr<Device> device = chosen_device()) options.device = std::move(device);
  if (!options.compute) options.compute = Compute::f32;
  Session session(graph, std::move(options));
  Ran ran;
  ran.outputs = session.run(inputs, &ran.profile);
  ran.names = session.output_names();
  return ran;
}

// Every step is compiled or says why it is not.
inline void expect_honest_profile(const RunProfile& profile) {
  for (const StepProfile& step : profile.steps)
    EXPECT_EQ(step.kind == "interpreted", !step.why_interpreted.empty()) << step.ops << ": " << step.why_interpreted;
}

inline void expect_outputs(const Ran& ran, const std::vector<Bounded>& want, const std::string& what) {
  ASSERT_EQ(ran.outputs.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(fault_of(ran.outputs[i], want[i]), "") << what << ", output " << ran.names[i];
}

// The levels of this CPU, and tiles where there is bf16 for them.
inline std::vector<X86Target> targets_for(const Graph& graph, Compute compute) {
  std::vector<X86Target> targets = target_levels();
  const auto is_bf16 = [&](ValueId v) { return graph.type(v).dtype == DType::bf16; };
  bool any = compute == Compute::bf16 || std::ranges::any_of(graph.inputs(), is_bf16);
  for (NodeId node : graph.nodes()) any |= std::ranges::any_of(graph.node(node).results, is_bf16);
  if (any && !targets.empty()) targets.push_back(with_emulated_tiles(targets.back()));
  return targets;
}

// `check(ran, what)` looks at the results of one thread; two threads must give the same bits.
template <class Check>
void on_every_level(const Graph& graph, const NamedTensors& inputs, SessionOptions options, Check check) {
  if (const std::shared_ptr<Device> device = chosen_device()) {
    options.threads = 2;
    return check(run_session(graph, inputs, options), std::string(device->name()));
  }
  for (const X86Target& target : targets_for(graph, options.compute.value_or(Compute::f32))) {
    options.device = x86_device(target);
    options.threads = 1;
    const Ran one = run_session(graph, inputs, options);
    check(one, std::string(to_string(target)));
    expect_honest_profile(one.profile);
    options.threads = 2;
    const Ran two = run_session(graph, inputs, options);
    for (size_t i = 0; i < one.outputs.size(); ++i)
      EXPECT_TRUE(one.outputs[i].same_bits(two.outputs[i]))
          << to_string(target) << ": two threads change " << one.names[i];
  }
}

inline void expect_conforms(const Graph& graph, const NamedTensors& inputs, const SessionOptions& options = {}) {
  const Compute compute = options.compute.value_or(Compute::f32);
  const std::vector<Bounded> want =
      bounded_outputs(compute == Compute::f32 ? graph : prepare_for_codegen(graph, compute), inputs);
  on_every_level(graph, inputs, options,
                 [&](const Ran& ran, const std::string& what) { expect_outputs(ran, want, what); });
}

}  // namespace hone::test

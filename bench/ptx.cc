// bench_ptx FOLDER [--only TEXT]... [--sm N]...: the PTX that a fixed list of graphs becomes (bench/code_subjects.h), a
// file for each kernel, FOLDER/sm_N/NAME.ptx, for what bench/peers/ptxas.py asks NVIDIA's assembler. No GPU and no
// driver are needed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "bench/code_subjects.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/machine.h"
#include "device/cuda/registry.h"
#include "kernels/lower.h"

namespace hone {
namespace {

constexpr const char* kKernel = "kernel";

class Listing {
 public:
  Listing(const std::string& folder, int sm)
      : folder_(fmt::format("{}/sm_{}", folder, sm)),
        device_(std::make_shared<CudaDevice>(CudaTarget(sm))),
        compiler_(code_machine(device_->target())) {
    std::filesystem::create_directories(folder_);
  }

  void add(const Subject& subject) {
    PreparedGraph prepared(subject.graph, {.device = device_});
    const LoweredGraph lowered = prepared.place(prepared.sizes(subject.sizes));
    int number = 0;
    for (const Step& step : lowered.steps) {
      if (!step.plan || !seen_.insert(step.plan->text()).second) continue;
      const CudaKernelDef* const def = device_cuda::find(step.plan->kernel());
      const ObjectCode code = compiler_.compile([&](Emitter& e) { def->emit(e, *step.plan, kKernel, 0); });
      const std::string name = fmt::format("{} {}.{}", subject.name, number++, step.plan->kernel().name);
      write_file(fmt::format("{}/{}.ptx", folder_, file_name(name)),
                 {reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()});
    }
  }

 private:
  std::string folder_;
  std::shared_ptr<CudaDevice> device_;
  ObjectCompiler compiler_;
  std::set<std::string> seen_;
};

int run(int argc, char** argv) {
  CLI::App app("The PTX of a fixed list of graphs, a file for each kernel");
  std::string folder;
  std::vector<std::string> only;
  std::vector<int> capabilities{75, 80, 86, 89, 90};
  app.add_option("folder", folder, "Where the files go")->required();
  app.add_option("--only", only, "Graphs in whose name this is found");
  app.add_option("--sm", capabilities, "Compute capabilities, as 80");
  CLI11_PARSE(app, argc, argv);
  std::vector<std::unique_ptr<Listing>> listings;
  for (const int sm : capabilities) listings.push_back(std::make_unique<Listing>(folder, sm));
  for (const MakeSubject& make : subjects(CudaDevice(CudaTarget(80)).pipeline())) {
    const Subject subject = make();
    const auto is_in_name = [&](const std::string& text) { return subject.name.find(text) != std::string::npos; };
    if (!only.empty() && std::ranges::none_of(only, is_in_name)) continue;
    for (const auto& listing : listings) listing->add(subject);
  }
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) { return hone::run(argc, argv); }

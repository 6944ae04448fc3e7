// bench_ptx FOLDER [--golden | --only TEXT...] [--sm N]...: the PTX that a fixed list of graphs becomes
// (bench/code_subjects.h), and that of products of 4096 x 4096 weights by one and by many rows, a file for each kernel,
// FOLDER/sm_N/NAME.ptx, for what bench/peers/ptxas.py asks NVIDIA's assembler. --golden: the kernels of its table. No
// GPU and no driver are needed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "bench/code_subjects.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/gemm/shape.h"
#include "device/cuda/machine.h"
#include "device/cuda/registry.h"
#include "kernels/lower.h"

namespace hone {
namespace {

constexpr const char* kKernel = "kernel";

// The graphs whose kernels bench/ptxas.csv has: a few of each class that networks spend their time in.
const std::vector<std::string> kGolden = {"product ",
                                          "add bf16",
                                          "gelu bf16",
                                          "softmax bf16",
                                          "layer_norm bf16",
                                          "layers mxint8 bf16 64",
                                          "gather bf16",
                                          "attention bf16",
                                          "layers uint4.g32.s=u6.m=u6 bf16 1",
                                          "pool2d bf16",
                                          "mobilenet_v3_small bf16 3",
                                          "quantize bf16"};
// Formats of weights by which activations of bf16 are multiplied.
constexpr const char* kWeights[] = {"",
                                    "mxint8",
                                    "mxfp4",
                                    "mxint4",
                                    "nvfp4",
                                    "int8.channel",
                                    "int4.g128",
                                    "uint4.g128.asym",
                                    "uint4.g32.s=u6.m=u6",
                                    "uint5.g32.s=fp16.m=fp16",
                                    "int6.g16.s=i8",
                                    "iq4_nl.s=i6"};

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
    for (const Step& step : lowered.steps)
      if (step.plan) number += write(fmt::format("{} {}", subject.name, number), *step.plan);
  }

  void add_product(const std::string& format, int64_t rows) {
    CudaGemmPlan plan;
    plan.n = plan.k = 4096, plan.a = plan.w = DType::bf16, plan.results = {DType::bf16}, plan.w_format = format;
    plan.program = flatten(Expr::arg(0, Scalar::f32));
    plan.tile = cuda_gemm_tile(plan, device_->target(), rows, plan.n);
    write(product_name(format, rows), KernelPlan(plan));
  }
  static std::string product_name(const std::string& format, int64_t rows) {
    return fmt::format("product {} {}", format.empty() ? "bf16" : format, rows);
  }

 private:
  // Whether it is the first of its plan.
  bool write(const std::string& name, const KernelPlan& plan) {
    if (!seen_.insert(plan.text()).second) return false;
    const CudaKernelDef* const def = device_cuda::find(plan.kernel());
    const ObjectCode code = compiler_.compile([&](Emitter& e) { def->emit(e, plan, kKernel, 0); });
    write_file(fmt::format("{}/{}.{}.ptx", folder_, file_name(name), plan.kernel().name),
               {reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()});
    return true;
  }

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
  bool golden = false;
  app.add_option("--only", only, "Graphs whose name begins so");
  app.add_flag("--golden", golden, "Those whose kernels bench/ptxas.csv has");
  app.add_option("--sm", capabilities, "Compute capabilities, as 80");
  CLI11_PARSE(app, argc, argv);
  if (golden) only = kGolden;
  const auto is_asked_for = [&](const std::string& name) {
    return only.empty() || std::ranges::any_of(only, [&](const std::string& text) { return name.starts_with(text); });
  };
  std::vector<std::unique_ptr<Listing>> listings;
  for (const int sm : capabilities) listings.push_back(std::make_unique<Listing>(folder, sm));
  for (const MakeSubject& make : subjects(CudaDevice(CudaTarget(80)).pipeline())) {
    const Subject subject = make();
    if (!is_asked_for(subject.name)) continue;
    for (const auto& listing : listings) listing->add(subject);
  }
  for (const char* format : kWeights)
    for (const int64_t rows : {1, 16384})
      if (is_asked_for(Listing::product_name(format, rows)))
        for (const auto& listing : listings) listing->add_product(format, rows);
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) { return hone::run(argc, argv); }

// From plans to what launches name: PTX that the driver assembles, on disk, in bundles, and on machines without a GPU.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "device/cuda/gpu.h"
#include "device/cuda/machine.h"
#include "device/cuda/module.h"
#include "device/llvm/object_bundle.h"
#include "kernels/columns/plan.h"
#include "kernels/pointwise/plan.h"
#include "tests/device_cuda/emulated.h"
#include "tests/device_cuda/run_plan.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

namespace fs = std::filesystem;

KernelPlan negation() {
  PointwisePlan plan;
  plan.operands = {{DType::f32, PointwisePlan::Inner::contiguous}};
  plan.results = {DType::f32};
  plan.program = flatten(-Expr::arg(0, Scalar::f32));
  return plan;
}

// A folder of this test's own, empty at first.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("hone_cuda_{}", ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path() const { return path_.string(); }
  std::vector<fs::path> files() const { return {fs::directory_iterator(path_), fs::directory_iterator()}; }

 private:
  const fs::path path_;
};

CompileStatistics compiled(Device& device, CompilerOptions options) {
  const std::unique_ptr<Compiler> compiler = device.make_compiler(options);
  const std::vector<KernelPlan> plans{negation()};
  EXPECT_NE(compiler->compile(plans).at(0), nullptr);
  return compiler->statistics();
}

std::string bundle_of(Device& device) {
  const std::unique_ptr<Compiler> compiler = device.make_compiler({.keep_objects = true});
  const std::vector<KernelPlan> plans{negation()};
  compiler->compile(plans);
  return compiler->bundle();
}

// Sums over rows, which meet in shared memory.
KernelPlan column_sums() {
  ColumnsPlan plan;
  plan.operands = {{DType::f32, Epilogue::Access::full}};
  plan.reductions = {{static_cast<int>(Reduction::Kind::sum), flatten(Expr::arg(0, Scalar::f32))}};
  plan.program = flatten(Expr::arg(1, Scalar::f32));
  plan.results = {DType::f32};
  return plan;
}

std::string ptx_of(ObjectCompiler& compiler, const CudaTarget& target, const KernelPlan& plan) {
  const CudaDevice device(target);
  const auto& kernel = static_cast<const LlvmKernel&>(implementation_of(device, plan));
  const ObjectCode code = compiler.compile([&](Emitter& e) { kernel.emit(e, plan, "kernel", 0); });
  return {reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()};
}

// Functions of one module lie where those of a module before it lay, whose variables in shared memory are gone.
TEST(CudaCompiler, CodeOfAPlanDoesNotDependOnWhatWasCompiledBefore) {
  const CudaTarget target(80);
  ObjectCompiler compiler(code_machine(target)), another(code_machine(target));
  const std::string wanted = ptx_of(another, target, negation());
  for (int i = 0; i < 20; ++i) {
    ptx_of(compiler, target, column_sums());
    EXPECT_EQ(ptx_of(compiler, target, negation()), wanted);
  }
}

TEST(CudaCompiler, KeepsCubinsByPlanDeviceAndDriver) {
  const Folder cache;
  const CompilerOptions options{.cache_folder = cache.path()};
  for (const auto& [settings, made] : {std::pair{"driver=12.4", 1},
                                       {"driver=12.4", 0},
                                       {"driver=12.2", 1},
                                       {"driver=12.4,multiprocessors=7", 1},
                                       {"driver=12.2", 0}}) {
    const EmulatedCuda driver(settings);
    const CompileStatistics statistics = compiled(*open_device("cuda"), options);
    EXPECT_EQ(statistics.compiled, made) << settings;
    EXPECT_EQ(statistics.cached, 1 - made) << settings;
  }
  EXPECT_EQ(cache.files().size(), 3u);
}

TEST(CudaCompiler, MakesAnewWhatIsDamagedOnDisk) {
  const Folder cache;
  const CompilerOptions options{.cache_folder = cache.path()};
  const EmulatedCuda driver;
  EXPECT_EQ(compiled(*open_device("cuda"), options).compiled, 1);
  ASSERT_EQ(cache.files().size(), 1u);
  const fs::path file = cache.files()[0];
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(compiled(*open_device("cuda"), options).compiled, 1);
  EXPECT_EQ(compiled(*open_device("cuda"), options).cached, 1);
  // Whole by its checksum, but nothing that this driver loads.
  const std::string name = file.stem().string();
  std::ifstream in(file, std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(in), {}};
  std::string_view rest = kept;
  const std::optional<SealedObject> object = unseal_object(rest);
  ASSERT_TRUE(object);
  const std::string nonsense = "no cubin at all";
  std::ofstream(file, std::ios::binary) << sealed_object(object->key, std::as_bytes(std::span(nonsense)));
  EXPECT_EQ(compiled(*open_device("cuda"), options).compiled, 1);
  EXPECT_EQ(compiled(*open_device("cuda"), options).cached, 1);
}

TEST(CudaCompiler, BundlesCarryPtxThatIsAssembledOnceForEachDriver) {
  const EmulatedCuda driver("capability=8.0,multiprocessors=108");
  const std::string bundle = bundle_of(*open_device("cuda"));
  EXPECT_NE(bundle.find(".visible .entry"), std::string::npos);
  const Folder cache;
  for (int start = 0; start < 2; ++start) {
    const CompileStatistics statistics =
        compiled(*open_device("cuda"), {.cache_folder = cache.path(), .bundled = {bundle}});
    EXPECT_EQ(statistics.bundled, 1);
    EXPECT_EQ(statistics.bundle_note, "");
    EXPECT_EQ(cache.files().size(), 1u);
  }
  // What was made of foreign code is nobody else's.
  EXPECT_EQ(compiled(*open_device("cuda"), {.cache_folder = cache.path()}).compiled, 1);
}

TEST(CudaCompiler, LeavesCodeOfABundleAsideThatIsDamagedRefusedOrOfAnotherDevice) {
  const EmulatedCuda driver;
  const std::string bundle = bundle_of(*open_device("cuda"));
  const auto with = [&](std::string damaged) {
    return compiled(*open_device("cuda"), {.bundled = {std::move(damaged)}});
  };
  const CompileStatistics damaged = with(bundle.substr(0, bundle.size() - 1));
  EXPECT_EQ(damaged.compiled, 1);
  EXPECT_EQ(damaged.bundle_note, "a part of the machine code in the model's file is damaged and left aside");
  const CompileStatistics other = with("hone objects for sm_75\n");
  EXPECT_EQ(other.compiled, 1);
  EXPECT_NE(other.bundle_note.find("is for \"sm_75\""), std::string::npos) << other.bundle_note;
  // Whole, but no PTX.
  std::string_view rest = std::string_view(bundle).substr(bundle.find('\n') + 1);
  const std::optional<SealedObject> object = unseal_object(rest);
  ASSERT_TRUE(object);
  const std::string text = ".version 6.3\n.target sm_75\n.address_size 64\nnonsense";
  const auto bytes = std::as_bytes(std::span(text));
  const CompileStatistics refused = with(
      bundle_objects(code_target(target_of_cuda(*open_device("cuda"))), {{object->key, {bytes.begin(), bytes.end()}}}));
  EXPECT_EQ(refused.compiled, 1);
  EXPECT_EQ(refused.bundle_note.find("a part of the code in the model's file is left aside: CUDA: "), 0u)
      << refused.bundle_note;
}

TEST(CudaCompiler, MakesPtxWithoutADriver) {
  const WithVariable none("HONE_CUDA_DRIVER", "/no/such/libcuda.so.1");
  for (const char* device : {"cuda:sm_75", "cuda:sm_80", "cuda:sm_90"}) {
    const std::string bundle = bundle_of(*open_device(device));
    EXPECT_NE(bundle.find(fmt::format(".target {}", std::string_view(device).substr(5))), std::string::npos);
  }
}

TEST(CudaCompiler, SaysWhichDriverAKernelNeeds) {
  const EmulatedCuda driver("driver=11.4");
  const std::string error = error_of([] { compiled(*open_device("cuda"), {}); });
  EXPECT_NE(error.find("needs PTX 7.8, and this driver, for CUDA 11.4, reads PTX up to 7.4"), std::string::npos)
      << error;
}

TEST(CudaCompiler, OnSeveralThreads) {
  const EmulatedCuda driver;
  std::vector<KernelPlan> plans;
  for (int i = 0; i < 6; ++i) {
    PointwisePlan plan;
    plan.operands = {{DType::f32, PointwisePlan::Inner::contiguous}};
    plan.results = {DType::f32};
    plan.program = flatten(Expr::arg(0, Scalar::f32) + Expr(static_cast<float>(i)));
    plans.push_back(plan);
  }
  const std::unique_ptr<Compiler> compiler = open_device("cuda")->make_compiler({.threads = 3});
  const std::vector<Code> codes = compiler->compile(plans);
  for (Code code : codes) EXPECT_NE(cuda_code(code).function, nullptr);
  EXPECT_EQ(compiler->statistics().compiled, 6);
}

}  // namespace
}  // namespace hone::test

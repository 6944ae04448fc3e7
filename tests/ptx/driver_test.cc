// The emulated driver: what it does, what it refuses, and how it fails when a test wants it to.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "device/cuda/abi.h"
#include "tests/ptx/run_kernel.h"

namespace hone::ptx::test {
namespace {

using namespace hone::cuda;

// A driver by its path. Types of arguments are those of the functions, to the letter.
class Api {
 public:
  explicit Api(const char* path) : library_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw Error(::dlerror());
  }
  bool has(const char* name) const { return ::dlsym(library_, name) != nullptr; }
  template <class R = int, class... Args>
  R operator()(const char* name, Args... args) const {
    auto* function = reinterpret_cast<R (*)(Args...)>(::dlsym(library_, name));
    if (!function) throw Error(fmt::format("no {}", name));
    return function(args...);
  }

 private:
  void* library_;
};

// y[i] += x[i] for n words, each thread one.
constexpr std::string_view kAdd =
    "setp.ge.u32 %p1, %r1, %r0; @%p1 ret; add.s64 %rd5, %rd0, %rd4; add.s64 %rd6, %rd1, %rd4; ld.global.u32 %r2, "
    "[%rd5];"
    "ld.global.u32 %r3, [%rd6]; add.u32 %r2, %r2, %r3; st.global.u32 [%rd5], %r2;";

class CudaDriver : public testing::Test {
 protected:
  // The driver anew, its first device's context current, a stream, and the kernel kAdd.
  void start(const char* settings = "") {
    ASSERT_EQ(cu("emulated_cuda_configure", settings), 0);
    ASSERT_EQ(cu("cuInit", 0u), kSuccess);
    ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kSuccess);
    ASSERT_EQ(cu("cuCtxSetCurrent", context), kSuccess);
    ASSERT_EQ(cu("cuStreamCreate", &stream, 1u), kSuccess);
    ASSERT_EQ(load(kernel_text(kAdd).replace(kernel_text(kAdd).find("sm_90"), 5, "sm_75").replace(9, 3, "6.3")),
              kSuccess);
  }
  int load(const std::string& text) {
    const int result = cu("cuModuleLoadData", &module, text.c_str());
    return result ? result : cu("cuModuleGetFunction", &function, module, "k");
  }
  DevicePointer memory(size_t bytes) {
    DevicePointer out = 0;
    EXPECT_EQ(cu("cuMemAlloc_v2", &out, bytes), kSuccess);
    return out;
  }
  DevicePointer words(const std::vector<uint32_t>& values) {
    const DevicePointer out = memory(values.size() * 4);
    EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", out, static_cast<const void*>(values.data()), values.size() * 4, stream),
              kSuccess);
    return out;
  }
  std::vector<uint32_t> words_at(DevicePointer from, size_t n) {
    std::vector<uint32_t> out(n);
    EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(out.data()), from, n * 4, stream), kSuccess);
    return out;
  }
  struct Arguments {
    uint64_t y, x, z = 0, w = 0;
    uint32_t n;
    std::array<void*, 5> pointers() { return {&y, &x, &z, &w, &n}; }
  };
  int launch(Arguments a, unsigned shared = 0, unsigned threads = 32) {
    auto pointers = a.pointers();
    return cu("cuLaunchKernel", function, 1u, 1u, 1u, threads, 1u, 1u, shared, stream, pointers.data(),
              static_cast<void**>(nullptr));
  }
  int synchronise() { return cu("cuStreamSynchronize", stream); }
  std::string fault() { return cu.operator()<const char*>("emulated_cuda_fault"); }
  long long count(const char* what) { return cu.operator()<long long>("emulated_cuda_count", what); }

  Api cu{HONE_EMULATED_DRIVER};
  Handle context = nullptr, stream = nullptr, module = nullptr, function = nullptr;
};

TEST_F(CudaDriver, RunsAKernelOverItsOwnMemory) {
  start();
  const DevicePointer y = words({1, 2, 3, 4}), x = words({10, 20, 30, 40});
  EXPECT_EQ(launch({.y = y, .x = x, .n = 4}), kSuccess);
  EXPECT_EQ(words_at(y, 4), (std::vector<uint32_t>{11, 22, 33, 44}));
  EXPECT_EQ(synchronise(), kSuccess);
  EXPECT_EQ(count("launches"), 1);
  EXPECT_EQ(count("allocations"), 2);
  EXPECT_EQ(cu.operator()<long long>("emulated_cuda_kernel_count", "k", "st.global", "sectors"), 1);
  // No pointer of this process: those have 47 bits.
  EXPECT_GT(y >> 47, 0u);
}

TEST_F(CudaDriver, ListsDevicesAsTheSettingsSay) {
  start("devices=2,capability=8.6,memory=64M,driver=11.8,multiprocessors=7");
  int count = 0, version = 0, value = 0;
  size_t bytes = 0, free = 0;
  EXPECT_EQ(cu("cuDeviceGetCount", &count), kSuccess);
  EXPECT_EQ(cu("cuDriverGetVersion", &version), kSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(version, 11080);
  EXPECT_EQ(cu("cuDeviceTotalMem_v2", &bytes, 1), kSuccess);
  EXPECT_EQ(bytes, 64u << 20);
  for (const auto& [which, expected] : {std::pair(75, 8), {76, 6}, {16, 7}, {97, 101376}, {10, 32}}) {
    EXPECT_EQ(cu("cuDeviceGetAttribute", &value, which, 0), kSuccess);
    EXPECT_EQ(value, expected) << which;
  }
  std::array<char, 64> name{};
  EXPECT_EQ(cu("cuDeviceGetName", name.data(), 64, 1), kSuccess);
  EXPECT_STREQ(name.data(), "emulated device 1");
  memory(1 << 20);
  EXPECT_EQ(cu("cuMemGetInfo_v2", &free, &bytes), kSuccess);
  EXPECT_EQ(free, 63u << 20);
  EXPECT_EQ(cu("cuDeviceGet", &value, 2), kInvalidDevice);
}
TEST_F(CudaDriver, RefusesSettingsThatItDoesNotKnow) {
  EXPECT_EQ(cu("emulated_cuda_configure", "colour=1"), 1);
  EXPECT_EQ(fault(), "HONE_EMULATED_CUDA: colour=1 is not known; see tests/support/cuda/settings.h");
  EXPECT_EQ(cu("emulated_cuda_configure", "devices=x"), 1);
  EXPECT_EQ(cu("emulated_cuda_configure", "devices"), 1);
  EXPECT_EQ(cu("emulated_cuda_configure", "devices=0"), 0);
  EXPECT_EQ(cu("cuInit", 0u), kNoDevice);
}

TEST_F(CudaDriver, DoesWhatItIsAskedLaterAndInOrder) {
  start();
  const DevicePointer y = memory(16);
  void* pinned = nullptr;
  ASSERT_EQ(cu("cuMemHostAlloc", &pinned, size_t{16}, 0u), kSuccess);
  auto* host = static_cast<uint32_t*>(pinned);
  Handle start_of = nullptr, end_of = nullptr;
  cu("cuEventCreate", &start_of, 0u), cu("cuEventCreate", &end_of, 0u);
  cu.operator()<void>("emulated_cuda_hold", 1);
  EXPECT_EQ(cu("cuEventRecord", start_of, stream), kSuccess);
  std::fill_n(host, 4, 5u);
  EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", y, static_cast<const void*>(host), size_t{16}, stream), kSuccess);
  EXPECT_EQ(launch({.y = y, .x = y, .n = 4}), kSuccess);
  EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(host), y, size_t{16}, stream), kSuccess);
  EXPECT_EQ(cu("cuEventRecord", end_of, stream), kSuccess);
  EXPECT_EQ(cu("cuStreamQuery", stream), kNotReady);
  EXPECT_EQ(cu("cuEventQuery", end_of), kNotReady);
  float milliseconds = -1;
  EXPECT_EQ(cu("cuEventElapsedTime", &milliseconds, start_of, end_of), kNotReady);
  host[0] = 7;  // pinned memory is read when the copy's turn comes: too early to change it, and it shows
  cu.operator()<void>("emulated_cuda_hold", 0);
  EXPECT_EQ(cu("cuEventSynchronize", end_of), kSuccess);
  EXPECT_EQ(host[0], 14u);
  EXPECT_EQ(host[1], 10u);
  EXPECT_EQ(cu("cuEventElapsedTime", &milliseconds, start_of, end_of), kSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cu("cuMemFreeHost", pinned), kSuccess);
}
TEST_F(CudaDriver, TakesBytesThatAreNotPinnedAtOnce) {
  start();
  const DevicePointer y = memory(4);
  cu.operator()<void>("emulated_cuda_hold", 1);
  uint32_t word = 1;
  cu("cuMemcpyHtoDAsync_v2", y, static_cast<const void*>(&word), size_t{4}, stream);
  word = 2;
  cu.operator()<void>("emulated_cuda_hold", 0);
  EXPECT_EQ(words_at(y, 1)[0], 1u);
}
TEST_F(CudaDriver, LetsAStreamWaitForAnother) {
  start();
  Handle other = nullptr, event = nullptr;
  cu("cuStreamCreate", &other, 1u), cu("cuEventCreate", &event, 0u);
  const DevicePointer y = words({0}), x = words({1});
  for (int i = 0; i < 20; ++i) launch({.y = y, .x = x, .n = 1});
  cu("cuEventRecord", event, stream);
  cu("cuStreamWaitEvent", other, event, 0u);
  uint32_t word = 0;
  EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(&word), y, size_t{4}, other), kSuccess);
  EXPECT_EQ(word, 20u);
  EXPECT_EQ(cu("cuStreamDestroy_v2", other), kSuccess);
  EXPECT_EQ(cu("cuStreamSynchronize", other), kInvalidHandle);
}
TEST_F(CudaDriver, ServesManyThreads) {
  start();
  std::vector<std::thread> threads;
  std::array<uint32_t, 4> sums{};
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      cu("cuCtxSetCurrent", context);
      Handle own = nullptr;
      cu("cuStreamCreate", &own, 1u);
      for (uint32_t round = 0; round < 5; ++round) {
        DevicePointer y = 0;
        const uint32_t value = static_cast<uint32_t>(t) + 1;
        cu("cuMemAllocAsync", &y, size_t{4}, own);
        cu("cuMemcpyHtoDAsync_v2", y, static_cast<const void*>(&value), size_t{4}, own);
        Arguments a{.y = y, .x = y, .n = 1};
        auto pointers = a.pointers();
        cu("cuLaunchKernel", function, 1u, 1u, 1u, 32u, 1u, 1u, 0u, own, pointers.data(), static_cast<void**>(nullptr));
        uint32_t word = 0;
        cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(&word), y, size_t{4}, own);
        cu("cuMemFreeAsync", y, own);
        sums[t] += word;
      }
      cu("cuStreamDestroy_v2", own);
    });
  for (std::thread& thread : threads) thread.join();
  for (uint32_t t = 0; t < 4; ++t) EXPECT_EQ(sums[t], 10 * (t + 1));
  EXPECT_EQ(count("bytes"), 0);
}

TEST_F(CudaDriver, ReplaysGraphsWithOtherArguments) {
  start();
  const DevicePointer y = words({1, 1}), x = words({2, 2}), z = words({100, 100});
  Handle graph = nullptr, first = nullptr, second = nullptr, exec = nullptr;
  ASSERT_EQ(cu("cuGraphCreate", &graph, 0u), kSuccess);
  Arguments a{.y = y, .x = x, .n = 2};
  auto pointers = a.pointers();
  KernelNodeParams params{function, {1, 1, 1}, {32, 1, 1}, 0, pointers.data(), nullptr};
  const KernelNodeParams* given = &params;
  ASSERT_EQ(cu("cuGraphAddKernelNode", &first, graph, static_cast<Handle*>(nullptr), size_t{0}, given), kSuccess);
  ASSERT_EQ(cu("cuGraphAddKernelNode", &second, graph, &first, size_t{1}, given), kSuccess);
  ASSERT_EQ(cu("cuGraphInstantiateWithFlags", &exec, graph, 0ull), kSuccess);
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream), kSuccess);
  EXPECT_EQ(words_at(y, 2), (std::vector<uint32_t>{5, 5}));
  a.x = z;
  EXPECT_EQ(cu("cuGraphExecKernelNodeSetParams", exec, second, given), kSuccess);
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream), kSuccess);
  EXPECT_EQ(words_at(y, 2), (std::vector<uint32_t>{107, 107}));
  EXPECT_EQ(count("graph_launches"), 2);
  EXPECT_EQ(count("launches"), 4);
  EXPECT_EQ(cu("cuGraphExecKernelNodeSetParams", exec, stream, given), kInvalidValue);
}

TEST_F(CudaDriver, MakesCubinsForItsOwnDevice) {
  start("capability=8.0");
  const std::string text = kernel_text(kAdd).replace(kernel_text(kAdd).find("sm_90"), 5, "sm_80");
  Handle link = nullptr;
  void* cubin = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cu("cuLinkCreate_v2", 0u, static_cast<int*>(nullptr), static_cast<void**>(nullptr), &link), kSuccess);
  std::array<char, 512> log{};
  int options[] = {3, 4};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  ASSERT_EQ(cu("cuLinkAddData_v2", link, int{kInputPtx}, const_cast<void*>(static_cast<const void*>(text.c_str())),
               text.size(), "k.ptx", 2u, static_cast<int*>(options), static_cast<void**>(values)),
            kSuccess);
  EXPECT_NE(std::string(log.data()).find("Used "), std::string::npos);
  ASSERT_EQ(cu("cuLinkComplete", link, &cubin, &bytes), kSuccess);
  std::string image(static_cast<const char*>(cubin), bytes);
  EXPECT_EQ(cu("cuLinkDestroy", link), kSuccess);
  EXPECT_EQ(load(image), kSuccess);
  std::string damaged = image;
  damaged[bytes / 2] ^= 1;
  EXPECT_EQ(load(damaged), kInvalidImage);
  start("capability=9.0");
  EXPECT_EQ(load(image), kNoBinaryForGpu);
}
TEST_F(CudaDriver, SaysRegistersAndSpills) {
  start("spill_above=10");
  int registers = 0, local = 0;
  EXPECT_EQ(cu("cuFuncGetAttribute", &registers, int{kFunctionRegisters}, function), kSuccess);
  EXPECT_EQ(cu("cuFuncGetAttribute", &local, int{kFunctionLocalBytes}, function), kSuccess);
  EXPECT_EQ(local, (registers - 10) * 4);
  start();
  EXPECT_EQ(cu("cuFuncGetAttribute", &local, int{kFunctionLocalBytes}, function), kSuccess);
  EXPECT_EQ(local, 0);
}

TEST_F(CudaDriver, RefusesWhatTheDeviceOrTheDriverCannotRun) {
  start("capability=8.0,driver=11.0");
  const std::string text = kernel_text("");
  EXPECT_EQ(load(text), kUnsupportedPtxVersion);  // 7.8 by a driver of 7.0
  std::string old = text;
  old.replace(9, 3, "7.0");
  EXPECT_EQ(load(old), kNoBinaryForGpu);  // for sm_90
  EXPECT_EQ(load(old.replace(old.find("sm_90"), 5, "sm_75")), kSuccess);
  EXPECT_EQ(load(".version 7.0\n.target sm_80\nnonsense"), kInvalidPtx);
  EXPECT_EQ(fault(), "line 3: a variable or .entry is expected, not \"nonsense\"");
  EXPECT_EQ(cu("cuModuleGetFunction", &function, module, "other"), kNotFound);
}
TEST_F(CudaDriver, RefusesArgumentsThatAreWrong) {
  start();
  const DevicePointer y = memory(16);
  uint32_t word = 0;
  EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(&word), y + 14, size_t{4}, stream), kInvalidValue);
  EXPECT_EQ(cu("cuMemFree_v2", y + 4), kInvalidValue);
  EXPECT_EQ(cu("cuMemFree_v2", y), kSuccess);
  EXPECT_EQ(cu("cuMemFree_v2", y), kInvalidValue);
  EXPECT_EQ(launch({.y = 0, .x = 0, .n = 0}, 0, 1025), kInvalidValue);
  EXPECT_EQ(launch({.y = 0, .x = 0, .n = 0}, 49 << 10), kInvalidValue);  // more than 48 KB is to be asked for
  EXPECT_EQ(cu("cuFuncSetAttribute", function, int{kFunctionMaxDynamicShared}, 100 << 10), kSuccess);
  EXPECT_EQ(launch({.y = 0, .x = 0, .n = 0}, 49 << 10), kSuccess);
  EXPECT_EQ(cu("cuFuncSetAttribute", function, int{kFunctionMaxDynamicShared}, 228 << 10), kInvalidValue);
  EXPECT_EQ(cu("cuStreamSynchronize", context), kInvalidHandle);
  std::thread([&] {
    DevicePointer out = 0;
    EXPECT_EQ(cu("cuMemAlloc_v2", &out, size_t{4}), kInvalidContext);  // each thread has a current one of its own
  }).join();
}

TEST_F(CudaDriver, RunsOutOfMemory) {
  start("memory=1M,fail_allocation=2");
  DevicePointer out = 0;
  memory(1000);
  EXPECT_EQ(cu("cuMemAlloc_v2", &out, size_t{1000}), kOutOfMemory);  // the second, as it is set
  memory(1000);
  EXPECT_EQ(cu("cuMemAlloc_v2", &out, size_t{1} << 20), kOutOfMemory);  // more than there is
  EXPECT_EQ(synchronise(), kSuccess);                                   // and that is all
}
TEST_F(CudaDriver, RefusesALaunch) {
  start("refuse_launch=2");
  const DevicePointer y = words({1});
  EXPECT_EQ(launch({.y = y, .x = y, .n = 1}), kSuccess);
  EXPECT_EQ(launch({.y = y, .x = y, .n = 1}), kLaunchOutOfResources);
  EXPECT_EQ(launch({.y = y, .x = y, .n = 1}), kSuccess);
  EXPECT_EQ(words_at(y, 1)[0], 4u);
}
TEST_F(CudaDriver, KeepsAnErrorUntilTheContextIsReset) {
  start();
  uint32_t mine = 0;
  EXPECT_EQ(launch({.y = reinterpret_cast<uint64_t>(&mine), .x = memory(4), .n = 1}), kSuccess);
  EXPECT_EQ(synchronise(), kIllegalAddress);
  EXPECT_NE(fault().find("line 10 (ld.global.u32)"), std::string::npos) << fault();
  DevicePointer out = 0;
  EXPECT_EQ(cu("cuMemAlloc_v2", &out, size_t{4}), kIllegalAddress);
  EXPECT_EQ(launch({.y = 0, .x = 0, .n = 0}), kIllegalAddress);
  EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kSuccess);
  EXPECT_EQ(cu("cuMemAlloc_v2", &out, size_t{4}), kSuccess);
}
TEST_F(CudaDriver, TellsFaultsApart) {
  const std::pair<const char*, int> cases[] = {{"ld.global.u32 %r2, [%rd0+1];", kMisalignedAddress},
                                               {"trap;", kLaunchFailed},
                                               {"add.s32 %r2, %r77, 1;", kLaunchFailed}};
  for (const auto& [body, expected] : cases) {
    start();
    ASSERT_EQ(load(kernel_text(body)), kSuccess);
    launch({.y = memory(16), .x = 0, .n = 1});
    EXPECT_EQ(cu("cuCtxSynchronize"), expected) << body;
  }
  start("fault_launch=1");
  launch({.y = memory(16), .x = 0, .n = 0});
  EXPECT_EQ(synchronise(), kLaunchFailed);
}
TEST_F(CudaDriver, LosesADevice) {
  start("lose_device=1");
  EXPECT_EQ(launch({.y = 0, .x = 0, .n = 0}), kUnknown);
  EXPECT_EQ(synchronise(), kUnknown);
  EXPECT_EQ(cu("cuDevicePrimaryCtxReset_v2", 0), kUnknown);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &context, 0), kUnknown);
}
TEST_F(CudaDriver, MayLackFunctions) {
  const Api old(HONE_EMULATED_DRIVER_WITHOUT_GRAPHS);
  EXPECT_TRUE(old.has("cuInit"));
  EXPECT_TRUE(old.has("cuGetErrorString"));
  EXPECT_FALSE(old.has("cuGraphLaunch"));
  EXPECT_TRUE(cu.has("cuGraphLaunch"));
  EXPECT_FALSE(cu.has("_ZN4hone3ptx5parseESt17basic_string_viewIcSt11char_traitsIcEE"));  // nothing else is seen
}
TEST_F(CudaDriver, NamesItsErrors) {
  const char* text = nullptr;
  EXPECT_EQ(cu("cuGetErrorName", 222, &text), kSuccess);
  EXPECT_STREQ(text, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION");
  EXPECT_EQ(cu("cuGetErrorString", 2, &text), kSuccess);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cu("cuGetErrorString", 12345, &text), kInvalidValue);
}

}  // namespace
}  // namespace hone::ptx::test

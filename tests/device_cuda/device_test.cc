// GPUs as a device, on the emulated driver: which one is opened, what lies in its memory, what its queue does, and what
// it says when something goes wrong.
#include "device/device.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/memory_limit.h"
#include "device/cuda/assembler.h"
#include "device/cuda/gpu.h"
#include "device/cuda/module.h"
#include "tests/device_cuda/emulated.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

// Adds the scratch area's first number, or 0 without one, and the number of the thread to what lies at pointer 0.
constexpr const char* kAddNumbers = R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry add_numbers(.param .align 8 .b8 args[512], .param .u64 scratch, .param .u64 items)
{
  .reg .b64 %rd<8>;
  .reg .b32 %r<8>;
  ld.param.u64 %rd1, [args];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r5, [%rd4];
  add.s32 %r6, %r5, %r4;
  st.global.u32 [%rd4], %r6;
  ret;
}
)";

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// A GPU with that kernel loaded.
struct Gpu {
  explicit Gpu(int ordinal = 0) : device(open_gpu(ordinal)), loader(std::make_unique<CudaLoader>(shared_context())) {
    loader->add(assemble_ptx(device->context(), bytes_of(kAddNumbers), "add_numbers").image, "add_numbers");
    code = loader->find("add_numbers");
  }
  std::shared_ptr<CudaContext> shared_context() const { return {device, &device->context()}; }

  std::shared_ptr<CudaGpu> device;
  std::unique_ptr<CudaLoader> loader;
  Code code = nullptr;
};

std::vector<uint32_t> read(Device& device, const Buffer& buffer) {
  std::vector<uint32_t> numbers(buffer.size() / sizeof(uint32_t));
  device.read(buffer.address(), std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

Buffer zeros(Device& device, size_t count) {
  const Buffer host(count * sizeof(uint32_t));
  return device.copied(host);
}

KernelArgs args_of(const Buffer& buffer) {
  KernelArgs args;
  args.pointers[0] = buffer.address();
  return args;
}

Launch blocks(int64_t items, std::string_view name) { return {.items = items, .threads_per_item = 32, .name = name}; }

TEST(CudaDevice, IsOpenedByNumberAndOnceForAll) {
  const EmulatedCuda driver("devices=2,capability=8.6,memory=64M,multiprocessors=5");
  const std::shared_ptr<Device> first = open_device("cuda"), same = open_device("cuda:0"),
                                other = open_device("cuda:1");
  EXPECT_EQ(first, same);
  EXPECT_NE(first, other);
  EXPECT_EQ(text_of(*first), "cuda:0");
  EXPECT_EQ(text_of(*other), "cuda:1");
  EXPECT_EQ(first->variant(), "sm_86");
  EXPECT_EQ(first->abilities(), "emulated device 0, sm_86, 5 multiprocessors, bf16");
  EXPECT_EQ(target_of_cuda(*first).shared_bytes(), 99 << 10);
  EXPECT_NE(first->notes().at(0).find("is emulated"), std::string::npos);
  const DeviceFacts facts = device_facts();
  EXPECT_NE(std::ranges::find(facts, std::pair<std::string, std::string>(
                                         "GPU",
                                         "cuda:1: emulated device 1, sm_86, 5 multiprocessors, 67.1 MB, driver for "
                                         "CUDA 12.4")),
            facts.end())
      << facts.back().second;
}

TEST(CudaDevice, SaysWhatIsNotThere) {
  {
    const EmulatedCuda driver("devices=1");
    EXPECT_EQ(error_of([] { open_device("cuda:3"); }),
              "CUDA: there is no device cuda:3; there are: cuda:0: emulated device 0, sm_90, 16 multiprocessors, 1.07 "
              "GB. CUDA_VISIBLE_DEVICES may hide others");
    EXPECT_NE(error_of([] { open_device("cuda:first"); }).find("expected the number of a GPU"), std::string::npos);
    EXPECT_NE(error_of([] { open_device("cuda:-1"); }).find("expected the number of a GPU"), std::string::npos);
    EXPECT_NE(error_of([] { open_device("cuda:sm_60"); }).find("known: sm_75, sm_80"), std::string::npos);
  }
  {
    const EmulatedCuda driver("capability=7.0");
    EXPECT_NE(error_of([] { open_device("cuda"); }).find("compute capability 7.0: code is generated for 7.5"),
              std::string::npos);
  }
  const WithVariable none("HONE_CUDA_DRIVER", "/no/such/libcuda.so.1");
  EXPECT_EQ(error_of([] { open_device("cuda"); }).find("CUDA needs NVIDIA's driver: /no/such/libcuda.so.1"), 0u);
}

TEST(CudaDevice, AutoTakesAGpuWhereThereIsOneAndTheCpuElsewhere) {
  {
    const EmulatedCuda driver;
    EXPECT_EQ(text_of(*open_device("auto")), "cuda:0");
  }
  const WithVariable none("HONE_CUDA_DRIVER", "/no/such/libcuda.so.1");
  EXPECT_EQ(open_device("auto")->name(), "cpu");
}

TEST(CudaDevice, APlannedOneNeedsNoDriverAndRunsNothing) {
  const WithVariable none("HONE_CUDA_DRIVER", "/no/such/libcuda.so.1");
  const std::shared_ptr<Device> device = open_device("cuda:sm_80");
  EXPECT_EQ(text_of(*device), "cuda:sm_80");
  EXPECT_EQ(target_of_cuda(*device).multiprocessors(), 108);
  EXPECT_EQ(read(*device, zeros(*device, 3)), (std::vector<uint32_t>{0, 0, 0}));
  const std::string error = error_of([&] { device->make_queue()->launch(nullptr, {}, blocks(1, "gemm"), {}); });
  EXPECT_EQ(error.find("step \"gemm\": cuda:sm_80 is no GPU"), 0u) << error;
}

TEST(CudaTarget, FollowsFromTheCapability) {
  EXPECT_EQ(CudaTarget(75).sm(), 75);
  EXPECT_EQ(CudaTarget(87).sm(), 86);
  EXPECT_EQ(CudaTarget(120).sm(), 90);
  EXPECT_FALSE(CudaTarget(75).has_bf16());
  EXPECT_TRUE(CudaTarget(80).has_bf16());
  EXPECT_EQ(CudaTarget(75).ptx_version(false), 63);
  EXPECT_EQ(CudaTarget(75).ptx_version(true), 65);
  EXPECT_EQ(CudaTarget(80).ptx_version(true), 70);
  EXPECT_EQ(CudaTarget(90).ptx_version(false), 78);
  EXPECT_NE(error_of([] { CudaTarget(61); }), "");
  EXPECT_EQ(parse_cuda_target(to_string(CudaTarget(89))), CudaTarget(89));
}

TEST(CudaQueue, CopiesOfAnySizeArriveWhateverThePiecesThatTheyGoThrough) {
  const EmulatedCuda driver;
  const std::shared_ptr<Device> device = open_device("cuda");
  for (size_t count : {size_t{1}, size_t{100}, size_t{1} << 16, (size_t{1} << 21) + 17}) {
    std::vector<uint32_t> sent(count), back(count);
    std::iota(sent.begin(), sent.end(), 7u);
    const Buffer memory = device->allocate(4 * count), copy = device->allocate(4 * count);
    const std::unique_ptr<Queue> queue = device->make_queue();
    queue->write(memory.address(), std::as_bytes(std::span(sent)));
    queue->copy(copy.address(), memory.address(), 4 * count);
    queue->read(copy.address(), std::as_writable_bytes(std::span(back)));
    queue->synchronise();
    EXPECT_EQ(back, sent);
  }
}

// What a copy reads may change when write() has returned only by contract of the queue; here it may.
TEST(CudaQueue, AReadIsThereWhenAnEventBehindItHasHappened) {
  const EmulatedCuda driver;
  const std::shared_ptr<Device> device = open_device("cuda");
  const std::vector<uint32_t> sent{1, 2, 3};
  std::vector<uint32_t> back(3);
  const Buffer memory = device->allocate(12);
  const std::unique_ptr<Queue> queue = device->make_queue();
  queue->write(memory.address(), std::as_bytes(std::span(sent)));
  queue->read(memory.address(), std::as_writable_bytes(std::span(back)));
  queue->wait(queue->record());
  EXPECT_EQ(back, sent);
}

TEST(CudaQueue, LaunchesRunInOrderAndEventsTimeThem) {
  const EmulatedCuda driver;
  const Gpu gpu;
  const Buffer numbers = zeros(*gpu.device, 64);
  const std::unique_ptr<Queue> queue = gpu.device->make_queue();
  const uint64_t begin = queue->record();
  for (int i = 0; i < 3; ++i) queue->launch(gpu.code, args_of(numbers), blocks(2, "add"), {});
  queue->launch(gpu.code, args_of(numbers), blocks(0, "nothing"), {});
  const uint64_t end = queue->record();
  queue->synchronise();
  EXPECT_GE(queue->elapsed_ns(begin, end), 0);
  const std::vector<uint32_t> result = read(*gpu.device, numbers);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(result[i], 3 * i);
}

TEST(CudaQueue, AReplayIsOneGraphWhoseArgumentsChange) {
  const EmulatedCuda driver;
  const Gpu gpu;
  const Buffer one = zeros(*gpu.device, 32), other = zeros(*gpu.device, 32);
  std::vector<KernelArgs> args{args_of(one), args_of(one), args_of(one)};
  const std::vector<Launch> calls{blocks(1, "first"), blocks(0, "nothing"), blocks(1, "last")};
  std::vector<QueuedStep> steps;
  for (size_t i = 0; i < args.size(); ++i) steps.push_back({gpu.code, &args[i], &calls[i], {}});
  const std::unique_ptr<Queue> queue = gpu.device->make_queue();
  {
    const std::unique_ptr<Replay> replay = queue->prepare(steps);
    queue->run(*replay, {});
    args[2] = args_of(other);
    const std::vector<size_t> changed{2};
    queue->run(*replay, changed);
    queue->synchronise();
  }
  EXPECT_EQ(driver.count("graph_launches"), 2);
  EXPECT_EQ(read(*gpu.device, one)[5], 15u);
  EXPECT_EQ(read(*gpu.device, other)[5], 5u);
}

TEST(CudaQueue, ALaunchThatIsRefusedNamesItsStepAndChangesNothing) {
  const EmulatedCuda driver("refuse_launch=2");
  const Gpu gpu;
  const Buffer numbers = zeros(*gpu.device, 32);
  const std::unique_ptr<Queue> queue = gpu.device->make_queue();
  queue->launch(gpu.code, args_of(numbers), blocks(1, "one"), {});
  EXPECT_EQ(error_of([&] { queue->launch(gpu.code, args_of(numbers), blocks(1, "two"), {}); }),
            "CUDA: cuda:0 (emulated device 0): step \"two\": too many resources requested for launch "
            "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)");
  queue->launch(gpu.code, args_of(numbers), blocks(1, "three"), {});
  queue->synchronise();
  EXPECT_EQ(read(*gpu.device, numbers)[3], 6u);
  const std::string error =
      error_of([&] { queue->launch(gpu.code, args_of(numbers), blocks(int64_t{1} << 31, "wide"), {}); });
  EXPECT_NE(error.find("step \"wide\": 2147483648 blocks are more than one launch can have"), std::string::npos)
      << error;
}

// A pointer of the host's is none of the device's.
TEST(CudaQueue, AFaultNamesTheStepAndEndsAGeneration) {
  const EmulatedCuda driver;
  Gpu gpu;
  uint32_t on_host[32] = {};
  KernelArgs wrong;
  wrong.pointers[0] = on_host;
  const Buffer before = zeros(*gpu.device, 32);
  std::unique_ptr<Queue> queue = gpu.device->make_queue();
  queue->launch(gpu.code, wrong, blocks(1, "bad"), {});
  const std::string error = error_of([&] { queue->synchronise(); });
  EXPECT_EQ(error,
            "CUDA: cuda:0 (emulated device 0): step \"bad\": an illegal memory access was encountered "
            "(CUDA_ERROR_ILLEGAL_ADDRESS). All that lay in the memory of cuda:0 (emulated device 0) is lost with that");
  EXPECT_EQ(gpu.device->generation(), 1u);
  EXPECT_THROW(queue->synchronise(), DeviceLost);
  EXPECT_THROW(queue->record(), DeviceLost);
  EXPECT_THROW(read(*gpu.device, before), DeviceLost);
  EXPECT_EQ(error_of([&] { read(*gpu.device, before); }), error);  // later calls say what was first
  // What is made from now on works, beside what is left of before.
  const Gpu again;
  EXPECT_EQ(again.device, gpu.device);
  const Buffer after = zeros(*again.device, 32);
  EXPECT_NE(after.address(), before.address());
  queue = again.device->make_queue();
  queue->launch(again.code, args_of(after), blocks(1, "good"), {});
  queue->synchronise();
  EXPECT_EQ(read(*again.device, after)[4], 4u);
}

TEST(CudaQueue, AFaultAmongSeveralStepsIsNamedWhereEachIsWaitedFor) {
  uint32_t on_host[32] = {};
  KernelArgs wrong;
  wrong.pointers[0] = on_host;
  {
    const EmulatedCuda driver;
    const Gpu gpu;
    const Buffer numbers = zeros(*gpu.device, 32);
    const std::unique_ptr<Queue> queue = gpu.device->make_queue();
    driver.hold(true);
    queue->launch(gpu.code, args_of(numbers), blocks(1, "one"), {});
    queue->launch(gpu.code, wrong, blocks(1, "two"), {});
    queue->launch(gpu.code, args_of(numbers), blocks(1, "three"), {});
    driver.hold(false);
    const std::string error = error_of([&] { queue->synchronise(); });
    EXPECT_NE(error.find("one of the 3 steps from \"one\" to \"three\", which HONE_CUDA_SYNC=1 names: an illegal"),
              std::string::npos)
        << error;
  }
  const WithVariable waits("HONE_CUDA_SYNC", "1");
  const EmulatedCuda driver;
  const Gpu gpu;
  const Buffer numbers = zeros(*gpu.device, 32);
  const std::unique_ptr<Queue> queue = gpu.device->make_queue();
  queue->launch(gpu.code, args_of(numbers), blocks(1, "one"), {});
  const std::string error = error_of([&] { queue->launch(gpu.code, wrong, blocks(1, "two"), {}); });
  EXPECT_NE(error.find("step \"two\": an illegal memory access"), std::string::npos) << error;
}

TEST(CudaQueue, OfOneGpuFailWithoutTheOthers) {
  const EmulatedCuda driver("devices=2,fault_launch=1");
  const Gpu one(0), other(1);
  const Buffer of_one = zeros(*one.device, 32), of_other = zeros(*other.device, 32);
  const std::unique_ptr<Queue> failing = one.device->make_queue(), working = other.device->make_queue();
  failing->launch(one.code, args_of(of_one), blocks(1, "bad"), {});
  EXPECT_THROW(failing->synchronise(), DeviceLost);
  working->launch(other.code, args_of(of_other), blocks(1, "good"), {});
  working->synchronise();
  EXPECT_EQ(read(*other.device, of_other)[7], 7u);
}

TEST(CudaQueue, ADeviceThatIsGoneStaysGone) {
  const EmulatedCuda driver("lose_device=1");
  const Gpu gpu;
  const Buffer numbers = zeros(*gpu.device, 32);
  const std::unique_ptr<Queue> queue = gpu.device->make_queue();
  EXPECT_THROW(queue->launch(gpu.code, args_of(numbers), blocks(1, "last"), {}), DeviceLost);
  for (int i = 0; i < 2; ++i) {
    const std::string error = error_of([&] { gpu.device->make_queue(); });
    EXPECT_NE(error.find("step \"last\": unknown error"), std::string::npos) << error;
    EXPECT_NE(error.find("It cannot be used again"), std::string::npos) << error;
  }
}

TEST(CudaMemory, ThatIsShortIsAMemoryErrorWithWhatIsFree) {
  const EmulatedCuda driver("memory=64M");
  const std::shared_ptr<Device> device = open_device("cuda");
  EXPECT_EQ(device->free_bytes(), int64_t{64} << 20);
  const Buffer half = device->allocate(size_t{32} << 20);
  EXPECT_EQ(device->free_bytes(), int64_t{32} << 20);
  EXPECT_THROW(device->allocate(size_t{48} << 20), MemoryError);
  EXPECT_EQ(error_of([&] { device->allocate(size_t{48} << 20); }),
            "CUDA: cuda:0 (emulated device 0): 50.3 MB of its memory were asked for, and 33.6 MB of 67.1 MB are free");
  EXPECT_EQ(device->allocate(0).size(), 0u);
}

TEST(CudaMemory, IsGivenBack) {
  const EmulatedCuda driver;
  {
    const std::shared_ptr<Device> device = open_device("cuda");
    { const Buffer memory = device->allocate(1000); }
    device->make_queue()->synchronise();
    const Buffer outlives = [] { return open_device("cuda")->allocate(100); }();
    EXPECT_GT(driver.count("bytes"), 0);
  }
  EXPECT_EQ(driver.count("bytes"), 0);
}

TEST(CudaModules, AreLoadedOnceForEqualImages) {
  const EmulatedCuda driver;
  const Gpu one, other;
  EXPECT_EQ(one.code, other.code);
}

TEST(CudaAssembler, SaysWhatTheDriverRefuses) {
  {
    const EmulatedCuda driver("driver=11.4");
    const std::shared_ptr<CudaGpu> gpu = open_gpu(0);
    EXPECT_EQ(
        error_of([&] { assemble_ptx(gpu->context(), bytes_of(".version 7.8\n.target sm_90\n"), "gemm"); }),
        "CUDA: gemm needs PTX 7.8, and this driver, for CUDA 11.4, reads PTX up to 7.4. Update NVIDIA's driver to "
        "one for CUDA 11.8 or newer, or use --device cpu");
  }
  const EmulatedCuda driver;
  const std::shared_ptr<CudaGpu> gpu = open_gpu(0);
  const std::string error = error_of([&] {
    assemble_ptx(gpu->context(), bytes_of(".version 6.3\n.target sm_75\n.address_size 64\nnonsense"), "bad");
  });
  EXPECT_EQ(error.find("CUDA: cuda:0 (emulated device 0): bad: "), 0u) << error;
  EXPECT_NE(error.find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << error;
}

TEST(CudaAssembler, ReadsSpillsInTheLog) {
  EXPECT_FALSE(tells_of_spills(""));
  EXPECT_FALSE(tells_of_spills("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"));
  EXPECT_TRUE(tells_of_spills("    8 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"));
  EXPECT_TRUE(tells_of_spills("0 bytes spill stores, 40 bytes spill loads"));
  EXPECT_TRUE(tells_of_spills("4 bytes spill stores"));
  const EmulatedCuda driver("spill_above=2");
  const std::shared_ptr<CudaGpu> gpu = open_gpu(0);
  EXPECT_TRUE(assemble_ptx(gpu->context(), bytes_of(kAddNumbers), "add_numbers").spills);
}

TEST(CudaAssembler, WhatSpillsForTheSakeOfMoreBlocksIsAssembledForOne) {
  const EmulatedCuda driver("aim_at=2");
  const std::shared_ptr<CudaGpu> gpu = open_gpu(0);
  EXPECT_TRUE(assemble_ptx(gpu->context(), bytes_of(kAddNumbers), "add_numbers").spills) << "it says no .maxntid";
  std::string text = kAddNumbers;
  text.insert(text.find("\n{"), "\n.maxntid 128, 1, 1");
  EXPECT_FALSE(assemble_ptx(gpu->context(), bytes_of(text), "add_numbers").spills);
}

}  // namespace
}  // namespace hone::test

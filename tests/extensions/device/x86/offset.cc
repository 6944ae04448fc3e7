// A device that shares nothing with the host: its addresses are none of the process, and are translated when a kernel
// is launched; its queue is another thread.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/stop.h"
#include "base/threads.h"
#include "device/foreign_memory.h"
#include "device/task_thread.h"
#include "device/x86/device.h"
#include "device/x86/x86_kernel.h"
#include "kernels/registry.h"

namespace hone {
namespace {

constexpr std::string_view kWithout = " without ";

class OffsetQueue : public Queue {
 public:
  explicit OffsetQueue(std::shared_ptr<ForeignMemory> memory) : memory_(std::move(memory)) {}

  void write(std::byte* to, std::span<const std::byte> from) override {
    if (from.empty()) return;
    thread_.enqueue([this, to, from] { std::memcpy(memory_->at(to, from.size()), from.data(), from.size()); });
  }
  void read(const std::byte* from, std::span<std::byte> to) override {
    if (to.empty()) return;
    thread_.enqueue([this, from, to] { std::memcpy(to.data(), memory_->at(from, to.size()), to.size()); });
  }
  void copy(std::byte* to, const std::byte* from, size_t bytes) override {
    if (bytes > 0)
      thread_.enqueue(
          [this, to, from, bytes] { std::memmove(memory_->at(to, bytes), memory_->at(from, bytes), bytes); });
  }
  void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) override {
    thread_.enqueue([this, code, args, call, threads = std::vector<std::byte*>(scratch.begin(), scratch.end())] {
      KernelArgs translated = args;
      for (void*& pointer : translated.pointers)
        if (pointer) pointer = memory_->at(pointer, 0);
      const auto kernel = reinterpret_cast<KernelFn>(const_cast<void*>(code));
      auto chunk = [&](int64_t begin, int64_t end, int thread) {
        std::byte* own = threads[static_cast<size_t>(thread)];
        kernel(&translated, begin, end, own ? memory_->at(own, 0) : nullptr);
      };
      const Unstoppable whole;  // a stop is seen between launches, by whoever asks for them
      parallel_chunks(call.items, call.items_per_chunk, static_cast<int>(threads.size()), chunk);
    });
  }
  uint64_t record() override { return thread_.record(); }
  void wait(uint64_t event) override { thread_.wait(event); }
  double elapsed_ns(uint64_t from, uint64_t to) override { return thread_.elapsed_ns(from, to); }
  void forget_events() override { thread_.forget_events(); }
  void synchronise() override { thread_.synchronise(); }

 private:
  const std::shared_ptr<ForeignMemory> memory_;
  TaskThread thread_;  // last: its tasks use the memory
};

class OffsetDevice : public X86Device, public std::enable_shared_from_this<OffsetDevice> {
 public:
  OffsetDevice(const X86Target& target, std::vector<std::string> lacking)
      : X86Device(target), lacking_(std::move(lacking)) {}

  std::string_view name() const override { return "offset"; }
  std::string variant() const override {
    return lacking_.empty() ? X86Device::variant()
                            : fmt::format("{}{}{}", X86Device::variant(), kWithout, fmt::join(lacking_, ","));
  }
  const KernelImplementation* find(const KernelDef& kernel) const override {
    return std::ranges::find(lacking_, kernel.name) == lacking_.end() ? X86Device::find(kernel) : nullptr;
  }
  bool is_host() const override { return false; }
  void read(const std::byte* from, std::span<std::byte> to) override {
    std::memcpy(to.data(), memory_->at(from, to.size()), to.size());  // queues are empty when a run has ended
  }
  Buffer allocate(size_t bytes) override {
    std::byte* const address = memory_->take(bytes);
    // What the buffer keeps alive: the memory, and the device that reads it.
    auto owner = std::shared_ptr<const void>(address, [memory = memory_, self = shared_from_this()](const void* taken) {
      memory->give_back(static_cast<const std::byte*>(taken));
    });
    return Buffer::of_device(*this, std::move(owner), {address, bytes});
  }
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<OffsetQueue>(memory_); }

 private:
  const std::vector<std::string> lacking_;  // kernel classes
  std::shared_ptr<ForeignMemory> memory_ = std::make_shared<ForeignMemory>("offset");
};

std::vector<std::string> known_classes(std::string_view names) {
  std::vector<std::string> classes;
  while (!names.empty()) {
    const size_t end = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, end);
    if (std::ranges::find(kernels::all(), name, &KernelDef::name) == kernels::all().end())
      fail("device offset: there is no kernel class \"{}\" to be without", name);
    classes.emplace_back(name);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return classes;
}

std::shared_ptr<Device> open_offset(std::string_view variant) {
  const size_t end = std::min(variant.find(kWithout), variant.size());
  const std::string_view target = variant.substr(0, end);
  return std::make_shared<OffsetDevice>(target.empty() ? host_target() : parse_target(target),
                                        known_classes(variant.substr(std::min(end + kWithout.size(), variant.size()))));
}

}  // namespace

extern constinit const DeviceDef offset_device_def{
    .name = "offset",
    .doc = "kernels of the CPU on memory that the host cannot read",
    .variants = "as of cpu; \"avx2 without gemm,row\" has no kernels of these classes",
    .open = open_offset};

}  // namespace hone

#include "tests/support/cuda/driver.h"

#include <algorithm>
#include <cstdio>

#include "tests/support/cuda/control.h"

namespace hone::emulated_cuda {
namespace {

thread_local Device* current_device = nullptr;
thread_local uint64_t current_era = 0;  // of which emulated_cuda_configure
uint64_t era = 1;

constexpr DevicePointer kFirst = 0x7f0000000000ull << 4;  // no address of a process

Result code_of(ptx::Fault::Kind kind) {
  switch (kind) {
    case ptx::Fault::Kind::address:
      return kIllegalAddress;
    case ptx::Fault::Kind::alignment:
      return kMisalignedAddress;
    case ptx::Fault::Kind::time:
      return kLaunchTimeout;
    case ptx::Fault::Kind::other:
      break;
  }
  return kLaunchFailed;
}

}  // namespace

Driver& driver() {
  static Driver* all = new Driver;  // streams that a program leaves behind outlive its statics
  return *all;
}
Gate& gate() {
  static Gate* all = new Gate;
  return *all;
}

void Gate::hold(bool held) {
  {
    std::lock_guard lock(mutex_);
    held_ = held;
  }
  changed_.notify_all();
}
void Gate::pass() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !held_; });
}

Block::Block(DevicePointer at, size_t size) : address(at), data(size + 256, std::byte{0xcd}) {
  const auto from = reinterpret_cast<uintptr_t>(data.data());
  bytes = std::span(data).subspan((256 - from % 256) % 256, size);
}

void Driver::begin(const Settings& with) {
  std::map<void*, std::shared_ptr<void>> old;
  {
    std::lock_guard lock(mutex);
    settings = with;
    begun = true, initialised = false;
    old.swap(handles);
    streams.clear(), pinned.clear(), counts.clear(), kernel_counts.clear(), fault.clear();
    ++era;
  }
  old.clear();  // streams end what they do, which may take the mutex
  std::lock_guard lock(mutex);
  for (int i = 0; i < std::ssize(devices); ++i) {
    devices[static_cast<size_t>(i)] = Device{.index = i, .next = kFirst + (static_cast<DevicePointer>(i) << 42)};
  }
}

Device& Driver::device(int index) {
  if (!initialised) throw Failed{kNotInitialized};
  if (index < 0 || index >= settings.devices) throw Failed{kInvalidDevice};
  return devices[static_cast<size_t>(index)];
}
Device* Driver::current_or_none() { return current_era == era ? current_device : nullptr; }
void Driver::set_current(Device* device) { current_device = device, current_era = era; }
Device& Driver::current() {
  if (!initialised) throw Failed{kNotInitialized};
  Device* device = current_or_none();
  if (device == nullptr || device->retained == 0) throw Failed{kInvalidContext};
  if (device->lost) throw Failed{kUnknown};
  if (device->sticky != kSuccess) throw Failed{device->sticky};
  return *device;
}

std::shared_ptr<Block> Driver::find(Device& device, DevicePointer address, size_t bytes) const {
  auto after = device.memory.upper_bound(address);
  if (after == device.memory.begin()) throw Failed{kInvalidValue};
  const auto& block = std::prev(after)->second;
  const uint64_t from = address - block->address;
  if (from > block->bytes.size() || bytes > block->bytes.size() - from) throw Failed{kInvalidValue};
  return block;
}

// After a fault the device's context does nothing any more.
void Driver::run_kernel(Device& device, const KernelCall& call) {
  std::vector<std::shared_ptr<Block>> blocks;
  {
    std::lock_guard lock(mutex);
    if (device.sticky != kSuccess || device.lost) return;
    for (const auto& [address, block] : device.memory) blocks.push_back(block);
  }
  ptx::Memory memory;
  for (const auto& block : blocks) memory.add(block->address, block->bytes);
  try {
    const ptx::Counts counts = ptx::run(*call.module, *call.kernel, call.launch, call.params, memory);
    std::lock_guard lock(mutex);
    auto& [module, sum] = kernel_counts[call.kernel->name];
    if (module != call.module) module = call.module, sum = {};
    sum.add(counts);
  } catch (const ptx::Fault& found) {
    std::lock_guard lock(mutex);
    device.sticky = code_of(found.kind());
    note_fault(found.what());
  } catch (const Error& error) {
    std::lock_guard lock(mutex);
    device.sticky = kLaunchFailed;
    note_fault(error.what());
  }
}

void Driver::note_fault(const char* what) {
  fault = what;
  if (settings.tells) std::fprintf(stderr, "emulated CUDA: %s\n", what);
}

int call_unlocked(const std::function<void()>& body) {
  try {
    body();
    return kSuccess;
  } catch (const Failed& failed) {
    if (!failed.text.empty()) {
      std::lock_guard lock(driver().mutex);
      driver().fault = failed.text;
    }
    return failed.code;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception& error) {
    std::lock_guard lock(driver().mutex);
    driver().fault = error.what();
    return kUnknown;
  }
}
int call(const std::function<void()>& body) {
  return call_unlocked([&] {
    std::lock_guard lock(driver().mutex);
    body();
  });
}

}  // namespace hone::emulated_cuda

using namespace hone::emulated_cuda;

extern "C" {
int emulated_cuda_configure(const char* settings) {
  return call_unlocked([&] { driver().begin(parse_settings(settings)); }) != kSuccess;
}
void emulated_cuda_hold(int held) { gate().hold(held != 0); }
long long emulated_cuda_count(const char* what) {
  std::lock_guard lock(driver().mutex);
  static constexpr std::string_view kKnown[] = {"allocations", "frees",  "launches", "graph_launches",
                                                "copies",      "pinned", "bytes"};
  if (std::find(std::begin(kKnown), std::end(kKnown), what) == std::end(kKnown)) return -1;
  if (std::string_view(what) != "bytes") return driver().counts[what];
  long long bytes = 0;
  for (const Device& device : driver().devices) bytes += device.used;
  return bytes;
}
long long emulated_cuda_kernel_count(const char* kernel, const char* instruction, const char* what) {
  std::lock_guard lock(driver().mutex);
  const auto found = driver().kernel_counts.find(std::string_view(kernel));
  if (found == driver().kernel_counts.end()) return -1;
  const auto& [module, counts] = found->second;
  const std::string_view name = what;
  const hone::ptx::LineCounts sum = *instruction ? counts.of(*module->find(kernel), instruction) : counts.all();
  return name == "executed"      ? sum.executed
         : name == "sectors"     ? sum.sectors
         : name == "bytes"       ? sum.bytes
         : name == "bank_cycles" ? sum.bank_cycles
         : name == "bank_least"  ? sum.bank_least
                                 : -1;
}
const char* emulated_cuda_fault() {
  thread_local std::string copy;
  std::lock_guard lock(driver().mutex);
  copy = driver().fault;
  return copy.c_str();
}
}

// Memory of devices and pinned memory of the host, and copies between them. A copy from memory that is not pinned takes
// the bytes at once, and one to such memory ends before the call does, as drivers do it; others happen when their turn
// comes, so a host that changes or reads the bytes before is found out.
#include <cstring>

#include "tests/support/cuda/driver.h"

namespace hone::emulated_cuda {
namespace {

void allocate(Device& device, DevicePointer* out, size_t bytes) {
  Driver& all = driver();
  if (bytes == 0) throw Failed{kInvalidValue};
  const auto room = static_cast<uint64_t>(all.settings.memory - device.used);
  if (++all.counts["allocations"] == all.settings.fail_allocation || bytes > room) throw Failed{kOutOfMemory};
  auto block = std::make_shared<Block>(device.next, bytes);
  device.next += (bytes + 511) / 256 * 256;  // a gap, so that going beyond one meets none
  device.used += static_cast<int64_t>(bytes);
  *out = block->address;
  device.memory[block->address] = std::move(block);
}

void release(Device& device, DevicePointer address) {
  const auto found = device.memory.find(address);
  if (found == device.memory.end()) return;
  device.used -= static_cast<int64_t>(found->second->bytes.size());
  device.memory.erase(found);
}

bool is_pinned(const void* from, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  auto after = driver().pinned.upper_bound(at);
  if (after == driver().pinned.begin()) return false;
  const auto& [begin, held] = *std::prev(after);
  const auto offset = static_cast<size_t>(at - begin);
  return offset <= held->size() && bytes <= held->size() - offset;
}

std::byte* host(const Block& block, DevicePointer address) { return block.bytes.data() + (address - block.address); }

// A task over bytes of the device, which stay as long as it waits. After a fault nothing is copied.
void push_copy(Device& device, Stream* stream, std::function<void()> copy) {
  ++driver().counts["copies"];
  driver().get(stream)->push([&device, copy = std::move(copy)] {
    {
      std::lock_guard lock(driver().mutex);
      if (device.sticky != kSuccess || device.lost) return;
    }
    copy();
  });
}

void write(Stream* stream, DevicePointer to, const void* from, size_t bytes) {
  Device& device = driver().current();
  const auto block = driver().find(device, to, bytes);
  if (is_pinned(from, bytes))
    return push_copy(device, stream, [block, to, from, bytes] { std::memcpy(host(*block, to), from, bytes); });
  std::vector<std::byte> now(bytes);
  std::memcpy(now.data(), from, bytes);
  push_copy(device, stream,
            [block, to, now = std::move(now)] { std::memcpy(host(*block, to), now.data(), now.size()); });
}

// Whether the caller is to wait.
bool read(Stream* stream, void* to, DevicePointer from, size_t bytes) {
  Device& device = driver().current();
  const auto block = driver().find(device, from, bytes);
  push_copy(device, stream, [block, to, from, bytes] { std::memcpy(to, host(*block, from), bytes); });
  return !is_pinned(to, bytes);
}

}  // namespace
}  // namespace hone::emulated_cuda

using namespace hone::emulated_cuda;

extern "C" {
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return call([&] {
    const Device& device = driver().current();
    *total = static_cast<size_t>(driver().settings.memory);
    *free = static_cast<size_t>(driver().settings.memory - device.used);
  });
}
int cuMemAlloc_v2(DevicePointer* out, size_t bytes) {
  return call([&] { allocate(driver().current(), out, bytes); });
}
int cuMemFree_v2(DevicePointer address) {
  return call([&] {
    Device& device = driver().current();
    if (!device.memory.contains(address)) throw Failed{kInvalidValue};
    ++driver().counts["frees"];
    release(device, address);
  });
}
// In the order of the stream: the memory is there for what is asked of it from now on. (It is from this call on.)
int cuMemAllocAsync(DevicePointer* out, size_t bytes, Stream* stream) {
  return call([&] {
    driver().get(stream);
    allocate(driver().current(), out, bytes);
  });
}
int cuMemFreeAsync(DevicePointer address, Stream* stream) {
  return call([&] {
    Device& device = driver().current();
    if (!device.memory.contains(address)) throw Failed{kInvalidValue};
    ++driver().counts["frees"];
    driver().get(stream)->push([&device, address] {
      std::lock_guard lock(driver().mutex);
      release(device, address);
    });
  });
}
int cuDeviceGetDefaultMemPool(void** pool, int device) {
  return call([&] { *pool = &driver().device(device); });
}
int cuMemPoolSetAttribute(void* pool, int, void*) {  // how much it keeps: here nothing is kept
  return call([&] {
    for (const Device& device : driver().devices)
      if (pool == &device) return;
    throw Failed{kInvalidValue};
  });
}
int cuMemPoolGetAttribute(void* pool, int which, void* value) {
  return call([&] {
    for (const Device& device : driver().devices)
      if (pool == &device && (which == kPoolReservedBytes || which == kPoolUsedBytes))
        return void(*static_cast<uint64_t*>(value) = static_cast<uint64_t>(device.used));
    throw Failed{kInvalidValue};
  });
}
int cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  return call([&] {
    driver().current();
    if (bytes == 0) throw Failed{kInvalidValue};
    ++driver().counts["pinned"];
    auto held = std::make_unique<std::vector<std::byte>>(bytes);
    *out = held->data();
    driver().pinned[held->data()] = std::move(held);
  });
}
int cuMemFreeHost(void* memory) {
  return call([&] {
    if (driver().pinned.erase(static_cast<std::byte*>(memory)) == 0) throw Failed{kInvalidValue};
  });
}

int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream* stream) {
  return call([&] { write(stream, to, from, bytes); });
}
int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, Stream* stream) {
  return call_unlocked([&] {
    std::shared_ptr<Stream> alive;
    {
      std::lock_guard lock(driver().mutex);
      if (read(stream, to, from, bytes)) alive = driver().get(stream);
    }
    if (alive) alive->synchronise();
  });
}
int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, Stream* stream) {
  return call([&] {
    Device& device = driver().current();
    const auto target = driver().find(device, to, bytes), source = driver().find(device, from, bytes);
    push_copy(device, stream, [=] { std::memmove(host(*target, to), host(*source, from), bytes); });
  });
}
int cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes, Stream* stream) {
  return call([&] {
    Device& device = driver().current();
    const auto block = driver().find(device, to, bytes);
    push_copy(device, stream, [=] { std::memset(host(*block, to), value, bytes); });
  });
}
// Without a stream they wait for nothing that streams do, since those are made not to wait for the default one.
int cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t bytes) {
  return call([&] { std::memcpy(host(*driver().find(driver().current(), to, bytes), to), from, bytes); });
}
int cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t bytes) {
  return call([&] { std::memcpy(to, host(*driver().find(driver().current(), from, bytes), from), bytes); });
}
}

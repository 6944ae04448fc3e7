#include "device/steps/memory.h"

#include "base/memory_limit.h"
#include "base/multiples.h"
#include "device/device_lost.h"

namespace hone {

namespace {
constexpr int64_t kGap = 4096;  // between blocks, so that what runs over the end of one is in none
}

std::byte* StepsMemory::take(size_t bytes) {
  require_memory(static_cast<int64_t>(bytes), "a buffer of the steps device");
  auto storage = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const std::lock_guard lock(mutex_);
  if (until_failure_ >= 0 && until_failure_-- == 0) throw MemoryError("the steps device has no more memory");
  ++takes_;
  const uintptr_t address = next_;
  next_ += static_cast<uintptr_t>(round_up(static_cast<int64_t>(bytes), kGap) + kGap);
  blocks_.emplace(address, Block{bytes, generation_, std::move(storage)});
  return reinterpret_cast<std::byte*>(address);
}

void StepsMemory::give_back(const std::byte* address) noexcept {
  const std::lock_guard lock(mutex_);
  blocks_.erase(reinterpret_cast<uintptr_t>(address));
}

std::byte* StepsMemory::at(const void* address, size_t bytes) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(wanted);
  CHECK(block != blocks_.begin(), "{} is no address of the device", address);
  const auto& [first, taken] = *--block;
  const uintptr_t offset = wanted - first;
  CHECK(offset <= taken.bytes && bytes <= taken.bytes - offset,
        "{} bytes at {} are not of one buffer: the one before ends at byte {}", bytes, address, taken.bytes);
  if (taken.generation != generation_) throw DeviceLost("the steps device lost its memory");
  return taken.storage.get() + offset;
}

void StepsMemory::lose() {
  const std::lock_guard lock(mutex_);
  ++generation_;
}

uint64_t StepsMemory::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

int64_t StepsMemory::blocks() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(blocks_);
}

int64_t StepsMemory::takes() const {
  const std::lock_guard lock(mutex_);
  return takes_;
}

void StepsMemory::fail_after(int64_t takes) {
  const std::lock_guard lock(mutex_);
  until_failure_ = takes;
}

bool StepsMemory::has_failed() const {
  const std::lock_guard lock(mutex_);
  return until_failure_ < 0;
}

}  // namespace hone

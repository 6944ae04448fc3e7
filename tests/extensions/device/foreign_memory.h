// Memory at addresses that no process has: whoever takes one of them for a pointer ends there. It knows each of its
// blocks, so that a use of bytes that belong to none is found, and goes wrong when a test asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/memory_limit.h"
#include "base/multiples.h"
#include "device/device_lost.h"

namespace hone {

class ForeignMemory {
 public:
  explicit ForeignMemory(std::string device) : device_(std::move(device)) {}  // in messages

  std::byte* take(size_t bytes) {  // throws MemoryError
    require_memory(static_cast<int64_t>(bytes), "a buffer of the " + device_ + " device");
    auto storage = std::make_unique_for_overwrite<Line[]>(bytes / sizeof(Line) + 1);
    const std::lock_guard lock(mutex_);
    if (until_failure_ >= 0 && until_failure_-- == 0)
      throw MemoryError("the " + device_ + " device has no more memory");
    ++takes_;
    const uintptr_t address = next_;
    next_ += static_cast<uintptr_t>(round_up(static_cast<int64_t>(bytes), kGap) + kGap);
    blocks_.emplace(address, Block{bytes, generation_, std::move(storage)});
    return reinterpret_cast<std::byte*>(address);
  }
  void give_back(const std::byte* address) noexcept {
    const std::lock_guard lock(mutex_);
    blocks_.erase(reinterpret_cast<uintptr_t>(address));
  }
  // Where bytes of one block lie, for the threads of the device. Bug when they are of none; DeviceLost when the block
  // was taken before the memory was lost.
  std::byte* at(const void* address, size_t bytes) const {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    const std::lock_guard lock(mutex_);
    auto block = blocks_.upper_bound(wanted);
    CHECK(block != blocks_.begin(), "{} is no address of the device", address);
    const auto& [first, taken] = *--block;
    const uintptr_t offset = wanted - first;
    CHECK(offset <= taken.bytes && bytes <= taken.bytes - offset,
          "{} bytes at {} are not of one buffer: the one before ends at byte {}", bytes, address, taken.bytes);
    if (taken.generation != generation_) throw DeviceLost("the " + device_ + " device lost its memory");
    return taken.storage[0].bytes + offset;
  }

  void lose() {  // what lies in all blocks
    const std::lock_guard lock(mutex_);
    ++generation_;
  }
  uint64_t generation() const { return locked(generation_); }
  int64_t blocks() const {  // that are taken now
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(blocks_.size());
  }
  int64_t takes() const { return locked(takes_); }  // how often one was taken
  void fail_after(int64_t takes) {                  // the one behind so many throws MemoryError; then all is well again
    const std::lock_guard lock(mutex_);
    until_failure_ = takes;
  }
  bool has_failed() const { return locked(until_failure_) < 0; }  // since that was asked for

 private:
  static constexpr int64_t kGap = 4096;  // between blocks, so that what runs over the end of one is in none
  struct alignas(64) Line {              // as buffers are aligned, which kernels may store whole lines of
    std::byte bytes[64];
  };
  struct Block {
    size_t bytes;
    uint64_t generation;
    std::unique_ptr<Line[]> storage;
  };
  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  const std::string device_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // by address
  // No process has addresses with bit 62: x86-64 and AArch64 read at most 57 bits.
  uintptr_t next_ = uintptr_t{1} << 62;
  uint64_t generation_ = 0;
  int64_t takes_ = 0, until_failure_ = -1;
};

}  // namespace hone

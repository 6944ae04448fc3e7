// Memory at addresses that no process has: whoever takes one of them for a pointer ends there. It knows each of its
// blocks, so that a use of bytes that belong to none is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace hone {

class StepsMemory {
 public:
  std::byte* take(size_t bytes);  // throws MemoryError
  void give_back(const std::byte* address) noexcept;
  // Where bytes of one block lie, for the threads of the device. Bug when they are of none; DeviceLost when the block
  // was taken before the memory was lost.
  std::byte* at(const void* address, size_t bytes) const;

  void lose();  // what lies in all blocks
  uint64_t generation() const;

  int64_t blocks() const;          // that are taken now
  int64_t takes() const;           // how often one was taken
  void fail_after(int64_t takes);  // the one behind so many throws MemoryError; then all is well again
  bool has_failed() const;         // since that was asked for

 private:
  struct Block {
    size_t bytes;
    uint64_t generation;
    std::unique_ptr<std::byte[]> storage;
  };
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // by address
  // No process has addresses with bit 62: x86-64 and AArch64 read at most 57 bits.
  uintptr_t next_ = uintptr_t{1} << 62;
  uint64_t generation_ = 0;
  int64_t takes_ = 0, until_failure_ = -1;
};

}  // namespace hone

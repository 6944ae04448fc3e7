// Memory of a device that runs bring inputs to and leave outputs in, and that later runs take again.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "device/device.h"

namespace hone {

// Held by shared_ptr, for any number of threads at once. What was taken may outlive it.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  explicit BufferPool(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Uninitialised. What was given back and is at most twice as large is taken before new memory is. The last who has
  // the buffer gives it back: then nothing of it may be under way.
  Buffer take(size_t bytes);
  // Uninitialised, and not given back. Throws MemoryError when there is no more, even without what is free here.
  Buffer fresh(size_t bytes);
  bool drop_free() noexcept;  // what nobody has; false: there was none

 private:
  using Blocks = std::list<Buffer>;  // parts of it change hands without an allocation
  struct Taken;
  Blocks found(size_t bytes);  // none or one
  void give_back(Blocks& block) noexcept;

  const std::shared_ptr<Device> device_;
  std::mutex mutex_;
  Blocks free_;  // the one that was given back first comes first
  size_t free_bytes_ = 0, taken_bytes_ = 0, most_taken_ = 0;
};

}  // namespace hone

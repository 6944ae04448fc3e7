#include "runtime/buffer_pool.h"

#include <algorithm>

#include "base/memory_limit.h"

namespace hone {

// A block that someone has; it goes where the pool is gone.
struct BufferPool::Taken {
  explicit Taken(BufferPool& from) : pool(from.weak_from_this()) {}
  ~Taken() {
    if (const std::shared_ptr<BufferPool> owner = pool.lock(); owner && !block.empty()) owner->give_back(block);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  const std::weak_ptr<BufferPool> pool;
  Blocks block;
};

Buffer BufferPool::take(size_t bytes) {
  if (bytes == 0) return {};
  const auto taken = std::make_shared<Taken>(*this);
  Blocks block = found(bytes);
  if (block.empty()) block.push_back(fresh(bytes));
  {
    const std::lock_guard lock(mutex_);
    taken_bytes_ += block.front().size();
    most_taken_ = std::max(most_taken_, taken_bytes_);
  }
  taken->block = std::move(block);  // to be given back from here on
  const Buffer& held = taken->block.front();
  return Buffer::of_device(*held.memory(), taken, {held.address(), bytes});
}

// The smallest that is not more than twice as large.
BufferPool::Blocks BufferPool::found(size_t bytes) {
  Blocks block;
  const std::lock_guard lock(mutex_);
  auto best = free_.end();
  for (auto each = free_.begin(); each != free_.end(); ++each)
    if (each->size() >= bytes && each->size() / 2 <= bytes && (best == free_.end() || each->size() < best->size()))
      best = each;
  if (best == free_.end()) return block;
  free_bytes_ -= best->size();
  block.splice(block.end(), free_, best);
  return block;
}

Buffer BufferPool::fresh(size_t bytes) {
  try {
    return device_->allocate(bytes);
  } catch (const MemoryError&) {
    if (!drop_free()) throw;
  }
  return device_->allocate(bytes);
}

bool BufferPool::drop_free() noexcept {
  Blocks dropped;  // freed when the lock is
  const std::lock_guard lock(mutex_);
  dropped.swap(free_);
  free_bytes_ = 0;
  return !dropped.empty();
}

// At most twice of what was ever taken at once stays.
void BufferPool::give_back(Blocks& block) noexcept {
  Blocks dropped;  // freed when the lock is
  const std::lock_guard lock(mutex_);
  taken_bytes_ -= block.front().size(), free_bytes_ += block.front().size();
  free_.splice(free_.end(), block);
  while (free_bytes_ > 2 * most_taken_) {
    free_bytes_ -= free_.front().size();
    dropped.splice(dropped.end(), free_, free_.begin());
  }
}

}  // namespace hone

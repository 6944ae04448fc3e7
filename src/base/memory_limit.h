// One budget for the memory of the process. What takes much (tensors, arenas, weights laid out, decoded files) is held
// against it before it is allocated; beyond it is an Error that says what needs how much. One for the process, since
// memory is (docs/decisions/limits.md). A MemoryBudget bounds a part of that further: what one session holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace hone {

// More memory was asked for than the process may take. Less may be asked for, or some be given back.
class MemoryError : public Error {
  using Error::Error;
};

// Unless set, what the machine, or the container around the process, has free when first asked.
int64_t memory_limit();
void set_memory_limit(int64_t bytes);  // 0: as unless set, found out anew
int64_t memory_charged();              // what living MemoryCharges hold
int64_t free_memory_bytes();           // of the machine or container now

// Throws MemoryError when `bytes` more than what is charged would exceed the limit. `what` begins the message: "a
// tensor f32[4096,4096]".
void require_memory(int64_t bytes, std::string_view what);

// A limit on what is charged while a MemoryScope of it lives.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  explicit MemoryBudget(int64_t limit) : limit_(limit) {}
  int64_t limit() const { return limit_; }
  int64_t charged() const { return charged_.load(std::memory_order_relaxed); }

 private:
  friend class MemoryCharge;
  const int64_t limit_;
  std::atomic<int64_t> charged_{0};
};

// While one lives, what this thread charges counts against the budget too, as does what the regions charge that the
// thread makes (base/threads.h). A shared_ptr must own the budget for that long. Null: the budget of the scope around
// it goes on.
class MemoryScope {
 public:
  explicit MemoryScope(MemoryBudget* budget);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  static MemoryBudget* here();  // null: there is none

 private:
  MemoryBudget* around_;
};

// Bytes that count for as long as this lives.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(int64_t bytes, std::string_view what);  // require_memory first
  ~MemoryCharge();
  MemoryCharge(MemoryCharge&& other) noexcept;
  MemoryCharge& operator=(MemoryCharge&& other) noexcept;

 private:
  int64_t bytes_ = 0;
  std::shared_ptr<MemoryBudget> budget_;  // null: it counts against the process's limit alone
};

}  // namespace hone

#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

std::atomic<int64_t> the_limit{0}, charged{0};
thread_local MemoryBudget* budget_here = nullptr;

// `which` says whose limit it is, and what sets it.
[[noreturn]] void refuse(int64_t bytes, std::string_view what, int64_t held, int64_t limit, const char* which) {
  throw MemoryError(fmt::format("{} needs {} of memory, {} are held and {} is the limit{}", what,
                                human_bytes(static_cast<double>(bytes)), human_bytes(static_cast<double>(held)),
                                human_bytes(static_cast<double>(limit)), which));
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The number in the line of `path` that begins with `key`, or of its only line for an empty key.
std::optional<int64_t> number_in(const char* path, const char* key) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path, "re"));
  char line[256];
  while (file && std::fgets(line, sizeof line, file.get())) {
    long long number;
    if (std::strncmp(line, key, std::strlen(key)) == 0 && std::sscanf(line + std::strlen(key), "%lld", &number) == 1)
      return number;
  }
  return std::nullopt;
}

}  // namespace

int64_t free_memory_bytes() {
  int64_t free = std::numeric_limits<int64_t>::max();
  if (const auto kib = number_in("/proc/meminfo", "MemAvailable:")) free = *kib << 10;
  else if (const long pages = ::sysconf(_SC_AVPHYS_PAGES); pages > 0) free = int64_t{pages} * ::sysconf(_SC_PAGESIZE);
  const auto most = number_in("/sys/fs/cgroup/memory.max", ""), used = number_in("/sys/fs/cgroup/memory.current", "");
  if (most && used) free = std::min(free, std::max<int64_t>(*most - *used, 0));
  return free;
}

int64_t memory_limit() {
  int64_t limit = the_limit.load(std::memory_order_relaxed);
  if (limit == 0) the_limit.store(limit = std::max<int64_t>(free_memory_bytes() + charged.load(), 1));
  return limit;
}

void set_memory_limit(int64_t bytes) { the_limit.store(bytes); }

int64_t memory_charged() { return charged.load(std::memory_order_relaxed); }

void require_memory(int64_t bytes, std::string_view what) {
  const int64_t limit = memory_limit(), held = memory_charged();
  if (bytes > limit - held) [[unlikely]]
    refuse(bytes, what, held, limit, "; --max-memory SIZE sets it");
  if (const MemoryBudget* budget = budget_here; budget && bytes > budget->limit() - budget->charged()) [[unlikely]]
    refuse(bytes, what, budget->charged(), budget->limit(), " of the session; its option memory_limit sets it");
}

MemoryScope::MemoryScope(MemoryBudget* budget) : around_(budget_here) {
  if (budget) budget_here = budget;
}
MemoryScope::~MemoryScope() { budget_here = around_; }
MemoryBudget* MemoryScope::here() { return budget_here; }

MemoryCharge::MemoryCharge(int64_t bytes, std::string_view what) {
  CHECK(bytes >= 0);
  require_memory(bytes, what);
  if (budget_here) {
    budget_ = budget_here->shared_from_this();
    budget_->charged_.fetch_add(bytes, std::memory_order_relaxed);
  }
  charged.fetch_add(bytes, std::memory_order_relaxed);
  bytes_ = bytes;
}

MemoryCharge::~MemoryCharge() {
  charged.fetch_sub(bytes_, std::memory_order_relaxed);
  if (budget_) budget_->charged_.fetch_sub(bytes_, std::memory_order_relaxed);
}

MemoryCharge::MemoryCharge(MemoryCharge&& other) noexcept
    : bytes_(std::exchange(other.bytes_, 0)), budget_(std::move(other.budget_)) {}

MemoryCharge& MemoryCharge::operator=(MemoryCharge&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  budget_.swap(other.budget_);
  return *this;
}

}  // namespace hone

// Memory beside which nothing can be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <span>

namespace hone::test {

// A copy of bytes between two pages that can't be read: it ends where the second starts, or starts where the first
// ends.
class AtTheEdge {
 public:
  enum class Side : uint8_t { end, start };
  explicit AtTheEdge(std::span<const std::byte> bytes, Side side = Side::end) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t whole = (bytes.size() + page - 1) / page * page;
    size_ = whole + 2 * page;
    start_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(start_, page, PROT_NONE);
    mprotect(start_ + page + whole, page, PROT_NONE);
    data_ = start_ + page + (side == Side::end ? whole - bytes.size() : 0);
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~AtTheEdge() { munmap(start_, size_); }
  AtTheEdge(const AtTheEdge&) = delete;
  AtTheEdge& operator=(const AtTheEdge&) = delete;
  std::byte* data() { return data_; }

 private:
  std::byte *start_, *data_;
  size_t size_;
};

}  // namespace hone::test

#include "base/system_memory.h"

#include <sys/mman.h>

#include <cstdint>

namespace hone {

std::shared_ptr<std::byte> system_memory(size_t bytes) {
  constexpr size_t kPage = 4096;
  // What lies before the first huge page, and behind the last byte's page, is given back.
  const size_t spare = bytes >= kHugePage ? kHugePage : 0, mapped = bytes + spare;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::byte* start = static_cast<std::byte*>(memory);
  size_t size = mapped;
  if (spare > 0) {
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
    size = (bytes + kPage - 1) / kPage * kPage;
    if (before > 0) munmap(start, before);
    start += before;
    if (before + size < mapped) munmap(start + size, mapped - before - size);
    madvise(start, size, MADV_HUGEPAGE);  // without it the memory is only slower
  }
  return {start, [size](std::byte* p) { munmap(p, size); }};
}

}  // namespace hone

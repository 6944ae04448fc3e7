#include "codegen/panel_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace hone {

constexpr size_t kSpare = 64;

PanelMemory panel_memory(size_t bytes) {
  if (bytes == 0) return {};
  constexpr size_t kHuge = size_t{2} << 20;
  const size_t asked = bytes;
  bytes += kSpare;
  // A huge page starts on a multiple of its size; what lies before and behind is given back.
  const size_t extra = bytes >= kHuge ? kHuge : 0;
  void* const mapped = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    fail("{} bytes for laid-out weights: {}; free memory or use a smaller format", bytes, std::strerror(errno));
  std::byte* start = static_cast<std::byte*>(mapped);
  size_t size = bytes + extra;
  if (extra) {
    const size_t before = (kHuge - reinterpret_cast<uintptr_t>(start) % kHuge) % kHuge;
    const size_t used = (bytes + 4095) / 4096 * 4096;
    if (before) munmap(start, before);
    start += before;
    if (before + used < size) munmap(start + used, size - before - used);
    size = used;
    madvise(start, size, MADV_HUGEPAGE);  // without it the memory is only slower
  }
  return {std::shared_ptr<const void>(start, [size](const void* p) { munmap(const_cast<void*>(p), size); }),
          {start, asked}};
}

PanelMemory PanelPool::take(size_t bytes) {
  constexpr size_t kStretch = (size_t{32} << 20) - kSpare;  // of addresses: pages come when they are written
  constexpr size_t kAlignment = 64;
  if (bytes > kStretch / 2) return panel_memory(bytes);
  if (used_ + bytes > stretch_.bytes.size()) stretch_ = panel_memory(kStretch), used_ = 0;
  const PanelMemory taken{stretch_.owner, stretch_.bytes.subspan(used_, bytes)};
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return taken;
}

}  // namespace hone

#include "codegen/panel_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/memory_limit.h"

namespace hone {
namespace {

constexpr size_t kSpare = 64;
constexpr const char* kWhat = "weights laid out for kernels";

// `memory`, which counts as `bytes` of the process's budget for as long as someone has it.
PanelMemory charged(PanelMemory memory, size_t bytes) {
  struct Owner {
    std::shared_ptr<const void> memory;
    MemoryCharge charge;
  };
  memory.owner =
      std::make_shared<const Owner>(Owner{std::move(memory.owner), MemoryCharge(static_cast<int64_t>(bytes), kWhat)});
  return memory;
}

// Pages of the system's, which come when they are written.
PanelMemory addresses(size_t asked) {
  constexpr size_t kHuge = size_t{2} << 20;
  const size_t bytes = asked + kSpare;
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

}  // namespace

PanelMemory panel_memory(size_t bytes) {
  if (bytes == 0) return {};
  require_memory(static_cast<int64_t>(bytes), kWhat);
  return charged(addresses(bytes), bytes);
}

PanelMemory PanelPool::take(size_t bytes) {
  constexpr size_t kStretch = (size_t{32} << 20) - kSpare;
  constexpr size_t kAlignment = 64;
  if (bytes > kStretch / 2) return panel_memory(bytes);
  require_memory(static_cast<int64_t>(bytes), kWhat);
  if (used_ + bytes > stretch_.bytes.size()) stretch_ = addresses(kStretch), used_ = 0;
  PanelMemory taken{stretch_.owner, stretch_.bytes.subspan(used_, bytes)};
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return charged(std::move(taken), bytes);
}

}  // namespace hone

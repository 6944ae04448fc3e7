#include "device/panel_memory.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/system_memory.h"

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

PanelMemory addresses(size_t bytes) {
  std::shared_ptr<std::byte> memory = system_memory(bytes + kSpare);
  if (!memory)
    fail("{} bytes for laid-out weights: {}; free memory or use a smaller format", bytes, std::strerror(errno));
  std::byte* const start = memory.get();
  return {std::move(memory), {start, bytes}};
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

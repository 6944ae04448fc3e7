// Memory for prepacked weights.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace hone {

struct PanelMemory {
  std::shared_ptr<const void> owner;
  std::span<std::byte> bytes;
};

// Zeroed, page-aligned memory from the system. From 2 MiB on it asks for huge pages: a kernel for one row reads weights
// once, from start to end, and with 4 KiB pages spends a fifth of its time on address translation. 64 more bytes can be
// read, so that a kernel may load a vector that starts inside.
PanelMemory panel_memory(size_t bytes);

// The same for many weights, which lie one behind the other so that small ones share huge pages too. Memory goes back
// when all that lie in the same stretch are gone. What is taken, not the stretch, counts against the memory limit.
class PanelPool {
 public:
  PanelMemory take(size_t bytes);

 private:
  PanelMemory stretch_;
  size_t used_ = 0;
};

}  // namespace hone

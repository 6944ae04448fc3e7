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
// once, from start to end, and with 4 KiB pages spends a fifth of its time on address translation.
PanelMemory panel_memory(size_t bytes);

}  // namespace hone

// The bytes of a file that may be compressed, for as long as someone looks at them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace hone {

struct FileBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  bool is_mapped = false;
};

// Mapped, or unpacked where it is gzip.
FileBytes file_bytes(const std::string& path);

}  // namespace hone

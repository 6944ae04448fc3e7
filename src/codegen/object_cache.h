// Compiled kernels on disk, shared by all processes of a user.
//
// One file a kernel, named by its key. A reader takes only what it can prove to be whole and its own (magic, version,
// key and checksum); anything else counts as absent and is written anew. Files appear by rename, so that writers never
// meet. A folder that can't be written, or a full disk, means no cache; it is never an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu.h"

namespace hone {

// What decides the machine code of a kernel, hashed: 128 bits.
struct ObjectKey {
  uint64_t high = 0, low = 0;
  std::string hex() const;  // 32 digits
  bool operator==(const ObjectKey&) const = default;
};

// The key of a plan's text on this level, with the CPU's features, LLVM's version and that of the generators.
ObjectKey object_key(std::string_view plan_text, IsaLevel isa);

class ObjectCache {
 public:
  // Creates `folder` when it is missing.
  explicit ObjectCache(std::string folder) : folder_(std::move(folder)) {}

  std::optional<std::vector<std::byte>> read(const ObjectKey& key) const;
  void write(const ObjectKey& key, std::span<const std::byte> object) const;
  std::string path_of(const ObjectKey& key) const;

  // Removes the oldest files until at most `bytes` are left. write() calls it now and then with kMaxBytes.
  void shrink(uint64_t bytes) const;
  static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;

 private:
  std::string folder_;
};

}  // namespace hone

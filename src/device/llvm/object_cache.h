// Compiled kernels on disk, shared by all processes of a user.
//
// One file a kernel, named by its key. A reader takes only what it can prove to be whole and its own (magic, version,
// key and checksum); anything else counts as absent, and a plain file of a key's name is written anew. Links, FIFOs and
// devices are left alone. Files appear by rename, so that writers never meet. A folder that can't be written, or a full
// disk, means that nothing is kept; it is never an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace hone {

// What decides the machine code of a kernel, hashed so that nobody finds two of one key: whoever writes a model chooses
// constants of its kernels, and code is run for its key alone.
using ObjectKey = Hash128;

// The key of a plan's text. `code_target` says all that decides code beside the plan: what it is for, the versions of
// LLVM and of the generators.
ObjectKey object_key(std::string_view plan_text, std::string_view code_target);

// An object with its key, size and checksum before it, as it lies on disk.
std::string sealed_object(const ObjectKey& key, std::span<const std::byte> object);
struct SealedObject {
  ObjectKey key;
  std::vector<std::byte> object;
};
// The first one in `bytes`, which then begin behind it; none where they are damaged.
std::optional<SealedObject> unseal_object(std::string_view& bytes);

class ObjectCache {
 public:
  // Creates `folder` when it is missing.
  explicit ObjectCache(std::string folder) : folder_(std::move(folder)) {}

  std::optional<std::vector<std::byte>> read(const ObjectKey& key) const;
  // Why it could not be written; empty where it was.
  std::string write(const ObjectKey& key, std::span<const std::byte> object) const;
  std::string path_of(const ObjectKey& key) const;

  // Removes the oldest objects until at most `bytes` of them are left: plain files that are named and begin as write()
  // makes them, nothing else that lies in the folder. write() calls it now and then with kMaxBytes.
  void shrink(uint64_t bytes) const;
  static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;

 private:
  std::string folder_;
};

}  // namespace hone

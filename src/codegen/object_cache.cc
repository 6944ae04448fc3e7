#include "codegen/object_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "codegen/generator_version.h"
#include "codegen/llvm/jit.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'h', 'o', 'n', 'e', 'o', 'b', 'j', '\n'};
constexpr uint32_t kFileVersion = 1;

// Little-endian like the code behind it.
struct Header {
  char magic[8];
  uint32_t version, reserved;
  ObjectKey key;
  uint64_t size, checksum;
};
static_assert(sizeof(Header) == 48 && std::is_trivially_copyable_v<Header>);

}  // namespace

std::string ObjectKey::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

ObjectKey object_key(std::string_view plan_text, IsaLevel isa) {
  const std::string text = fmt::format("{}\n{}\nllvm {}\ngenerators {}\n{}", to_string(isa), llvm_features(isa),
                                       llvm_version(), generator_version(), plan_text);
  return {hash_text(text, 0x686f6e65), hash_text(text, 0x6b65726e)};  // two independent seeds
}

std::string ObjectCache::path_of(const ObjectKey& key) const { return folder_ + "/" + key.hex() + ".o"; }

std::optional<std::vector<std::byte>> ObjectCache::read(const ObjectKey& key) const {
  std::ifstream file(path_of(key), std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const auto size = static_cast<int64_t>(file.tellg()) - static_cast<int64_t>(sizeof(Header));
  if (size <= 0) return std::nullopt;
  file.seekg(0);
  Header header;
  std::vector<std::byte> object(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  file.read(reinterpret_cast<char*>(object.data()), size);
  if (!file || std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.version != kFileVersion ||
      header.key != key || header.size != object.size() || header.checksum != hash_bytes(object))
    return std::nullopt;
  return object;
}

void ObjectCache::write(const ObjectKey& key, std::span<const std::byte> object) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const std::string path = path_of(key);
  // The name is unique to the process and the object written; the file need not survive a power cut, so nothing is
  // synced.
  const std::string temporary = fmt::format("{}.{}.{:x}", path, getpid(), reinterpret_cast<uintptr_t>(object.data()));
  Header header{{}, kFileVersion, 0, key, object.size(), hash_bytes(object)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
  file.close();
  if (file) fs::rename(temporary, path, failed);
  if (!file || failed) fs::remove(temporary, failed);
  if (key.low % 64 == 0) shrink(kMaxBytes);  // about every 64th new kernel looks at the whole folder
}

void ObjectCache::shrink(uint64_t bytes) const {
  struct Entry {
    fs::file_time_type written;
    uint64_t size;
    fs::path path;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code failed;
  for (fs::directory_iterator it(folder_, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code gone;  // another process may remove it meanwhile
    const Entry entry{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (gone) continue;
    total += entry.size;
    entries.push_back(entry);
  }
  std::ranges::sort(entries, {}, &Entry::written);
  for (const Entry& entry : entries) {
    if (total <= bytes) return;
    if (fs::remove(entry.path, failed)) total -= entry.size;
  }
}

}  // namespace hone

#include "codegen/object_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

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

std::string object_target(IsaLevel isa) {
  return fmt::format("{} {} llvm {} generators {}", to_string(isa), llvm_features(isa), llvm_version(),
                     generator_version());
}

ObjectKey object_key(std::string_view plan_text, IsaLevel isa) {
  const std::string text = fmt::format("{}\n{}", object_target(isa), plan_text);
  return {hash_text(text, 0x686f6e65), hash_text(text, 0x6b65726e)};  // two independent seeds
}

std::string sealed_object(const ObjectKey& key, std::span<const std::byte> object) {
  Header header{{}, kFileVersion, 0, key, object.size(), hash_bytes(object)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes.append(reinterpret_cast<const char*>(object.data()), object.size());
}

std::optional<SealedObject> unseal_object(std::string_view& bytes) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto rest = std::as_bytes(std::span(bytes.substr(sizeof header)));
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.version != kFileVersion || header.size == 0 ||
      header.size > rest.size() || header.checksum != hash_bytes(rest.first(header.size)))
    return std::nullopt;
  bytes.remove_prefix(sizeof header + header.size);
  return SealedObject{header.key, {rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(header.size)}};
}

std::string ObjectCache::path_of(const ObjectKey& key) const { return folder_ + "/" + key.hex() + ".o"; }

std::optional<std::vector<std::byte>> ObjectCache::read(const ObjectKey& key) const {
  std::ifstream file(path_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  std::string_view rest = content;
  std::optional<SealedObject> found = unseal_object(rest);
  if (!found || found->key != key || !rest.empty()) return std::nullopt;
  return std::move(found->object);
}

std::string ObjectCache::write(const ObjectKey& key, std::span<const std::byte> object) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const std::string path = path_of(key), content = sealed_object(key, object);
  // The name is unique to the process and the object written; the file need not survive a power cut, so nothing is
  // synced.
  const std::string temporary = fmt::format("{}.{}.{:x}", path, getpid(), reinterpret_cast<uintptr_t>(object.data()));
  errno = 0;
  std::ofstream file(temporary, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  const std::string why = file ? "" : errno ? std::strerror(errno) : "writing failed";
  if (file) fs::rename(temporary, path, failed);
  if (!file || failed) {
    std::error_code gone;
    fs::remove(temporary, gone);
    return why.empty() ? failed.message() : why;
  }
  if (key.low % 64 == 0) shrink(kMaxBytes);  // about every 64th new kernel looks at the whole folder
  return "";
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

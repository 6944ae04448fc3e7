#include "device/llvm/object_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/regular_file.h"
#include "base/temporary.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'h', 'o', 'n', 'e', 'o', 'b', 'j', '\n'};
constexpr uint32_t kFileVersion = 2;                   // 2: checksums are XXH3, keys SHA-256
constexpr size_t kMostObjectBytes = size_t{64} << 20;  // kernels have a few tens of kilobytes

// Little-endian like the code behind it.
struct Header {
  char magic[8];
  uint32_t version, reserved;
  ObjectKey key;
  uint64_t size, checksum;
};
static_assert(sizeof(Header) == 48 && std::is_trivially_copyable_v<Header>);

}  // namespace

ObjectKey object_key(std::string_view plan_text, std::string_view code_target) {
  return sha256_128(fmt::format("{}\n{}", code_target, plan_text));
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
  const std::optional<std::string> content = read_regular_file(path_of(key), kMostObjectBytes);
  if (!content) return std::nullopt;
  std::string_view rest = *content;
  std::optional<SealedObject> found = unseal_object(rest);
  if (!found || found->key != key || !rest.empty()) return std::nullopt;
  return std::move(found->object);
}

namespace {

// A new file with this content; why it could not be written, empty where it was.
std::string write_new(const std::string& path, std::string_view content) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return std::strerror(errno);
  std::string why;
  while (!content.empty() && why.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written > 0) content.remove_prefix(static_cast<size_t>(written));
    else if (written < 0 && errno != EINTR) why = std::strerror(errno);
  }
  if (close(file) != 0 && why.empty()) why = std::strerror(errno);
  return why;
}

}  // namespace

std::string ObjectCache::write(const ObjectKey& key, std::span<const std::byte> object) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const std::string path = path_of(key);
  if (!is_regular_or_absent(path)) return fmt::format("{} is no plain file", fs::path(path).filename().string());
  // The name is unique to the process and the object written; the file need not survive a power cut, so nothing is
  // synced.
  const std::string name = fmt::format("{}.{}.{:x}", path, getpid(), reinterpret_cast<uintptr_t>(object.data()));
  std::string why = write_new(name, sealed_object(key, object));
  if (!why.empty() && !fs::exists(fs::symlink_status(name, failed))) return why;
  Temporary temporary(name);
  if (!why.empty()) return why;
  fs::rename(name, path, failed);
  if (failed) return failed.message();
  temporary.release();
  if (key.low % 64 == 0) shrink(kMaxBytes);  // about every 64th new kernel looks at the whole folder
  return "";
}

namespace {

// The name of an object, as path_of() makes it.
bool is_object_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return name.size() == 34 && name.ends_with(".o") &&
         name.substr(0, 32).find_first_not_of(kDigits) == std::string::npos;
}

// By its name, and what it begins with, a plain file that write() has made.
bool is_own_object(const fs::path& path) {
  const std::optional<std::string> content = read_regular_file(path.string(), kMostObjectBytes);
  Header header;
  if (!content || content->size() < sizeof header) return false;
  std::memcpy(&header, content->data(), sizeof header);
  return std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && path.filename().string() == header.key.hex() + ".o";
}

}  // namespace

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
    if (!is_object_name(it->path().filename().string()) || it->symlink_status(gone).type() != fs::file_type::regular)
      continue;
    const Entry entry{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (gone) continue;
    total += entry.size;
    entries.push_back(entry);
  }
  std::ranges::sort(entries, {}, &Entry::written);
  for (const Entry& entry : entries) {
    if (total <= bytes) return;
    if (is_own_object(entry.path) && fs::remove(entry.path, failed)) total -= entry.size;
  }
}

}  // namespace hone

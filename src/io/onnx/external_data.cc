#include "io/onnx/external_data.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace hone::onnx {
namespace {

struct Place {
  std::string location;
  size_t offset = 0;
  std::optional<size_t> length;
};

size_t number(const std::string& key, const std::string& text, const std::string& source) {
  size_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    fail("{}: external data: {} is {:?}; expected a number of bytes", source, key, text);
  return value;
}

Place place_of(const TensorProto& proto, const std::string& source) {
  Place place;
  std::set<std::string> seen;
  for (const StringStringEntryProto& entry : proto.external_data()) {
    const std::string& key = entry.key();
    if (!seen.insert(key).second) fail("{}: external data: {:?} is given twice", source, key);
    if (key == "location") place.location = entry.value();
    if (key == "offset") place.offset = number(key, entry.value(), source);
    if (key == "length") place.length = number(key, entry.value(), source);
  }
  return place;  // other keys, of checksums and of other programs, say nothing about the place
}

// The parts of a path that stays below the folder it starts in.
std::vector<std::string> parts_of(const std::string& location, const std::string& source) {
  constexpr size_t kLongest = 4096;  // no system opens longer paths
  if (location.size() > kLongest)
    fail("{}: external data: its location has {} characters; at most {} are accepted", source, location.size(),
         kLongest);
  std::vector<std::string> parts = split(location, '/');
  std::erase(parts, ".");
  if (parts.empty()) parts.emplace_back(".");
  for (const std::string& part : parts)
    if (part.empty() || part == ".." || part.find('\0') != std::string::npos)
      fail("{}: external data: location {:?}; expected a file below the model's folder, without .. or empty parts",
           source, location);
  return parts;
}

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

Descriptor open_below(const std::string& folder, const std::vector<std::string>& parts, const std::string& source) {
  const std::string location = fmt::format("{}", fmt::join(parts, "/"));
  Descriptor file(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (file.get() < 0) fail("{}: external data: {}: can't open: {}", source, folder, std::strerror(errno));
  for (const std::string& part : parts) {
    const bool last = &part == &parts.back();
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    file = Descriptor(::openat(file.get(), part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    if (file.get() >= 0) continue;
    if (errno == ELOOP || errno == ENOTDIR)
      fail(
          "{}: external data: {}/{}: {} is a symbolic link or not a folder; links are not followed. Copy the file "
          "there",
          source, folder, location, part);
    fail("{}: external data: {}/{}: can't open: {}", source, folder, location, std::strerror(errno));
  }
  return file;
}

}  // namespace

ExternalData::ExternalData(const std::string& model_path)
    : folder_(std::filesystem::path(model_path).parent_path().string()) {
  if (folder_.empty()) folder_.push_back('.');
}

ExternalData::File& ExternalData::open(const std::string& given, const std::string& source) {
  const std::vector<std::string> parts = parts_of(given, source);
  const std::string location = fmt::format("{}", fmt::join(parts, "/"));  // one spelling for each file
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  Descriptor file = open_below(folder_, parts, source);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    fail("{}: external data: {}/{}: not a regular file", source, folder_, location);
  if (info.st_nlink > 1)
    fail("{}: external data: {}/{}: is a hard link to a file with other names; links are not followed. Copy the file",
         source, folder_, location);
  auto mapped = std::make_shared<const MappedFile>(file.release(), folder_ + "/" + location);
  return files_.emplace(location, File{std::move(mapped)}).first->second;
}

Buffer ExternalData::read(const TensorProto& proto, size_t bytes, size_t alignment, const std::string& source) {
  const Place place = place_of(proto, source);
  if (place.length && *place.length != bytes)
    fail("{}: external data has {} bytes; type and shape take {}", source, *place.length, bytes);
  File& file = open(place.location, source);
  const std::span<const std::byte> all = file.mapped->bytes();
  if (place.offset > all.size() || bytes > all.size() - place.offset)
    fail("{}: external data: {} bytes at offset {} of {}, which has {}; the file may be truncated", source, bytes,
         place.offset, file.mapped->path(), all.size());
  const std::span<const std::byte> view = all.subspan(place.offset, bytes);
  if (alignment != 0 && reinterpret_cast<uintptr_t>(view.data()) % alignment == 0) return {file.mapped, view, true};
  if (bytes > all.size() - file.copied)
    fail("{}: external data: tensors point at the same bytes of {} again and again", source, file.mapped->path());
  file.copied += bytes;
  return alignment == 0 ? Buffer(file.mapped, view, true) : Buffer::copy_of(view);
}

std::vector<std::string> ExternalData::files() const {
  std::vector<std::string> paths;
  for (const auto& [location, file] : files_) paths.push_back((std::filesystem::path(folder_) / location).string());
  return paths;
}

}  // namespace hone::onnx

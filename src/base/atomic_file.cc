#include "base/atomic_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/inputs.h"
#include "base/mapped_file.h"

namespace hone {

namespace {

// A new file beside `path`, and its name. Unlike mkstemp, with the permissions that the umask grants.
int create_beside(const std::string& path, std::string& name) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    uint32_t random = 0;
    if (::getrandom(&random, sizeof random, 0) < 0) return -1;
    name = fmt::format("{}.{:08x}", path, random);
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  std::error_code unknown;  // an unreachable path: creating the temporary file tells why
  const std::filesystem::file_status target = std::filesystem::status(path, unknown);
  if (std::filesystem::is_directory(target)) fail("{}: is a directory; give the name of a file to write", path);
  // Renaming would put a plain file in the place of a device or a pipe, /dev/full or /dev/stdout say.
  if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target))
    fail("{}: is a device, pipe or socket, which can't be replaced as a whole; give the name of a plain file", path);
  refuse_kept_input(path);
  std::string name;
  file_ = create_beside(path, name);
  if (file_ < 0) fail("{}: can't write here: {}", path, std::strerror(errno));
  temporary_ = Temporary(name);
  if (std::filesystem::is_regular_file(target)) ::fchmod(file_, static_cast<mode_t>(target.permissions()));
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
}

void AtomicFile::failed(const char* what) const {
  fail("{}: {} failed: {}; nothing was left behind", path_, what, std::strerror(errno));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) failed("writing");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void AtomicFile::commit() {
  finish();
  publish();
}

void AtomicFile::finish() {
  require_whole_mappings();  // what was written may have come from one
  refuse_kept_input(path_);  // it may have been opened after this file
  if (::fsync(file_) != 0) failed("syncing");
  struct stat written {};
  if (::fstat(file_, &written) == 0) note_written(written);
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) failed("closing");
}

void AtomicFile::publish() {
  if (::rename(temporary_.path().c_str(), path_.c_str()) != 0) failed("renaming");
  temporary_.release();
  std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (folder.empty()) folder = ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

namespace {

// A file that is about to be replaced: has a second name, by which it is put back unless keep_new() is called. It never
// lacks its own, whenever the process ends.
class Replaced {
 public:
  explicit Replaced(const std::string& path) : path_(path) {
    std::string aside;
    const int file = create_beside(path, aside);
    if (file < 0) fail("{}: can't write here: {}", path, std::strerror(errno));
    ::close(file);
    aside_ = Temporary(aside);
    ::unlink(aside.c_str());
    existed_ = ::link(path_.c_str(), aside.c_str()) == 0;
    // A file system without links sets the file aside.
    if (!existed_ && errno != ENOENT) existed_ = ::rename(path_.c_str(), aside.c_str()) == 0;
    if (!existed_ && errno != ENOENT) fail("{}: can't be replaced: {}", path, std::strerror(errno));
  }
  ~Replaced() {
    if (kept_new_) return;
    if (!existed_) ::unlink(path_.c_str());
    else if (::rename(aside_.path().c_str(), path_.c_str()) == 0) aside_.release();
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
  void keep_new() { kept_new_ = true; }

 private:
  std::string path_;
  Temporary aside_;
  bool existed_ = false, kept_new_ = false;
};

}  // namespace

void commit_both(AtomicFile& first, AtomicFile& second) {
  first.finish();
  second.finish();
  Replaced old(first.path());
  first.publish();
  second.publish();
  old.keep_new();
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const std::string& path, size_t max_bytes) {
  const MappedFile file(path);
  if (file.bytes().size() > max_bytes)
    fail("{}: {} bytes; at most {} are accepted here", path, file.bytes().size(), max_bytes);
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

}  // namespace hone

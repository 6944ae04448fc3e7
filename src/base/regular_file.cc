#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace hone {
namespace {

struct Descriptor {
  int file;
  ~Descriptor() {
    if (file >= 0) close(file);
  }
};

}  // namespace

std::optional<std::string> read_regular_file(const std::string& path, size_t most) {
  // Opening a FIFO without O_NONBLOCK waits for a writer.
  const Descriptor opened{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  struct stat found;
  if (opened.file < 0 || fstat(opened.file, &found) != 0 || !S_ISREG(found.st_mode) ||
      (found.st_uid != geteuid() && found.st_uid != 0) || found.st_size < 0 ||
      static_cast<size_t>(found.st_size) > most)
    return std::nullopt;
  std::string content(static_cast<size_t>(found.st_size), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = read(opened.file, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;  // it has become shorter
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

bool is_regular_or_absent(const std::string& path) {
  struct stat found;
  if (lstat(path.c_str(), &found) != 0) return errno == ENOENT || errno == ENOTDIR;
  return S_ISREG(found.st_mode);
}

}  // namespace hone

// Writes a file so that it is either complete or absent: a temporary sibling is written, synced, renamed over the
// target, and the directory synced. Without commit() nothing is left behind. A new file has the permissions that the
// umask grants, one that replaces another has that one's. A link is replaced, not followed. What the process has read
// is not replaced where it keeps its inputs (base/inputs.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/temporary.h"

namespace hone {

class AtomicFile {
 public:
  // Throws Error when the folder is missing or not writable, or the path is there and is no plain file, or a kept
  // input.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);  // throws Error on a full disk or any other failure
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();
  const std::string& path() const { return path_; }

 private:
  friend void commit_both(AtomicFile& first, AtomicFile& second);
  [[noreturn]] void failed(const char* what) const;
  void finish();   // all bytes are on the disk, under the temporary name
  void publish();  // it has its name
  std::string path_;
  Temporary temporary_;
  int file_ = -1;
};

// Commits two files that belong together: when the second fails, what was in the place of the first is back there.
void commit_both(AtomicFile& first, AtomicFile& second);

void write_file(const std::string& path, std::string_view text);  // atomically
std::string read_file(const std::string& path, size_t max_bytes = size_t{1} << 30);

}  // namespace hone

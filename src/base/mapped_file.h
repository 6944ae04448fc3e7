// A file mapped read-only into memory. Pages are loaded when touched and can be given back.
// Touching what another process has cut off the file since raises SIGBUS, which ends a process. A program that calls
// guard_mappings() reads zeros instead, and require_whole_mappings() says so before anything is made of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace hone {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws Error naming the path and the system's reason
  MappedFile(int file, std::string path);        // of an open file, which it closes; the path is for errors
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int guard_ = -1;  // place in the table of guarded mappings
};

void guard_mappings();          // for programs, once: installs a handler of SIGBUS; a library installs none
void require_whole_mappings();  // throws Error naming a file that was cut short while it was mapped

// Gives the whole pages inside `bytes` of a read-only file mapping back to the system; they are read again when
// touched.
void drop_pages(std::span<const std::byte> bytes);

}  // namespace hone

#include "base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/inputs.h"

namespace hone {
namespace {

// Mappings as the handler of a signal may read them. A mapping beyond the table's end is not guarded.
struct Guard {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> taken{false};
  char path[256] = {};  // as much of it as fits
};
std::array<Guard, 1024> guards;
std::atomic<const Guard*> cut{nullptr};  // the last one found short; its path stays until the place is taken again

void on_bus_error(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Guard& guard : guards) {
    if (at < guard.begin.load() || at >= guard.end.load()) continue;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    void* zeros = ::mmap(reinterpret_cast<void*>(at / page * page), page, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    cut.store(&guard);
    return;
  }
  ::signal(SIGBUS, SIG_DFL);  // not ours: happens again, and ends the process
}

int guard_mapping(const std::byte* data, size_t size, const std::string& path) {
  for (size_t i = 0; i < guards.size(); ++i) {
    if (cut.load() == &guards[i] || guards[i].taken.exchange(true)) continue;
    guards[i].path[path.copy(guards[i].path, sizeof guards[i].path - 1)] = '\0';
    guards[i].begin.store(reinterpret_cast<uintptr_t>(data));
    guards[i].end.store(reinterpret_cast<uintptr_t>(data) + size);
    return static_cast<int>(i);
  }
  return -1;
}

void release_guard(int index) {
  if (index < 0) return;
  Guard& guard = guards[static_cast<size_t>(index)];
  guard.end.store(0);
  guard.begin.store(0);
  guard.taken.store(false);
}

int open_file(const std::string& path) {
  const int file =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // opening a pipe must not wait for a writer
  if (file < 0) fail("{}: can't open: {}", path, std::strerror(errno));
  return file;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : MappedFile(open_file(path), path) {}

MappedFile::MappedFile(int file, std::string path) : path_(std::move(path)) {
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file);
    fail("{}: not a regular file", path_);
  }
  note_read(info);
  size_ = static_cast<size_t>(info.st_size);
  void* mapped = size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  const int why = errno;
  ::close(file);
  if (mapped == MAP_FAILED) fail("{}: can't map {} bytes: {}", path_, size_, std::strerror(why));
  data_ = static_cast<const std::byte*>(mapped);
  if (data_) guard_ = guard_mapping(data_, size_, path_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      guard_(std::exchange(other.guard_, -1)) {}

MappedFile::~MappedFile() {
  release_guard(guard_);
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void guard_mappings() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

void require_whole_mappings() {
  if (const Guard* guard = cut.load())
    fail("{}: became shorter while it was read; nothing that came of it is kept. Try again", guard->path);
}

void drop_pages(std::span<const std::byte> bytes) {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace hone

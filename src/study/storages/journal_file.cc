#include "study/storages/journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/stop.h"
#include "study/python_json.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail("{}: can't be opened: {}", path, std::strerror(errno));
  }
  ~Descriptor() { ::close(file_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return file_; }

 private:
  int file_;
};

// Optuna's JournalFileSymlinkLock. A lock whose target's time has not changed for 30 s is a dead process's and broken.
class Lock {
 public:
  Lock(const std::string& path, double wait_seconds) : lock_(path + ".lock") {
    constexpr std::chrono::seconds kGrace(30);
    const auto begin = Clock::now();
    auto changed = begin;
    Clock::duration pause = std::chrono::milliseconds(1);
    timespec seen{};
    while (::symlink(path.c_str(), lock_.c_str()) != 0) {
      if (errno != EEXIST) fail("{}: the lock {} can't be made: {}", path, lock_, std::strerror(errno));
      check_stop();
      const auto now = Clock::now();
      struct stat state {};
      if (::stat(lock_.c_str(), &state) != 0) continue;  // released in between
      if (state.st_mtim.tv_sec != seen.tv_sec || state.st_mtim.tv_nsec != seen.tv_nsec) {
        seen = state.st_mtim;
        changed = now;
      }
      if (now - changed > kGrace) {
        release();
        changed = now;
        continue;
      }
      if (now - begin > std::chrono::duration<double>(wait_seconds))
        fail("{}: another process has held {} for more than {:g} s; if none works on the study, remove it", path, lock_,
             wait_seconds);
      std::this_thread::sleep_for(pause);
      pause = std::min<Clock::duration>(pause * 2, std::chrono::seconds(1));
    }
  }
  ~Lock() { release(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  // Renamed first: of two that break one lock, one succeeds.
  void release() {
    const std::string aside = lock_ + std::to_string(::getpid()) + "." +
                              std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id())) + ".rename";
    if (::rename(lock_.c_str(), aside.c_str()) == 0) ::unlink(aside.c_str());
  }
  std::string lock_;
};

std::string read_from(int file, int64_t offset, int64_t bytes, const std::string& path) {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t have = 0; have < text.size();) {
    const ssize_t got = ::pread(file, text.data() + have, text.size() - have, offset + static_cast<int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("{}: can't be read: {}", path, std::strerror(errno));
    if (got == 0) text.resize(have);
    have += static_cast<size_t>(got);
  }
  return text;
}

}  // namespace

JournalFile::JournalFile(const std::string& path, const StorageOptions& options) : path_(path), options_(options) {
  std::error_code none;
  const bool exists = std::filesystem::exists(path, none);
  if (exists && !std::filesystem::is_regular_file(path, none)) fail("{}: is no plain file; a journal is one", path);
  if (!exists && (!options.may_create || options.read_only)) fail("{}: there is no such file; no study to open", path);
  if (!options.read_only) Descriptor(path, O_RDWR | O_CREAT);
}

void JournalFile::read_new(const Use& use) {
  const Descriptor file(path_, O_RDONLY);
  struct stat state {};
  if (::fstat(file, &state) == 0 && state.st_size < offset_)
    fail("{}: has become shorter while it was in use; was it replaced? Start again", path_);
  if (state.st_size == offset_) return;
  // Some megabytes at a time: a journal may be larger than memory likes. Of a part the lines that are whole are read.
  constexpr int64_t kPart = 16 << 20;
  for (int64_t part = kPart; offset_ < state.st_size;) {
    const int64_t before = offset_;
    read_lines(read_from(file, offset_, std::min(part, state.st_size - offset_), path_), use);
    if (offset_ > before) part = kPart;
    else if (before + part >= state.st_size) return;
    else part *= 2;  // a line that is longer
  }
}

void JournalFile::read_lines(std::string_view text, const Use& use) {
  for (size_t at = 0;;) {
    const size_t end = text.find('\n', at);
    if (end == text.npos) return;
    ++lines_;
    try {
      use(text.substr(at, end - at));
    } catch (const Error& e) {
      fail("{}: line {}: {}", path_, lines_, e.what());
    }
    offset_ += static_cast<int64_t>(end + 1 - at);
    at = end + 1;
  }
}

void JournalFile::append(const Use& use, const std::function<std::vector<Json>()>& work, bool flush) {
  if (options_.read_only) fail("{}: was opened to be read only", path_);
  const Lock lock(path_, options_.wait_seconds);
  read_new(use);
  const std::vector<Json> lines = work();
  if (lines.empty()) return;
  std::string text;
  for (const Json& line : lines) text += python_json(line, JsonSpacing::compact) + "\n";
  const Descriptor file(path_, O_RDWR);
  // What lies behind the last whole line is a torn one of a process that died: with ours behind it nobody could read
  // the file again.
  if (::ftruncate(file, offset_) != 0) fail("{}: can't be written: {}", path_, std::strerror(errno));
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::pwrite(file, text.data() + done, text.size() - done, offset_ + static_cast<int64_t>(done));
    if (wrote > 0) done += static_cast<size_t>(wrote);
    else if (errno != EINTR) {
      const std::string why = std::strerror(errno);
      const bool cut = ::ftruncate(file, offset_) == 0;
      fail("{}: can't be written: {}. {}", path_, why,
           cut ? "What was written before is kept" : "The last line is torn");
    }
  }
  if (flush && options_.durable && ::fdatasync(file) != 0) fail("{}: can't be synced: {}", path_, std::strerror(errno));
  offset_ += static_cast<int64_t>(text.size());
  lines_ += static_cast<int64_t>(lines.size());
}

}  // namespace hone

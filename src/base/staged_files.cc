#include "base/staged_files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/inputs.h"
#include "base/mapped_file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// A new folder beside `path`.
std::string folder_beside(const std::string& path) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    uint32_t random = 0;
    if (::getrandom(&random, sizeof random, 0) < 0) break;
    const std::string name = fmt::format("{}.{:08x}", path, random);
    if (::mkdir(name.c_str(), 0777) == 0) return name;
    if (errno != EEXIST) break;
  }
  fail("{}: can't write here: {}", path, std::strerror(errno));
}

void sync_folder(const fs::path& folder) {
  const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

// One staged file on its way. What it replaces waits in the folder that it comes from until all have arrived.
struct Move {
  fs::path from, to, aside;
  bool replaced = false, moved = false;

  void make() {
    refuse_kept_input(to.string());
    struct stat old {};
    if (::stat(to.c_str(), &old) == 0) ::chmod(from.c_str(), old.st_mode & 07777);
    if (!aside.empty()) replaced = ::rename(to.c_str(), aside.c_str()) == 0;
    if (::rename(from.c_str(), to.c_str()) != 0)
      fail("{}: renaming failed: {}; nothing was left behind", to.string(), std::strerror(errno));
    moved = true;
  }
  void undo() const {
    if (replaced) ::rename(aside.c_str(), to.c_str());
    else if (moved) ::unlink(to.c_str());
  }
};

}  // namespace

StagedFiles::StagedFiles(const std::string& path) : path_(path) {
  const AtomicFile refuses_bad_places(path);
  folder_ = Temporary(folder_beside(path));
  staged_ = (fs::path(folder_.path()) / fs::path(path).filename()).string();
}

void StagedFiles::commit() {
  require_whole_mappings();  // what was written may have come from one
  const fs::path place = fs::path(path_).parent_path();
  std::vector<Move> moves;
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    moves.push_back({entry.path(), place / entry.path().filename(), {}});
  std::ranges::sort(moves, {}, [&](const Move& move) { return move.from == staged_; });
  // The last is moved atomically: nothing after it can fail.
  for (size_t i = 0; i + 1 < moves.size(); ++i) moves[i].aside = fmt::format("{}.{}", folder_.path() + "/old", i);
  for (size_t i = 0; i < moves.size(); ++i) try {
      moves[i].make();
    } catch (const Error&) {
      for (size_t done = i + 1; done-- > 0;) moves[done].undo();
      throw;
    }
  sync_folder(place);
}

std::string StagedFiles::in_place(std::string text) const {
  const std::string folder = folder_.path() + "/", place = path_.substr(0, path_.rfind('/') + 1);
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.replace(at, folder.size(), place);
  return text;
}

}  // namespace hone

#include "base/inputs.h"

#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"

namespace hone {
namespace {

using Identity = std::pair<dev_t, ino_t>;

struct Files {
  std::mutex mutex;
  bool kept = false;
  std::set<Identity> read, written;
};

Files& files() {
  static Files* const the_files = new Files;  // outlives every static object
  return *the_files;
}

Identity identity(const struct stat& file) { return {file.st_dev, file.st_ino}; }

}  // namespace

void keep_inputs() {
  std::lock_guard lock(files().mutex);
  files().kept = true;
}

void may_replace(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0) note_written(file);
}

bool is_kept_input(const struct stat& file) {
  std::lock_guard lock(files().mutex);
  return files().kept && files().read.contains(identity(file));
}

void refuse_kept_input(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && is_kept_input(there))
    fail("{}: is read in this run; choose another name for what is written", path);
}

void note_read(const struct stat& file) {
  std::lock_guard lock(files().mutex);
  if (files().kept && !files().written.contains(identity(file))) files().read.insert(identity(file));
}

void note_written(const struct stat& file) {
  std::lock_guard lock(files().mutex);
  if (!files().kept) return;
  files().read.erase(identity(file));
  files().written.insert(identity(file));
}

}  // namespace hone

#include "base/temporary.h"

#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

namespace hone {
namespace {

struct Registry {
  std::mutex mutex;
  std::multiset<std::string> paths;
};

Registry& registry() {
  static Registry* const the_registry = new Registry;  // outlives every static object
  return *the_registry;
}

void remove(const std::string& path) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

Temporary::Temporary(std::string path) : path_(std::move(path)) {
  std::lock_guard lock(registry().mutex);
  registry().paths.insert(path_);
}

Temporary::~Temporary() {
  if (path_.empty()) return;
  remove(path_);
  release();
}

Temporary::Temporary(Temporary&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Temporary& Temporary::operator=(Temporary&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

void Temporary::release() {
  if (path_.empty()) return;
  std::lock_guard lock(registry().mutex);
  if (const auto found = registry().paths.find(path_); found != registry().paths.end()) registry().paths.erase(found);
  path_.clear();
}

void remove_temporaries() noexcept {
  std::lock_guard lock(registry().mutex);
  for (const std::string& path : registry().paths) remove(path);
  registry().paths.clear();
}

}  // namespace hone

#include "base/cache_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace hone {

std::optional<std::string> default_cache_folder() {
  std::string folder;
  if (const char* chosen = std::getenv("HONE_CACHE")) {
    if (!*chosen) return std::nullopt;
    folder = chosen;
  } else {
    const char* home = std::getenv("HOME");
    if (!home || !*home) return std::nullopt;
    folder = std::string(home) + "/.cache/hone";
  }
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed || access(folder.c_str(), R_OK | X_OK) != 0) return std::nullopt;
  return folder;
}

}  // namespace hone

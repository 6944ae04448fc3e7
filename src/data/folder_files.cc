#include "data/folder_files.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/stop.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries(const std::string& folder,
                                 const std::function<bool(const fs::directory_entry&)>& is_wanted) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    check_stop();
    if (!at->path().filename().string().starts_with('.') && is_wanted(*at)) paths.push_back(at->path().string());
  }
  if (error) fail("{}: can't read the folder: {}", folder, error.message());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

std::vector<std::string> files_of(const std::string& folder, const std::function<bool(const std::string&)>& is_wanted) {
  return entries(folder, [&](const fs::directory_entry& entry) {
    std::error_code error;
    return entry.is_regular_file(error) && is_wanted(entry.path().filename().string());
  });
}

std::vector<std::string> folders_of(const std::string& folder) {
  return entries(folder, [](const fs::directory_entry& entry) {
    std::error_code error;
    return entry.is_directory(error);
  });
}

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

}  // namespace hone

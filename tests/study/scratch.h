// A folder for one test's files.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace hone {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "hone_search_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~ScratchFolder() {
    std::error_code none;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, none);
    std::filesystem::remove_all(path_, none);
  }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace hone

// A folder for files of one task, removed afterwards.
#pragma once

#include <string>

namespace hone {

class ScratchFolder {
 public:
  ScratchFolder();  // throws Error naming the place where none can be made
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hone

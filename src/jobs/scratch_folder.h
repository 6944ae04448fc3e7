// A folder for files of one task, removed afterwards.
#pragma once

#include <string>

#include "base/temporary.h"

namespace hone {

class ScratchFolder {
 public:
  ScratchFolder();  // throws Error naming the place where none can be made
  const std::string& path() const { return folder_.path(); }

 private:
  Temporary folder_;
};

}  // namespace hone

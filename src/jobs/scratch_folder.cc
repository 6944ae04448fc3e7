#include "jobs/scratch_folder.h"

#include <unistd.h>

#include <filesystem>

#include "base/error.h"

namespace hone {

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "hone_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) fail("{}: can't make a temporary folder", pattern);
  folder_ = Temporary(pattern);
}

}  // namespace hone

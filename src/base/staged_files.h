// Files that are looked at before they are in their place: written into a folder beside it, and moved there together
// once whoever wrote them is content. Without commit() nothing is left behind, and what was in their place stays.
#pragma once

#include <string>
#include <vector>

#include "base/temporary.h"

namespace hone {

class StagedFiles {
 public:
  // Throws Error where AtomicFile(path) would.
  explicit StagedFiles(const std::string& path);

  // Where to write the file that will be `path`; files beside it go along.
  const std::string& staged() const { return staged_; }

  // Moves everything in the folder to the folder of `path`, that file last. A file that is replaced gives its
  // permissions to its successor; when a move fails, those before it are undone.
  void commit();

  // The text with the names of staged files as they will be.
  std::string in_place(std::string text) const;

 private:
  std::string path_, staged_;
  Temporary folder_;
};

}  // namespace hone

// A file, or a model of several, as a report names it: by path, contents and size.
#pragma once

#include <cstdint>
#include <string>

#include "jobs/load_model.h"

namespace hone {

struct FileFacts {
  std::string path, sha256;
  int64_t bytes = 0;
};

FileFacts facts_of(const Model& model);               // of its weights' files
FileFacts facts_of_written(const std::string& path);  // of a file as it lies there

}  // namespace hone

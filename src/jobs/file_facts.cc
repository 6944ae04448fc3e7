#include "jobs/file_facts.h"

#include <filesystem>

#include "base/hash.h"

namespace hone {

FileFacts facts_of(const Model& model) { return {model.path, model.sha256(), model.file_bytes}; }

FileFacts facts_of_written(const std::string& path) {
  return {path, sha256_of_file(path), static_cast<int64_t>(std::filesystem::file_size(path))};
}

}  // namespace hone

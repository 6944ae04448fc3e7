#include "jobs/data_facts.h"

#include <filesystem>

#include "data/reader.h"
#include "jobs/evaluation_data.h"

namespace hone {

namespace fs = std::filesystem;

int64_t bytes_in(const std::string& path) {
  if (!fs::is_directory(path)) return static_cast<int64_t>(fs::file_size(path));
  int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

FileFacts facts_of_data(const std::string& path) {
  if (!fs::is_directory(path)) return facts_of_written(path);
  return {path, sha256_of(read_dataset(path, {})), bytes_in(path)};
}

}  // namespace hone

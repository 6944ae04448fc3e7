// The file of Optuna's journal storage: lines of JSON that are only ever appended, and a lock that is a symbolic link
// beside it, which works where file locks do not.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "search/storage.h"

namespace hone {

class JournalFile {
 public:
  JournalFile(const std::string& path, const StorageOptions& options);
  const std::string& path() const { return path_; }

  // Calls use(line, number) for each whole line that was not read before. A last line without its end is being written,
  // or was cut by a stop: it is not read.
  void read_new(const std::function<void(const Json&)>& use);

  // With the lock: reads what is new, then appends the lines that `work` returns, with one write, and counts them as
  // read. A cut last line goes first. Throws Error when the lock can't be had or the disk is full; then no line stays.
  void append(const std::function<void(const Json&)>& use, const std::function<std::vector<Json>()>& work);

 private:
  std::string path_;
  StorageOptions options_;
  int64_t offset_ = 0;  // up to where it was read
  int64_t lines_ = 0;
};

}  // namespace hone

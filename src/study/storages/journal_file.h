// The file of Optuna's journal storage: lines of JSON that are only ever appended, and a lock that is a symbolic link
// beside it, which works where file locks do not.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "study/storage.h"

namespace hone {

class JournalFile {
 public:
  JournalFile(const std::string& path, const StorageOptions& options);
  const std::string& path() const { return path_; }

  // Called for each whole line that was not read before; what it throws gets the file's
  // name and its number in front. A last line without its end is being written, or was cut by a stop: it is not read.
  using Use = std::function<void(std::string_view line)>;
  void read_new(const Use& use);

  // With the lock: reads what is new, then appends the lines that `work` returns, with one write, and counts them as
  // read. A cut last line goes first. Throws Error when the lock can't be had or the disk is full; then no line stays.
  // With `flush` it is all on the disk in the end (options.durable), with what came before.
  void append(const Use& use, const std::function<std::vector<Json>()>& work, bool flush);

 private:
  void read_lines(std::string_view text, const Use& use);

  std::string path_;
  StorageOptions options_;
  int64_t offset_ = 0;  // up to where it was read
  int64_t lines_ = 0;
};

}  // namespace hone

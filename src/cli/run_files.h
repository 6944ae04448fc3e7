// The files that one run of the program reads and writes, each with the flag that names it. Said and checked before any
// work: no file is written twice, nor over what is read. What a model consists of beyond the path that is given
// (weights beside an .onnx file, shards) is found while it is read, and kept by base/inputs.h.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

class RunFiles {
 public:
  // An empty path stands for a flag that was not given.
  RunFiles& reads(std::string_view flag, const std::string& path);
  RunFiles& reads(std::string_view flag, const std::vector<std::string>& paths);
  RunFiles& reads_pairs(std::string_view flag, const std::vector<std::string>& pairs);  // name=path
  RunFiles& writes(std::string_view flag, const std::string& path);
  RunFiles& replaces(std::string_view flag, const std::string& path);  // may be what is read: its successor

  // Throws Error that names both flags. From here on, what is read is kept.
  void check() const;

 private:
  // `place`: where the path leads, also where there is no file yet. `identity`: of what is there, if anything.
  struct File {
    File(std::string_view flag, const std::string& path);
    bool is_same(const File& other) const;
    std::string flag, path;
    std::filesystem::path place;
    std::optional<std::pair<dev_t, ino_t>> identity;
    bool is_folder = false, may_be_input = false;
  };
  static bool is_part_of_folder(const File& file, const File& folder);
  void check_against_inputs(const File& output) const;
  std::vector<File> inputs_, outputs_;
};

}  // namespace hone

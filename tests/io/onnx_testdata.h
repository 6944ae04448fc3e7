// The models that Debian's libonnx-testdata has: one folder a case, with a model.onnx and folders of inputs and outputs
// as single messages.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace hone::onnx {

inline constexpr const char* kTestdata = "/usr/share/libonnx-testdata/data";

// Sorted paths of the files below `folder` with this ending.
inline std::vector<std::string> files_below(const std::string& folder, const std::string& ending) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ending) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace hone::onnx

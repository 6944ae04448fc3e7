#include "base/export_command.h"

#include <array>
#include <filesystem>

#include "base/shell.h"

namespace hone {

std::string onnx_export_command(const std::string& folder) {
  std::string stem = std::filesystem::path(folder).lexically_normal().string();
  while (stem.size() > 1 && stem.ends_with('/')) stem.pop_back();
  const std::string output = (stem == "." ? "model" : stem) + "-onnx";
  return shell_line(std::array<std::string, 6>{"optimum-cli", "export", "onnx", "--model", folder, output});
}

}  // namespace hone

#include "base/export_command.h"

#include <array>
#include <filesystem>

#include "base/shell.h"

namespace hone {

std::string onnx_export_command(const std::string& folder) {
  const std::string output = std::filesystem::path(folder).lexically_normal().string() + "-onnx";
  return shell_line(std::array<std::string, 6>{"optimum-cli", "export", "onnx", "--model", folder, output});
}

}  // namespace hone

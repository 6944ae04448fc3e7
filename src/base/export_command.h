// The command that makes an ONNX file, which hone opens, of a folder that it does not.
#pragma once

#include <string>

namespace hone {

// Of Hugging Face's optimum (pip install optimum[exporters]).
std::string onnx_export_command(const std::string& folder);

}  // namespace hone

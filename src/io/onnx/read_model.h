// An ONNX model file as a message. What the graph means is the importer's business; here it is whole, of bounded depth,
// has a graph and a plausible version.
#pragma once

#include <string>
#include <string_view>

#include "io/onnx/onnx.pb.h"

namespace hone::onnx {

// Throws Error naming the file, and the byte where it is damaged or what it looks like instead of ONNX. Weights stored
// in the file become strings of the message: move them on (tensors.h).
ModelProto read_model(const std::string& path);
ModelProto parse_model(std::string_view bytes, const std::string& source);  // `source` names the bytes in errors

}  // namespace hone::onnx

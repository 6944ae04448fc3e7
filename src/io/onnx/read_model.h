// An ONNX model file as a message. What the graph means is the importer's business; here it is whole, of bounded depth,
// has a graph and a plausible version.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "io/onnx/large_data.h"
#include "io/onnx/onnx.pb.h"

namespace hone::onnx {

struct ModelFile {
  ModelProto message;
  std::shared_ptr<const MappedFile> file;  // where large_data is
  std::vector<LargeData> large_data;       // what the message lacks of the file, if anything
};

// Throws Error naming the file, and the byte where it is damaged or what it looks like instead of ONNX. Most weights
// stay in the file; those that don't become strings of the message: move them on (tensors.h).
ModelFile read_model(const std::string& path);
ModelProto parse_model(std::string_view bytes, const std::string& source);  // `source` names the bytes in errors

}  // namespace hone::onnx

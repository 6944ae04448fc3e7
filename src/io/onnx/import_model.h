// An ONNX file as a graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct UnsupportedNode {
  std::string node, op_type, reason;  // "model.onnx: node \"Resize_12\" (Resize)" is told from these
};

struct OnnxImport {
  Graph graph;
  std::vector<std::string> files;            // the model's own, and those of its external data
  std::vector<UnsupportedNode> unsupported;  // then the graph lacks these nodes and all that depends on them
  int opset = 0;                             // of the main domain
  int64_t nodes = 0;                         // in the file, bodies and functions included
};

// Throws Error that names the file and the node when the file is damaged or contradicts the standard.
OnnxImport import_onnx(const std::string& path);
OnnxImport import_onnx_bytes(std::string_view bytes, const std::string& source);  // without external data

// The list as one message: all that must change before the model can be opened.
std::string unsupported_text(const std::string& path, const std::vector<UnsupportedNode>& nodes);

}  // namespace hone

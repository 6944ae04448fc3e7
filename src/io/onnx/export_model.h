// A graph as an ONNX file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace hone {

namespace onnx {
class ModelProto;
}

// Begins the keys of a file's metadata that say what rows the model takes (ir/row_keys.h), where hone wrote it.
constexpr std::string_view kOwnKey = "hone.";

constexpr int kOldestExportOpset = 17, kNewestExportOpset = 28;

struct OnnxExportOptions {
  std::optional<int> opset;          // 17 to 23; absent: the oldest of these that has all that the graph needs
  size_t max_bytes = 1'800'000'000;  // larger models get a second file, with the weights (write_model.h)
  bool keep_layouts = false;         // plain weights of linears as the graph has them, [N,K]; else as MatMul reads them
};

// How the packed constants of one format were written.
struct ExportedFormat {
  std::string format, written;                         // "int4.g32", "int4, scale per 32 along axis 1"
  int64_t constants = 0, packed_bytes = 0, bytes = 0;  // in hone's planes, and in the file
};

struct OnnxExport {
  int opset = 0;
  int64_t nodes = 0;  // bodies included
  int64_t bytes = 0;  // of all files
  std::vector<std::string> files;
  std::vector<ExportedFormat> formats;
};

// The names of inputs, outputs and labelled constants are kept. Throws one Error for all nodes and constants that the
// opset has no way to say: each with its name, the reason, and what would do.
OnnxExport export_onnx(const Graph& graph, const std::string& path, const OnnxExportOptions& options = {});

// The model without writing it; sets all of the result but bytes and files.
onnx::ModelProto onnx_model(const Graph& graph, const OnnxExportOptions& options, OnnxExport& result);

}  // namespace hone

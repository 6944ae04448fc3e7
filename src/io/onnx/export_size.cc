#include "io/onnx/export_size.h"

#include "io/onnx/export_model.h"
#include "io/onnx/write_model.h"

namespace hone {

std::optional<int64_t> onnx_bytes(const Graph& graph) {
  const OnnxExportOptions options;
  OnnxExport result;
  const size_t bytes = onnx_model(graph, options, result).ByteSizeLong();
  return bytes <= options.max_bytes ? std::optional(static_cast<int64_t>(bytes)) : std::nullopt;
}

}  // namespace hone

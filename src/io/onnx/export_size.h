// The size of an ONNX file without writing it.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace hone {

// Of the file that export_onnx makes of the graph; none where it would be two files. The same errors.
std::optional<int64_t> onnx_bytes(const Graph& graph);

}  // namespace hone

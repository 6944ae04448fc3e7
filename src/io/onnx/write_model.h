// A model as a file, or, when it is too large for one protobuf message, as a file and its weights in another beside it.
#pragma once

#include <cstddef>
#include <string>

#include "io/onnx/onnx.pb.h"

namespace hone::onnx {

// Writes atomically (base/atomic_file.h). A model of more than `max_bytes` has its larger tensors in `path`.data as
// external data; then either both files are there afterwards, or what was there before. Takes the model to release the
// weights as they are written. Throws Error.
void write_model(ModelProto model, const std::string& path, size_t max_bytes = 1'800'000'000);

}  // namespace hone::onnx

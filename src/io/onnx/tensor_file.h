// Values that ONNX's node tests keep beside a model: a file holds one tensor, sequence or optional as a bare message.
#pragma once

#include <string>
#include <string_view>

#include "ir/tensor.h"

namespace hone {

// `like` says which message the file holds. Throws Error naming the file.
Tensor read_tensor_file(const std::string& path, const TensorType& like);
Tensor parse_tensor_file(std::string_view bytes, const std::string& source, const TensorType& like);

}  // namespace hone

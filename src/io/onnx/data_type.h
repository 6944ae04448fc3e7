// ONNX's numbers of element types (TensorProto.data_type, TypeProto.Tensor.elem_type) and hone's.
#pragma once

#include <cstdint>
#include <string>

#include "ir/type.h"

namespace hone::onnx {

std::string data_type_name(int32_t data_type);  // "float16", "complex64"; "data type 99" for one without a name

// Throws Error with `source` in front when hone has no such type: "complex64 is not supported".
DType dtype_of(int32_t data_type, const std::string& source);
int32_t data_type_of(DType dtype);

}  // namespace hone::onnx

// Tensors of ONNX messages and hone's. The message gives its bytes away: raw_data, and a typed field whose numbers are
// as wide as the elements, become the tensor's buffer without a copy.
#pragma once

#include <string>

#include "io/onnx/onnx.pb.h"
#include "ir/tensor.h"

namespace hone::onnx {

class ExternalData;  // external_data.h

struct TensorContext {
  std::string source;                // the file, and the node if there is one, for errors
  ExternalData* external = nullptr;  // without: a tensor with external data is an Error
};

// Checks dimensions, fields and sizes before allocating anything. Throws Error naming the tensor; for a type that hone
// doesn't have, with the name of the type.
Tensor tensor_of(TensorProto&& proto, const TensorContext& where);

// The dense tensor. Its indices must ascend; its size is bounded by the values given, so that a small file can't ask
// for terabytes of zeros.
Tensor tensor_of(SparseTensorProto&& proto, const TensorContext& where);

// With the elements in raw_data, or string_data. Bug for a packed tensor and a container.
TensorProto to_proto(const Tensor& tensor, const std::string& name);

}  // namespace hone::onnx

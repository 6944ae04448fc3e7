// Tensors of ONNX messages and hone's. The message gives its bytes away: raw_data, and a typed field whose numbers are
// as wide as the elements, become the tensor's buffer without a copy. So does raw_data that has stayed in the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "io/onnx/onnx.pb.h"
#include "ir/tensor.h"

namespace hone::onnx {

class ExternalData;  // external_data.h

// raw_data that the message lacks (large_data.h).
struct DataInFile {
  std::shared_ptr<const MappedFile> file;
  std::string_view bytes;  // at least one
};

struct TensorContext {
  std::string source;                // the file, and the node if there is one, for errors
  ExternalData* external = nullptr;  // without: a tensor with external data is an Error
  const DataInFile* in_file = nullptr;
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

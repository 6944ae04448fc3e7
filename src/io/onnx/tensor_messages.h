// Every tensor of a model, wherever it is: initialisers and attributes, in subgraphs and functions too.
#pragma once

#include <vector>

#include "io/onnx/onnx.pb.h"

namespace hone::onnx {

struct TensorMessages {
  std::vector<TensorProto*> dense;
  std::vector<SparseTensorProto*> sparse;
};

TensorMessages tensor_messages(ModelProto& model);  // into the model, in its order

}  // namespace hone::onnx

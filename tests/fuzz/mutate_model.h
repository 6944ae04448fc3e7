// Changes to a valid ONNX model that keep it a model: numbers, types, shapes, opsets, absent operands, nodes and
// weights of another kind. What byte mutations hardly ever reach, since a damaged message is refused before it means
// anything.
#pragma once

#include "base/philox.h"
#include "io/onnx/onnx.pb.h"

namespace hone::fuzz {

// One to four changes, drawn by `random`.
void mutate(onnx::ModelProto& model, Philox& random);

}  // namespace hone::fuzz

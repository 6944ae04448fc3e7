// Import functions of operators that are one op with the same operands: import_direct<abs_def>.
#pragma once

#include "io/onnx/onnx_family.h"

namespace hone::onnx {

template <const OpDef& op>
std::vector<ValueId> import_direct(OnnxNode& n) {
  return {n.emit({&op, n.all_inputs()})};
}

}  // namespace hone::onnx

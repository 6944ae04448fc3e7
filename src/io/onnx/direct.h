// Import functions of operators that are one op with the same operands: import_direct<"abs">.
#pragma once

#include <algorithm>

#include "io/onnx/onnx_family.h"

namespace hone::onnx {

template <size_t n>
struct OpName {
  char text[n];
  consteval OpName(const char (&name)[n]) { std::copy_n(name, n, text); }  // NOLINT: names are implicit
};

template <OpName op>
std::vector<ValueId> import_direct(OnnxNode& n) {
  return {n.emit(op.text, n.all_inputs())};
}

}  // namespace hone::onnx

// Integers that shape a result: ONNX passes them as attributes in old versions of an operator and as operands, perhaps
// computed, in newer ones. Ops of hone take each as an attribute, where it is known, or as the operand at its place.
#pragma once

#include <vector>

#include "io/onnx/onnx_family.h"

namespace hone {

// Adds them, from the attribute `name` or an input, to what an op is emitted with: sets the attribute `name` and
// appends kNone, or appends the operand. Appends kNone alone where neither is given.
void add_dims(const OnnxNode& n, const char* name, int input, std::vector<ValueId>& operands, Attributes& attributes);

// The same for a list of axes, `axes`.
void add_axes(const OnnxNode& n, int input, std::vector<ValueId>& operands, Attributes& attributes);

}  // namespace hone

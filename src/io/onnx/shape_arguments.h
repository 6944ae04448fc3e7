// Integers that shape a result: ONNX passes them as attributes in old versions of an operator and as operands, perhaps
// computed, in newer ones. Ops of hone take each as an attribute, where it is known, or as the operand at its place.
#pragma once

#include <vector>

#include "io/onnx/onnx_family.h"

namespace hone {

// The elements of an integer scalar or vector as dimensions, where constants and the shapes of inputs decide them. A
// size that depends on data is better read from the value: an attribute does not keep alive what computes it.
std::optional<Shape> dims_without_data(const OnnxNode& n, ValueId values);

// Adds them, from the attribute `name` or an input, to what an op is emitted with: sets the attribute `name` and
// appends kNone, or appends the operand. Appends kNone alone where neither is given.
void add_dims(const OnnxNode& n, const char* name, int input, std::vector<ValueId>& operands, Attributes& attributes);

// The same for a list of axes, `axes`.
void add_axes(const OnnxNode& n, int input, std::vector<ValueId>& operands, Attributes& attributes);

}  // namespace hone

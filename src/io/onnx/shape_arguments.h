// Integers that shape a result: ONNX passes them as attributes in old versions of an operator and as operands, perhaps
// computed, in newer ones.
#pragma once

#include <optional>
#include <vector>

#include "io/onnx/onnx_family.h"

namespace hone {

// Adds them to what an op is emitted with: as the attribute `name` where they are known, otherwise as the next operand.
void add_dims(OnnxNode& n, const char* name, ValueId values, std::vector<ValueId>& operands, Attributes& attributes);

// The list `axes`, an attribute or an operand; nothing where it is absent.
std::optional<std::vector<int64_t>> axes_of(OnnxNode& n, int operand);

}  // namespace hone

// Contents of tensors and attributes as text, exactly: floats by their shortest decimal, packed tensors by their planes
// in hex.
//   {1, 2.5, -inf}     elements, row-major            {"a", "b"}     strings
//   planes {"0f3a", "7f", "", ""}                      codes, scales, zero points, global
#pragma once

#include <string>

#include "ir/attributes.h"
#include "ir/op_def.h"
#include "ir/scanner.h"

namespace hone {

std::string literal_text(const Tensor& tensor);
Tensor parse_literal(Scanner& scanner, const TensorType& type);  // Error at the place; `type` has a constant shape
Tensor parse_scalar(Scanner& scanner, DType dtype);              // one element, as a tensor without dimensions
TensorType parse_type(Scanner& scanner);

std::string attribute_text(const Attribute& attribute);
Attribute parse_attribute(Scanner& scanner, AttributeKind kind);  // reads up to ',' or '}'

}  // namespace hone

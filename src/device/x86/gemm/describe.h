// What people are told of products, those inside convolutions too.
#pragma once

#include <string>

#include "device/x86/gemm/shape.h"

namespace hone {

std::string weights_of(const GemmPlan& plan, const GemmShape& shape);  // "mxint8 weights decoded in the loop"
std::string products_of(const GemmShape& shape);                       // "bf16 dot products"

}  // namespace hone

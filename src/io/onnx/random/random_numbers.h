// Random numbers of operators. ONNX leaves the generator open; here the same model gives the same numbers every time: a
// node without a seed takes its place in the graph for one.
#pragma once

#include "io/onnx/onnx_family.h"

namespace hone {

int64_t seed_of(const OnnxNode& n);
ValueId random_like(const OnnxNode& n, ValueId x, const OpDef& op, Attributes attributes);  // in the shape of x

}  // namespace hone

// Graphs as text whose constants are random.
#pragma once

#include "ir/text.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/op_case.h"

namespace hone::test {

// Seeded contents for `const "name"`: packed where the text says so, of a spread that keeps activations near 1.
inline ParseContext seeded_constants() {
  ParseContext context = op_context();
  context.find_constant = [](const std::string& name, const TensorType& type) -> std::optional<Tensor> {
    Philox rng(name.size() * 131 + static_cast<uint64_t>(name[0]));
    const std::vector<int64_t> shape = constant_shape(type.shape);
    if (type.format) return pack(*type.format, random_floats(rng, shape, DType::f32, -0.2f, 0.2f));
    return random_floats(rng, shape, type.dtype, -0.2f, 0.2f);
  };
  return context;
}

inline Graph parse_seeded(std::string_view text) { return parse_graph(text, seeded_constants()); }

}  // namespace hone::test

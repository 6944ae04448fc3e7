// One sample call of an op, and the tensors that samples are made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/philox.h"
#include "ir/op_def.h"

namespace hone {

struct OpCase {
  std::vector<std::optional<Tensor>> operands;  // absent ones are empty
  Attributes attributes;

  std::vector<const Tensor*> pointers() const {
    std::vector<const Tensor*> result;
    for (const auto& operand : operands) result.push_back(operand ? &*operand : nullptr);
    return result;
  }
  std::string text() const {  // for messages: "f32[7,17], _, mxint8[17]"
    std::string list;
    for (const auto& operand : operands)
      list += (list.empty() ? "" : ", ") + (operand ? to_string(operand->type()) : std::string("_"));
    for (const auto& [name, value] : attributes.items()) list += " " + name;
    return list;
  }
};
using OpCases = std::vector<OpCase>;
using Sizes64 = std::vector<int64_t>;

inline Tensor random_floats(Philox& rng, Sizes64 shape, DType dtype = DType::f32, float low = -2, float high = 2) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& value : values) value = rng.uniform(low, high);
  return Tensor::from_floats(dtype, std::move(shape), values);
}

// Whole numbers from low to high.
inline Tensor random_integers(Philox& rng, Sizes64 shape, DType dtype, int64_t low, int64_t high) {
  std::vector<int64_t> values(static_cast<size_t>(element_count(shape)));
  for (int64_t& value : values) value = low + rng.below(static_cast<uint32_t>(high - low + 1));
  return Tensor::of<int64_t>(std::move(shape), values).converted(dtype);
}

inline Tensor random_packed(Philox& rng, Sizes64 shape, std::string_view format) {
  return pack(parse_format(format), random_floats(rng, std::move(shape)));
}

}  // namespace hone

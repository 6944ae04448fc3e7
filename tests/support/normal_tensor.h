#pragma once

#include <vector>

#include "base/philox.h"
#include "ir/tensor.h"

namespace hone::test {

// f32 of a normal distribution about 0.
inline Tensor normal_tensor(Philox& random, const std::vector<int64_t>& shape, float scale = 1) {
  Tensor tensor(DType::f32, shape);
  for (float& v : tensor.mutable_as<float>()) v = scale * random.normal();
  return tensor;
}
inline Tensor normal_tensor(uint64_t seed, const std::vector<int64_t>& shape, float scale = 1) {
  Philox random(seed);
  return normal_tensor(random, shape, scale);
}

}  // namespace hone::test

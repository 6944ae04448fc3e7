// Short ways to call ops in tests.
#pragma once

#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/support/error_of.h"

namespace hone {

inline Tensor call(const char* op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& operand : operands) pointers.push_back(&operand);
  return evaluate_node(ops::get(op), pointers, attributes).at(0);
}

inline Tensor f32(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(shape), values);
}
inline Tensor i64(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(std::move(shape), values);
}

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;
using Sizes64 = std::vector<int64_t>;

// The text of the Error that the call throws, "" when it throws none.
inline std::string error_of(const char* op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  return test::error_of([&] { call(op, operands, attributes); });
}

}  // namespace hone

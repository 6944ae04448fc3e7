// A source of weights for builders under test: identities and zeros by default, so that values can be followed by hand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/registry.h"

namespace hone {

// Windows pass the centre of channel i to channel i; matrices are identities; normalisations keep what they see (but
// for their epsilon); biases are 0. `given` wins. Notes what was asked for.
struct WeightsByName {
  std::map<std::string, std::vector<float>> given;
  std::map<std::string, std::vector<int64_t>> asked;

  WeightSource source() {
    return [this](const std::string& name, const std::vector<int64_t>& shape) { return weight(name, shape); };
  }

  int64_t parameters() const {  // without running statistics, as PyTorch counts
    int64_t sum = 0;
    for (const auto& [name, shape] : asked)
      if (name.find(".running_") == std::string::npos) sum += element_count(shape);
    return sum;
  }

 private:
  Tensor weight(const std::string& name, const std::vector<int64_t>& shape) {
    asked[name] = shape;
    if (const auto found = given.find(name); found != given.end()) return Tensor::of<float>(shape, found->second);
    Tensor tensor(DType::f32, shape);
    std::span<float> values = tensor.mutable_as<float>();
    if (name.ends_with("running_var") || (shape.size() == 1 && name.ends_with("weight")))
      std::fill(values.begin(), values.end(), 1.f);
    if (shape.size() < 2) return tensor;
    const int64_t columns = shape[1], taps = element_count(shape) / (shape[0] * columns);
    for (int64_t o = 0; o < shape[0]; ++o)
      values[static_cast<size_t>((o * columns + o % columns) * taps + taps / 2)] = 1;
    return tensor;
  }
};

}  // namespace hone

// Whether two graphs with the same inputs compute the same, on random values.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "ops/evaluate.h"

namespace hone::test {

// Small random values for every input; symbols become 2, 3, 4, ... Integers are 0 or 1, so that they serve as masks and
// indices.
inline std::map<std::string, Tensor> random_inputs(const Graph& graph, Philox& rng) {
  Bindings bindings;
  for (const std::string& symbol : graph.symbols()) bindings[symbol] = static_cast<int64_t>(bindings.size()) + 2;
  std::map<std::string, Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    const TensorType& type = graph.type(id);
    const std::vector<int64_t> shape = evaluate(type.shape, bindings);
    std::vector<double> values(static_cast<size_t>(element_count(shape)));
    for (double& v : values) v = is_float(type.dtype) ? rng.normal() : rng.below(2);
    inputs.emplace(graph.value(id).label, Tensor::from_doubles(type.dtype, shape, values));
  }
  return inputs;
}

// `relative`: largest difference, as a part of the largest magnitude of that output.
inline void expect_same_outputs(const Graph& before, const Graph& after, double relative) {
  Philox rng(7);
  const auto inputs = random_inputs(before, rng);
  const std::vector<Tensor> a = evaluate(before, inputs), b = evaluate(after, inputs);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(before.outputs()[i].label, after.outputs()[i].label);
    ASSERT_EQ(to_string(a[i].type()), to_string(b[i].type()));
    const std::vector<double> x = a[i].to_doubles(), y = b[i].to_doubles();
    double largest = 0;
    for (double v : x) largest = std::max(largest, std::abs(v));
    for (size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(x[k]) && std::isnan(y[k])) continue;
      ASSERT_LE(std::abs(x[k] - y[k]), relative * largest)
          << "output " << i << " element " << k << ": " << x[k] << " and " << y[k];
    }
  }
}

}  // namespace hone::test

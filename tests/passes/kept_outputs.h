// Whether what a pass makes of a graph computes what the graph computed: on random values, outputs lie no further apart
// than the roundings of both graphs allow, which are followed through their nodes (tests/support/graph_bound.h).
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "tests/passes/same_outputs.h"
#include "tests/support/graph_bound.h"

namespace hone::test {

// Of what a pass made of `before`: elements of constants that `before` has nowhere were computed, and rounded once.
inline BoundOptions bounds_after_a_pass(const Graph& before) {
  std::set<uint64_t> known;
  for (ValueId id : before.constants())
    for (double v : before.constant(id)->to_doubles()) known.insert(std::bit_cast<uint64_t>(v));
  return {DistanceFrom::real_numbers, [known](const Tensor& constant) {
            if (!is_float(constant.dtype()) || constant.is_packed()) return std::vector<double>();
            std::vector<double> error = constant.to_doubles();
            for (double& v : error)
              v = known.contains(std::bit_cast<uint64_t>(v)) ? 0 : std::abs(v) * unit_roundoff(constant.dtype());
            const bool is_exact = std::all_of(error.begin(), error.end(), [](double e) { return e == 0; });
            return is_exact ? std::vector<double>() : error;
          }};
}

// What is wrong with the outputs of `after`; "" when they are those of `before`.
inline std::string output_fault(const Graph& before, const Graph& after) {
  Philox rng(7);
  const std::map<std::string, Tensor> inputs = random_inputs(before, rng);
  std::vector<Bounded> want = bounded_outputs(before, inputs, {DistanceFrom::real_numbers});
  const std::vector<Bounded> got = bounded_outputs(after, inputs, bounds_after_a_pass(before));
  if (want.size() != got.size()) return fmt::format("{} outputs instead of {}", got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const std::string& label = before.outputs()[i].label;
    if (after.outputs()[i].label != label)
      return fmt::format("output {} is called {} instead of {}", i, after.outputs()[i].label, label);
    std::vector<double>& error = want[i].error;
    if (want[i].exact()) error = got[i].error;
    else if (!got[i].exact() && got[i].error.size() == error.size())
      std::transform(error.begin(), error.end(), got[i].error.begin(), error.begin(), std::plus());
    if (const std::string fault = fault_of(got[i].value, want[i]); !fault.empty()) return label + ": " + fault;
  }
  return "";
}

inline void expect_kept_outputs(const Graph& before, const Graph& after) {
  EXPECT_EQ(output_fault(before, after), "") << print(after);
}

}  // namespace hone::test

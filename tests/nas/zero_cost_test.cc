// Zero-cost scores beside gradients by hand.
#include "nas/zero_cost.h"

#include <cmath>

#include "base/error.h"
#include "io/numpy.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

constexpr size_t kRows = 6, kInputs = 3, kClasses = 2;

class ZeroCost : public JobsTest {
 protected:
  ZeroCost() {
    Philox random(5);
    for (float& value : x) value = random.normal();
    write_npz(folder / "rows.npz", std::vector<NamedTensor>{{"x", Tensor::of<float>({kRows, kInputs}, x)},
                                                            {"labels", Tensor::of<int64_t>({kRows}, labels)}});
  }
  Figures figures(const std::set<std::string>& wanted, const std::string& data) const {
    return zero_cost_figures(load_model(linear), wanted, {.data = data});
  }

  std::string linear = put_graph("linear.safetensors", R"(graph g {
  %x : f32[B,3] = input "x"
  %w : f32[2,3] = const "w" {0.5, -1, 0.25, -0.75, 0.125, 1}
  %y : f32[B,2] = linear %x, %w
  return %y as "logits"
})");
  std::vector<float> w{0.5, -1, 0.25, -0.75, 0.125, 1}, x = std::vector<float>(kRows * kInputs);
  std::vector<int64_t> labels{0, 1, 1, 0, 1, 0};
};

// Of the mean cross-entropy of softmax(W x): dL/dW = mean of (p - y) x.
TEST_F(ZeroCost, SnipAndGradientNormAreOfTheLoss) {
  double slope[kClasses][kInputs] = {};
  for (size_t row = 0; row < kRows; ++row) {
    double p[kClasses] = {}, total = 0;
    for (size_t c = 0; c < kClasses; ++c) {
      for (size_t i = 0; i < kInputs; ++i) p[c] += double{w[c * kInputs + i]} * x[row * kInputs + i];
      total += p[c] = std::exp(p[c]);
    }
    for (size_t c = 0; c < kClasses; ++c)
      for (size_t i = 0; i < kInputs; ++i)
        slope[c][i] += (p[c] / total - (labels[row] == static_cast<int64_t>(c))) * x[row * kInputs + i] / kRows;
  }
  double snip = 0, squares = 0;
  for (size_t c = 0; c < kClasses; ++c)
    for (size_t i = 0; i < kInputs; ++i)
      snip += std::abs(w[c * kInputs + i] * slope[c][i]), squares += slope[c][i] * slope[c][i];
  const Figures found = figures({"snip", "gradient_norm"}, folder / "rows.npz");
  EXPECT_EQ(found.size(), 2u);
  const double rounding = 64 * kRows * std::ldexp(1.0, -24);  // of sums and exponentials in f32
  EXPECT_NEAR(found.at("snip"), snip, rounding * snip);
  EXPECT_NEAR(found.at("gradient_norm"), std::sqrt(squares), rounding * std::sqrt(squares));
}

TEST_F(ZeroCost, WhatIsNotAskedForTakesNoData) {
  EXPECT_EQ(figures({"accuracy"}, "").size(), 0u);
  EXPECT_EQ(figures({"synflow"}, "").size(), 1u);
  EXPECT_THROW(figures({"snip"}, ""), Error);
}

}  // namespace
}  // namespace hone

// Ops that only training has: values a person can check. Gradients are held to central differences in tests/gradients.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

std::vector<Tensor> call(const char* op, const std::vector<Tensor>& operands, const Attributes& attributes = {}) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& operand : operands) pointers.push_back(&operand);
  return evaluate_node(ops::get(op), pointers, attributes);
}

Tensor numbers(std::vector<int64_t> shape, std::vector<int64_t> values) {
  return Tensor::of<int64_t>(std::move(shape), values);
}

constexpr int64_t kPlaces = 500, kSeed = 0x0123456789abcdef;

// The mask of samples [first, last) at a step: what is left of ones.
std::vector<float> mask(int64_t first, int64_t last, int64_t step, double rate, int64_t seed = kSeed) {
  std::vector<int64_t> samples, places;
  for (int64_t i = first; i < last; ++i) samples.push_back(i);
  for (int64_t i = 0; i < kPlaces; ++i) places.push_back(i);
  const int64_t count = last - first;
  const std::vector<float> ones(static_cast<size_t>(count * kPlaces), 1.0f);
  return call("dropout_train",
              {Tensor::of<float>({count, kPlaces}, ones), numbers({}, {seed}), numbers({}, {step}),
               numbers({count, 1}, samples), numbers({kPlaces}, places)},
              {{"rate", rate}})[0]
      .to_floats();
}

TEST(DropoutTrain, KeepsWhatThePhiloxNumberOfItsPlaceSays) {
  const std::vector<float> kept = mask(5, 7, 3, 0.25);
  for (uint64_t sample : {5, 6})
    for (int64_t place = 0; place < kPlaces; ++place) {
      const uint32_t word = Philox::block(kSeed, static_cast<uint64_t>(place), sample | uint64_t{3} << 32)[0];
      EXPECT_EQ(kept[(sample - 5) * kPlaces + static_cast<uint64_t>(place)], word < (1u << 30) ? 0.0f : 1 / 0.75f);
    }
}

TEST(DropoutTrain, DoesNotDependOnHowABatchIsSplit) {
  std::vector<float> parts = mask(0, 3, 9, 0.5);
  const std::vector<float> whole = mask(0, 8, 9, 0.5), rest = mask(3, 8, 9, 0.5);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, whole);
}

TEST(DropoutTrain, DropsItsShareAndOthersAtAnotherStepOrLayer) {
  const std::vector<float> a = mask(0, 20, 0, 0.3), b = mask(0, 20, 1, 0.3), c = mask(0, 20, 0, 0.3, kSeed + 1);
  const double n = 20.0 * kPlaces, sigma = std::sqrt(n * 0.3 * 0.7);
  EXPECT_NEAR(static_cast<double>(std::count(a.begin(), a.end(), 0.0f)), n * 0.3, 5 * sigma);
  for (const std::vector<float>& other : {b, c}) {
    double both = 0;
    for (size_t i = 0; i < a.size(); ++i) both += a[i] == 0 && other[i] == 0;
    EXPECT_NEAR(both, n * 0.09, 5 * std::sqrt(n * 0.09 * 0.91));
  }
}

TEST(DropoutTrain, TakesARateBelowOne) {
  EXPECT_NE(error_of([] { mask(0, 1, 0, 1.0); }).find("rate is 1; accepted: at least 0 and below 1"),
            std::string::npos);
}

TEST(BatchNormTrain, NormalisesByThePopulationAndRemembersTheSample) {
  const Tensor x = Tensor::of<double>({2, 1, 2}, {1, 3, 5, 7});  // mean 4, variances 5 and 20 / 3
  const std::vector<Tensor> results = call("batch_norm_train",
                                           {x, Tensor::of<double>({1}, {2}), Tensor::of<double>({1}, {1}),
                                            Tensor::of<double>({1}, {0}), Tensor::of<double>({1}, {1})},
                                           {{"epsilon", 4.0}, {"momentum", 0.5}});
  EXPECT_EQ(results[0].to_doubles(), (std::vector<double>{-1, 1 - 2 / 3.0, 1 + 2 / 3.0, 3}));
  EXPECT_EQ(results[1].to_doubles(), std::vector<double>{4});
  EXPECT_DOUBLE_EQ(results[2].to_doubles()[0], 1 / 3.0);
  EXPECT_EQ(results[3].to_doubles(), std::vector<double>{2});
  EXPECT_DOUBLE_EQ(results[4].to_doubles()[0], 0.5 + 10 / 3.0);
}

TEST(BatchNormTrain, ASingleElementOfAChannelLeavesTheRunningVarianceAsItIs) {
  const auto number = [](float v) { return Tensor::of<float>({1}, {v}); };
  const std::vector<Tensor> results =
      call("batch_norm_train", {Tensor::of<float>({1, 1}, {3}), number(2), number(5), number(1), number(7)},
           {{"momentum", 0.5}});
  EXPECT_EQ(results[0].to_floats(), std::vector<float>{5});  // nothing but the bias
  EXPECT_EQ(results[3].to_floats(), std::vector<float>{2});
  EXPECT_EQ(results[4].to_floats(), std::vector<float>{7});
}

TEST(MaxPoolGradient, TheFirstOfEqualElementsGetsAll) {
  const Tensor x = Tensor::of<float>({1, 1, 4}, {2, 2, 2, 1}), d = Tensor::of<float>({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(call("max_pool_gradient", {x, d}, {{"kernel_shape", std::vector<int64_t>{2}}})[0].to_floats(),
            (std::vector<float>{1, 10, 100, 0}));
}

TEST(ConvGradients, RefuseWhatIsNotTheGradientOfSuchAConv) {
  const Tensor d = Tensor::of<float>({1, 1, 3}, {1, 2, 3}), w = Tensor::of<float>({1, 1, 2}, {1, 1});
  EXPECT_NE(error_of([&] {
              call("conv_input_gradient", {d, w}, {{"sizes", Shape{5}}});
            }).find("a spatial size of d, how often the window stands along x, is 3 but must be 4"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              call("conv_weight_gradient", {d, d}, {{"kernel_shape", std::vector<int64_t>{2}}});
            }).find("a spatial size of d, how often the window stands along x, is 3 but must be 2"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::test

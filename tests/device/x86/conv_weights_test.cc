// Weights of convolutions as they are laid out, from whatever order and byte they lie in.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/device/x86/conv_run.h"
#include "tests/device/x86/test_targets.h"
#include "tests/support/mapped_weight.h"

namespace hone::test {
namespace {

// Windows [groups * n, channels * planes, taps], of a turned plan [groups * channels, n, taps], as the matrix.
Tensor matrix_of(const X86ConvPlan& plan, const Tensor& windows) {
  const int64_t n = plan.product.n, taps = plan.window.taps(), apart = plan.channels / plan.planes;
  const std::vector<double> from = windows.to_doubles();
  std::vector<double> matrix;
  for (int64_t row = 0; row < plan.groups * n; ++row)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < plan.channels; ++c) {
        const int64_t channel = c % apart * plan.planes + c / apart;  // a channel has its planes together
        const int64_t at = plan.turned ? (((row / n * plan.channels + c) * n + row % n) + 1) * taps - 1 - tap
                                       : (row * plan.channels + channel) * taps + tap;
        matrix.push_back(from[static_cast<size_t>(at)]);
      }
  return Tensor::from_doubles(windows.dtype(), {plan.groups * n, taps * plan.channels}, matrix);
}

struct Kind {
  X86ConvPlan::Method method;
  bool turned;
  int64_t groups, planes;
};
constexpr auto kDirect = X86ConvPlan::Method::direct, kWinograd = X86ConvPlan::Method::winograd4;
constexpr Kind kKinds[] = {{kDirect, false, 1, 1},   {kDirect, false, 1, 3}, {kDirect, false, 3, 1},
                           {kDirect, true, 1, 1},    {kDirect, true, 2, 1},  {kWinograd, false, 1, 1},
                           {kWinograd, false, 1, 3}, {kWinograd, true, 1, 1}};

// 300 outputs of 150 channels are several pieces and several panels.
TEST(ConvWeights, GivePanelsOfTheMatrixWithoutACopyOfThem) {
  Philox rng(1);
  for (const Kind& kind : kKinds)
    for (const auto& [channels, outputs] : {std::pair<int64_t, int64_t>{3, 5}, {150, 300}})
      for (const DType dtype : {DType::f32, DType::bf16})
        for (const X86Target& target : test_targets()) {
          X86ConvPlan plan = plan_of(
              {.height = 9, .width = 8, .channels = channels, .outputs = outputs, .groups = kind.groups}, dtype, dtype);
          plan.method = kind.method, plan.turned = kind.turned, plan.planes = kind.planes;
          plan = for_target(plan, target);
          X86ConvPlan of_matrix = plan;
          of_matrix.turned = false, of_matrix.planes = 1;
          const int64_t rows = kind.groups * (kind.turned ? channels : outputs);
          const Tensor windows = random_tensor(dtype, {rows, kind.turned ? outputs : channels, 3, 3}, rng);
          const Buffer want = lay_out(of_matrix, target, matrix_of(plan, windows), 1);
          const MappedWeight lying(windows, 1);
          for (const int threads : {1, 2}) {
            const Buffer got = lay_out(plan, target, lying.tensor(), threads);
            EXPECT_TRUE(std::ranges::equal(got.bytes(), want.bytes()))
                << name_of(target) << " " << hone::to_string(dtype) << " " << prepack_key(plan, target);
          }
          EXPECT_TRUE(lying.tensor().data().source().has_value());
        }
}

TEST(ConvWeights, OfOnePixelAreRowsAsTheyLie) {
  Philox rng(2);
  const X86ConvPlan plan = plan_of({.height = 9,
                                    .width = 8,
                                    .channels = 30,
                                    .outputs = 40,
                                    .kernel_height = 1,
                                    .kernel_width = 1,
                                    .stride_y = 2,
                                    .top = 0,
                                    .left = 0,
                                    .bottom = 0,
                                    .right = 0},
                                   DType::f32, DType::f32);
  const Tensor w = random_tensor(DType::f32, {40, 30, 1, 1}, rng);
  const MappedWeight lying(w, 3);
  const Buffer got = lay_out(plan, host_target(), lying.tensor(), 1),
               want = lay_out(plan, host_target(), w.reshaped({40, 30}), 1);
  EXPECT_TRUE(std::ranges::equal(got.bytes(), want.bytes()));
  EXPECT_TRUE(lying.tensor().data().source().has_value());
}

TEST(ConvWeights, OfAnotherSizeAreABug) {
  const X86ConvPlan plan = plan_of({.height = 9, .width = 8, .channels = 4, .outputs = 4}, DType::f32, DType::f32);
  EXPECT_THROW(lay_out(plan, host_target(), Tensor(DType::f32, {4, 5, 3, 3}), 1), Bug);
}

}  // namespace
}  // namespace hone::test

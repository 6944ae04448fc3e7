// Convolutions on CUDA: windows of all kinds on the interpreter, plain and packed weights, within the bound of a sum.
#include <gtest/gtest.h>

#include "device/cuda/conv/plan.h"
#include "tests/device_cuda/gemm_run.h"

namespace hone {
namespace {

using namespace test;

struct Case {
  int64_t images, height, width, channels, outputs, groups;  // channels, outputs: of one group
  int64_t kernel_height, kernel_width, stride, dilation, pad;
  DType dtype;
  std::string format = "";  // of packed weights
};

PlaneWindow window_of(const Case& c) {
  PlaneWindow p{.height = c.height, .width = c.width, .kernel_height = c.kernel_height, .kernel_width = c.kernel_width};
  p.stride_y = p.stride_x = c.stride, p.dilation_y = p.dilation_x = c.dilation, p.pad_top = p.pad_left = c.pad;
  p.out_height = (c.height + 2 * c.pad - (c.kernel_height - 1) * c.dilation - 1) / c.stride + 1;
  p.out_width = (c.width + 2 * c.pad - (c.kernel_width - 1) * c.dilation - 1) / c.stride + 1;
  return p;
}

// One sum per output.
std::vector<ExactSum> reference(const Case& c, const Tensor& x, const Tensor& w) {
  const PlaneWindow p = window_of(c);
  const std::vector<float> in = x.to_floats(), weights = w.to_floats();
  std::vector<ExactSum> out;
  for (int64_t at = 0; at < c.images * p.out_height * p.out_width; ++at) {
    const int64_t image = at / (p.out_height * p.out_width), oy = at / p.out_width % p.out_height,
                  ox = at % p.out_width;
    for (int64_t o = 0; o < c.groups * c.outputs; ++o) {
      ExactSum sum;
      for (int64_t tap = 0; tap < p.taps(); ++tap) {
        const int64_t y = oy * c.stride - c.pad + tap / c.kernel_width * c.dilation,
                      col = ox * c.stride - c.pad + tap % c.kernel_width * c.dilation;
        if (y < 0 || y >= c.height || col < 0 || col >= c.width) continue;
        for (int64_t channel = 0; channel < c.channels; ++channel) {
          const int64_t from =
              ((image * c.height + y) * c.width + col) * c.groups * c.channels + o / c.outputs * c.channels + channel;
          const double product = double{in[static_cast<size_t>(from)]} *
                                 weights[static_cast<size_t>((o * p.taps() + tap) * c.channels + channel)];
          sum.sum += product, sum.magnitudes += std::abs(product);
        }
      }
      out.push_back(sum);
    }
  }
  return out;
}

void expect_conv(const Case& c, const CudaTarget& target, Philox& rng) {
  const PlaneWindow window = window_of(c);
  const int64_t rows = c.images * window.out_height * window.out_width, k = window.taps() * c.channels;
  const Tensor x = normal_matrix(c.dtype, {c.images, c.height, c.width, c.groups * c.channels}, rng);
  Tensor w = normal_matrix(c.format.empty() ? c.dtype : DType::f32, {c.groups * c.outputs, k}, rng);
  if (!c.format.empty()) w = pack(parse_format(c.format), w);
  CudaConvPlan plan;
  plan.window = window, plan.groups = c.groups, plan.channels = c.channels;
  plan.product = product_plan(c.outputs, k, c.dtype, c.dtype);
  plan.product.w_format = c.format;
  if (c.groups > 1) plan.product.result_row_stride = c.groups * c.outputs;
  plan.product.operands = {{DType::f32, Epilogue::Access::column}};
  plan.product.program = flatten(Expr::arg(0, Scalar::f32) + Expr::arg(1, Scalar::f32));
  ConvArgs args{.rows = rows, .images = c.images};
  for_any_plane(plan, args.window);
  plan.tile = cuda_gemm_tile(plan.product, target, rows, c.outputs * c.groups);
  const Tensor bias = normal_matrix(DType::f32, {1, c.groups * c.outputs}, rng);
  DeviceVector<std::byte> in = on_device(x.data()), biases = on_device(bias.data()),
                          weights = on_device(lay_out(CudaDevice(target), plan, w, 1));
  DeviceVector<float> out(static_cast<size_t>(rows * c.groups * c.outputs), -7.0f);
  args.x = in.data(), args.w = weights.data(), args.epilogue = {biases.data(), out.data()};
  const CudaPlan kernel(plan, target);
  kernel.run(args, {reads(in), reads(weights), reads(biases), writes(out)});
  std::vector<ExactSum> want = reference(c, x, w);
  const std::vector<float> added = bias.to_floats();
  for (size_t i = 0; i < want.size(); ++i) {
    const double b = added[i % added.size()];
    want[i].sum += b, want[i].magnitudes += std::abs(b);
  }
  const std::vector<float> got(out.begin(), out.end());
  EXPECT_EQ(first_fault(got, want, k + 1), "") << to_string(target) << " " << window.to_text() << " " << c.format;
  std::ranges::fill(out, -7.0f);
  kernel.run(args, {reads(in), reads(weights), reads(biases), writes(out)}, true);
  EXPECT_EQ(got, std::vector<float>(out.begin(), out.end())) << "blocks in another order";
}

TEST(CudaConv, WindowsOverPlanesWithPaddingStridesAndDilation) {
  Philox rng(1);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    expect_conv({2, 7, 6, 8, 20, 1, 3, 3, 1, 1, 1, dtype}, CudaTarget(80), rng);
    expect_conv({1, 9, 8, 3, 10, 1, 5, 3, 2, 1, 2, dtype}, CudaTarget(80), rng);  // channels that are no whole pieces
    expect_conv({1, 9, 9, 16, 8, 1, 3, 3, 1, 2, 2, dtype}, CudaTarget(75), rng);
  }
}

TEST(CudaConv, OneTapReadsPlacesAsTheyLie) {
  Philox rng(2);
  expect_conv({2, 5, 5, 40, 24, 1, 1, 1, 1, 1, 0, DType::bf16}, CudaTarget(90), rng);
  expect_conv({2, 5, 5, 40, 24, 1, 1, 1, 2, 1, 0, DType::bf16}, CudaTarget(90), rng);
}

// Groups have columns of one result side by side, whole vectors of them or not.
TEST(CudaConv, GroupsOfChannels) {
  Philox rng(3);
  for (const int64_t outputs : {8, 5}) {
    expect_conv({1, 6, 5, 8, outputs, 3, 3, 3, 1, 1, 1, DType::bf16}, CudaTarget(80), rng);
    expect_conv({1, 6, 5, 4, outputs, 2, 3, 3, 1, 1, 1, DType::f32}, CudaTarget(80), rng);
  }
}

TEST(CudaConv, PackedWeights) {
  Philox rng(4);
  for (const char* format : {"mxint8", "mxfp4", "int8.channel"})
    for (const int64_t groups : {1, 2})
      expect_conv({1, 6, 5, 8, 12, groups, 3, 3, 1, 1, 1, DType::bf16, format}, CudaTarget(80), rng);
  expect_conv({1, 6, 5, 8, 20, 2, 3, 3, 1, 1, 1, DType::f32, "mxint8.ax0"}, CudaTarget(80), rng);
}

// [O,I,H,W], and the weights of a gradient: [I,O,H,W] with taps the other way.
TEST(CudaConv, WeightsInAnyOrder) {
  Philox rng(5);
  constexpr int64_t kOutputs = 3, kChannels = 4, kTaps = 9;
  CudaConvPlan plan;
  plan.window = {.height = 5, .width = 5, .out_height = 3, .out_width = 3, .kernel_height = 3, .kernel_width = 3};
  plan.channels = kChannels;
  plan.product = product_plan(kOutputs, kTaps * kChannels, DType::f32, DType::f32);
  ConvArgs args;
  for_any_plane(plan, args.window);
  const CudaDevice device(CudaTarget(80));
  plan.tile = cuda_gemm_tile(plan.product, device.target(), 9, kOutputs);
  const Tensor rows = normal_matrix(DType::f32, {kOutputs, kTaps * kChannels}, rng);
  const std::vector<float> values = rows.to_floats();
  std::vector<float> planes(values.size()), turned(values.size());
  for (int64_t o = 0; o < kOutputs; ++o)
    for (int64_t tap = 0; tap < kTaps; ++tap)
      for (int64_t c = 0; c < kChannels; ++c) {
        const float v = values[static_cast<size_t>((o * kTaps + tap) * kChannels + c)];
        planes[static_cast<size_t>((o * kChannels + c) * kTaps + tap)] = v;
        turned[static_cast<size_t>((c * kOutputs + o) * kTaps + kTaps - 1 - tap)] = v;
      }
  const auto laid_out = [&](const Tensor& weights) {
    const Buffer out = lay_out(device, plan, weights, 1);
    return std::vector<std::byte>(out.bytes().begin(), out.bytes().end());
  };
  const std::vector<std::byte> want = laid_out(rows);
  EXPECT_EQ(laid_out(Tensor::from_floats(DType::f32, {kOutputs, kChannels, 3, 3}, planes)), want);
  plan.turned = true;
  EXPECT_EQ(laid_out(Tensor::from_floats(DType::f32, {kChannels, kOutputs, 3, 3}, turned)), want);
}

TEST(CudaConv, WhatThereIsNoCodeForIsRefusedWithTheReason) {
  const CudaDevice device(CudaTarget(80));
  CudaConvPlan plan;
  plan.product = product_plan(8, 8, DType::f32, DType::f32);
  EXPECT_NE(supports(device, plan).why.find("for one plane"), std::string::npos);
  plan.any_plane = true;
  EXPECT_TRUE(supports(device, plan).supported()) << supports(device, plan).why;
  plan.has_x_zero = true;
  EXPECT_NE(supports(device, plan).why.find("zero point"), std::string::npos);
}

}  // namespace
}  // namespace hone

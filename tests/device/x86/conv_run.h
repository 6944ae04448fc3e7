// A convolution's plan with operands, its kernel's result and the same in double.
#pragma once

#include <string>
#include <vector>

#include "device/x86/conv/prepack.h"
#include "device/x86/conv/shape.h"
#include "tests/device/x86/gemm_run.h"

namespace hone::test {

struct ConvCase {
  int64_t images = 1, height = 1, width = 1, channels = 1, outputs = 1, groups = 1;  // channels, outputs: of one group
  int64_t kernel_height = 3, kernel_width = 3, stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  int64_t top = 1, left = 1, bottom = 1, right = 1;
};

inline std::string to_string(const ConvCase& c) {
  return fmt::format("{}x{}x{}x{} -> {} in {} groups, kernel {}x{} stride {}x{} dilation {}x{} pads {},{},{},{}",
                     c.images, c.height, c.width, c.channels, c.outputs, c.groups, c.kernel_height, c.kernel_width,
                     c.stride_y, c.stride_x, c.dilation_y, c.dilation_x, c.top, c.left, c.bottom, c.right);
}

inline X86ConvPlan plan_of(const ConvCase& c, DType a, DType w) {
  X86ConvPlan plan;
  PlaneWindow& p = plan.window;
  p.height = c.height, p.width = c.width;
  p.kernel_height = c.kernel_height, p.kernel_width = c.kernel_width;
  p.stride_y = c.stride_y, p.stride_x = c.stride_x, p.dilation_y = c.dilation_y, p.dilation_x = c.dilation_x;
  p.pad_top = c.top, p.pad_left = c.left;
  p.out_height = (c.height + c.top + c.bottom - (c.kernel_height - 1) * c.dilation_y - 1) / c.stride_y + 1;
  p.out_width = (c.width + c.left + c.right - (c.kernel_width - 1) * c.dilation_x - 1) / c.stride_x + 1;
  plan.groups = c.groups, plan.channels = c.channels;
  plan.product = plain_plan(c.outputs, p.taps() * c.channels, a, w);
  if (c.groups > 1) plan.product.result_row_stride = c.groups * c.outputs;
  return plan;
}

// As lowering makes it.
inline X86ConvPlan for_target(X86ConvPlan plan, const X86Target& target) {
  plan.by_tiles = plan.method == X86ConvPlan::Method::direct && fits_tiles(plan, target);
  return plan;
}

// One sum per output, in double.
inline std::vector<Products> reference(const X86ConvPlan& plan, int64_t images, const Tensor& x, const Tensor& w) {
  const PlaneWindow& p = plan.window;
  const std::vector<float> in = x.to_floats(), weights = w.to_floats();
  std::vector<Products> out;
  for (int64_t at = 0; at < images * p.out_height * p.out_width; ++at) {
    const int64_t image = at / (p.out_height * p.out_width), oy = at / p.out_width % p.out_height,
                  ox = at % p.out_width;
    for (int64_t o = 0; o < plan.groups * plan.product.n; ++o) {
      Products sum;
      for (int64_t tap = 0; tap < p.taps(); ++tap) {
        const int64_t y = oy * p.stride_y - p.pad_top + tap / p.kernel_width * p.dilation_y;
        const int64_t col = ox * p.stride_x - p.pad_left + tap % p.kernel_width * p.dilation_x;
        if (y < 0 || y >= p.height || col < 0 || col >= p.width) continue;
        for (int64_t c = 0; c < plan.channels; ++c) {
          const int64_t channel = o / plan.product.n * plan.channels + c;
          const int64_t element = ((image * p.height + y) * p.width + col) * plan.groups * plan.channels + channel;
          const double product = double{in[static_cast<size_t>(element)]} *
                                 weights[static_cast<size_t>((o * p.taps() + tap) * plan.channels + c)];
          sum.sum += product;
          sum.abs_sum += std::abs(product);
          if (std::abs(product) > std::abs(sum.largest)) sum.largest = product;
        }
      }
      out.push_back(sum);
    }
  }
  return out;
}

struct ConvResult {
  std::vector<float> values;
  bool intact;
};

// On the plane of `window`; for a plan for any plane, `args` have its sizes, and for one with a code outside it, that.
inline ConvResult run(CompiledPlan& kernel, const X86ConvPlan& plan, const PlaneWindow& window, ConvArgs args,
                      const X86Target& target, int64_t images, const Tensor& x, const Tensor& w, int64_t chunk = 0) {
  const Buffer weights = lay_out(plan, target, w, 1);
  const int64_t rows = images * window.out_height * window.out_width;
  Guarded out(static_cast<size_t>(rows * plan.groups * plan.product.n) * 4),
      in(x.data().size(), static_cast<size_t>(size_bytes(plan.product.a)));
  std::memcpy(in.data(), x.data().bytes().data(), x.data().size());
  args.x = in.data(), args.w = const_cast<std::byte*>(weights.bytes().data()), args.epilogue[0] = out.data();
  args.rows = rows, args.images = images;
  kernel.run(args, chunk);
  const auto values = out.as<float>();
  return {{values.begin(), values.end()}, out.intact() && in.intact()};
}

inline ConvResult run(const X86ConvPlan& plan, const X86Target& target, int64_t images, const Tensor& x,
                      const Tensor& w, int64_t chunk = 0) {
  const X86ConvPlan chosen = for_target(plan, target);
  CompiledPlan kernel(chosen, target);
  return run(kernel, chosen, plan.window, {}, target, images, x, w, chunk);
}

inline std::vector<int64_t> x_shape(const ConvCase& c) { return {c.images, c.height, c.width, c.groups * c.channels}; }
inline std::vector<int64_t> w_shape(const ConvCase& c) {
  return {c.groups * c.outputs, c.kernel_height * c.kernel_width * c.channels};
}

}  // namespace hone::test

// Kernels for gradients of convolution weights against the same sums in double.
#include <gtest/gtest.h>

#include <cmath>

#include "device/x86/conv_weight_gradient/shape.h"
#include "tests/device/x86/at_the_edge.h"
#include "tests/device/x86/gemm_run.h"

namespace hone {
namespace {

using namespace test;

struct Case {
  int64_t images;
  PlaneWindow plane;
  int64_t groups, channels, outputs;  // of a group
  std::string name() const {
    return fmt::format("{} images, {}, {} groups of {} channels and {} outputs", images, plane.to_text(), groups,
                       channels, outputs);
  }
};

PlaneWindow square(int64_t height, int64_t width, int64_t taps, int64_t stride, int64_t pad, int64_t dilation = 1) {
  const auto places = [&](int64_t extent) { return (extent + 2 * pad - dilation * (taps - 1) - 1) / stride + 1; };
  return {.height = height,
          .width = width,
          .out_height = places(height),
          .out_width = places(width),
          .kernel_height = taps,
          .kernel_width = taps,
          .stride_y = stride,
          .stride_x = stride,
          .dilation_y = dilation,
          .dilation_x = dilation,
          .pad_top = pad,
          .pad_left = pad};
}

// Strides and dilations that differ, pads on two sides only, a window higher than the plane.
constexpr PlaneWindow kUneven{.height = 5,
                              .width = 19,
                              .out_height = 4,
                              .out_width = 9,
                              .kernel_height = 7,
                              .kernel_width = 4,
                              .stride_y = 2,
                              .stride_x = 2,
                              .dilation_y = 1,
                              .dilation_x = 3,
                              .pad_top = 3,
                              .pad_left = 5};
// Longer than a block, and the first places see nothing but padding.
constexpr PlaneWindow kLine{.width = 701, .out_width = 709, .kernel_width = 5, .dilation_x = 1, .pad_left = 12};

std::vector<Case> all_cases() {
  return {{2, square(7, 7, 3, 1, 1), 1, 20, 40},
          {19, square(4, 4, 3, 1, 1), 1, 3, 17},
          {1, square(1, 1, 1, 1, 0), 1, 1, 1},
          {3, square(9, 10, 1, 2, 0), 1, 70, 33},
          {1, square(30, 31, 3, 2, 1), 1, 9, 8},
          {2, square(9, 10, 3, 1, 2, 2), 1, 13, 67},
          {2, square(5, 5, 7, 1, 3), 1, 100, 5},
          {70, square(6, 6, 3, 1, 1), 1, 5, 6},
          {2, kUneven, 1, 11, 18},
          {1, kLine, 1, 10, 20},
          {2, square(8, 7, 3, 1, 1), 3, 10, 5},
          {2, square(8, 7, 1, 1, 1), 2, 3, 40},
          {2, square(9, 9, 3, 2, 1), 67, 1, 1},
          {40, square(9, 9, 5, 1, 2), 19, 1, 1},
          {2, kUneven, 16, 1, 2}};
}

X86ConvWeightGradientPlan plan_of(const Case& at, bool matrix, DType dtype, ConvWeightGradientArgs& args) {
  args.images = at.images;
  const PlaneWindow& p = at.plane;
  return {.window = on_any_plane(p, args.window),
          .only_places = p.taps() == 1 && p.pad_top == 0 && p.pad_left == 0,
          .groups = at.groups,
          .channels = at.channels,
          .outputs = at.outputs,
          .x = dtype,
          .d = dtype,
          .matrix = matrix};
}

std::vector<Products> reference(const Case& at, bool matrix, const Tensor& d, const Tensor& x) {
  const std::vector<float> of_d = d.to_floats(), of_x = x.to_floats();
  const PlaneWindow& p = at.plane;
  const int64_t outputs = at.groups * at.outputs, channels = at.groups * at.channels;
  std::vector<Products> sums(static_cast<size_t>(outputs * at.channels * p.taps()));
  for (int64_t place = 0; place < at.images * p.out_height * p.out_width; ++place)
    for (int64_t tap = 0; tap < p.taps(); ++tap) {
      const int64_t image = place / (p.out_height * p.out_width), row = place / p.out_width % p.out_height;
      const int64_t y = row * p.stride_y - p.pad_top + tap / p.kernel_width * p.dilation_y;
      const int64_t column = place % p.out_width * p.stride_x - p.pad_left + tap % p.kernel_width * p.dilation_x;
      if (y < 0 || y >= p.height || column < 0 || column >= p.width) continue;
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t c = 0; c < at.channels; ++c) {
          const int64_t pixel = (image * p.height + y) * p.width + column;
          const double product = double{of_d[static_cast<size_t>(place * outputs + o)]} *
                                 of_x[static_cast<size_t>(pixel * channels + o / at.outputs * at.channels + c)];
          const int64_t in_row = matrix ? tap * at.channels + c : c * p.taps() + tap;
          Products& sum = sums[static_cast<size_t>(o * at.channels * p.taps() + in_row)];
          sum.sum += product, sum.abs_sum += std::abs(product);
          if (std::abs(product) > std::abs(sum.largest)) sum.largest = product;
        }
    }
  return sums;
}

struct Operands {
  Tensor d, x;
};
Operands operands_of(const Case& at, DType dtype, Philox& rng) {
  const PlaneWindow& p = at.plane;
  return {random_tensor(dtype, {at.images, p.out_height, p.out_width, at.groups * at.outputs}, rng),
          random_tensor(dtype, {at.images, p.height, p.width, at.groups * at.channels}, rng)};
}

// Sum and join, from operands beside which nothing can be read.
std::vector<float> run(const Case& at, bool matrix, DType dtype, const X86Target& target, const Operands& operands,
                       AtTheEdge::Side side = AtTheEdge::Side::end, int64_t chunk = 0) {
  ConvWeightGradientArgs args;
  X86ConvWeightGradientPlan plan = plan_of(at, matrix, dtype, args);
  AtTheEdge d(operands.d.data().bytes(), side), x(operands.x.data().bytes(), side);
  const int64_t most = most_parts(plan, target);
  Guarded out(static_cast<size_t>(plan.elements()) * 4), parts(static_cast<size_t>(plan.elements() * most) * 4);
  args.d = d.data(), args.x = x.data(), args.parts = most > 1 ? parts.data() : nullptr, args.dw = out.data();
  CompiledPlan(plan, target).run(args, chunk);
  plan.task = X86ConvWeightGradientPlan::Task::join;
  if (most > 1) CompiledPlan(plan, target).run(args, chunk ? 7 : 0);
  EXPECT_TRUE(out.intact() && parts.intact());
  return {out.as<float>().begin(), out.as<float>().end()};
}

// Each product is added once to a block's sum, that to the item's, and that to those of other parts.
int64_t additions(const Case& at) { return at.images * at.plane.out_height * at.plane.out_width; }

TEST(ConvWeightGradient, SumsStayWithinTheBoundAndTheirMemory) {
  Philox rng(1);
  for (const X86Target& target : target_levels())
    for (const Case& at : all_cases())
      for (bool matrix : {false, true}) {
        const DType dtype = at.channels % 2 || matrix ? DType::f32 : DType::bf16;
        const Operands operands = operands_of(at, dtype, rng);
        const std::vector<Products> want = reference(at, matrix, operands.d, operands.x);
        for (auto side : {AtTheEdge::Side::end, AtTheEdge::Side::start})
          ASSERT_EQ(first_fault(run(at, matrix, dtype, target, operands, side), want, additions(at)), "")
              << at.name() << " " << to_string(target);
      }
}

TEST(ConvWeightGradient, AnySplitOfTheItemsGivesTheSameBits) {
  Philox rng(2);
  for (const Case& at : all_cases()) {
    const Operands operands = operands_of(at, DType::f32, rng);
    const auto whole = run(at, false, DType::f32, host_target(), operands);
    EXPECT_EQ(run(at, false, DType::f32, host_target(), operands, AtTheEdge::Side::end, 1), whole) << at.name();
  }
}

TEST(ConvWeightGradient, ADroppedProductIsOutsideTheBound) {
  Philox rng(3);
  const Case at{1, square(6, 6, 3, 1, 1), 1, 8, 16};
  const Operands operands = operands_of(at, DType::f32, rng);
  std::vector<Products> want = reference(at, false, operands.d, operands.x);
  const auto got = run(at, false, DType::f32, host_target(), operands);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_GT(std::abs(got[i] - (want[i].sum - want[i].largest)), products_bound(want[i], additions(at))) << i;
}

TEST(ConvWeightGradient, ManyPlacesFallIntoPartsWhereThereAreFewBlocksOfOutputs) {
  ConvWeightGradientArgs args;
  const Case few{64, square(28, 28, 3, 1, 1), 1, 64, 64}, many{64, square(4, 4, 3, 1, 1), 1, 512, 512};
  X86ConvWeightGradientPlan plan = plan_of(few, false, DType::f32, args);
  EXPECT_EQ(place_blocks(plan, host_target(), args).parts, 16);
  plan = plan_of(many, false, DType::f32, args);
  EXPECT_EQ(most_parts(plan, host_target()), 1);
}

}  // namespace
}  // namespace hone

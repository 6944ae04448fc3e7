// Convolution kernels against double, on every level that this CPU has.
#include <gtest/gtest.h>

#include <bit>
#include <optional>

#include "base/multiples.h"
#include "device/x86/conv/shape.h"
#include "device/x86/conv/winograd_shape.h"
#include "tests/device/x86/conv_run.h"
#include "tests/device/x86/test_targets.h"

namespace hone::test {
namespace {

const ConvCase kCases[] = {
    {.height = 1, .width = 1},
    {.height = 7, .width = 7, .channels = 16, .outputs = 17},
    {.images = 2, .height = 5, .width = 17, .channels = 3, .outputs = 33},
    {.height = 23,
     .width = 29,
     .channels = 3,
     .outputs = 16,
     .kernel_height = 7,
     .kernel_width = 7,
     .stride_y = 2,
     .stride_x = 2,
     .top = 3,
     .left = 3,
     .bottom = 3,
     .right = 3},
    {.height = 13,
     .width = 11,
     .channels = 5,
     .outputs = 7,
     .dilation_y = 2,
     .dilation_x = 3,
     .top = 2,
     .left = 3,
     .bottom = 2,
     .right = 3},
    {.images = 3, .height = 4, .width = 3, .channels = 2, .outputs = 50},
    {.height = 9, .width = 2, .channels = 64, .outputs = 48, .stride_y = 2},
    {.height = 8, .width = 19, .channels = 4, .outputs = 6, .groups = 3},
    {.height = 6, .width = 6, .channels = 1, .outputs = 1, .groups = 5, .stride_x = 2},
    {.height = 1,
     .width = 41,
     .channels = 7,
     .outputs = 20,
     .kernel_height = 1,
     .kernel_width = 5,
     .top = 0,
     .left = 4,
     .bottom = 0,
     .right = 0},
    {.height = 14, .width = 14, .channels = 8, .outputs = 40, .top = 0, .left = 0, .bottom = 0, .right = 0},
    {.height = 15,
     .width = 15,
     .channels = 32,
     .outputs = 31,
     .kernel_height = 1,
     .kernel_width = 1,
     .stride_y = 2,
     .stride_x = 2,
     .top = 0,
     .left = 0,
     .bottom = 0,
     .right = 0},
    {.height = 3,
     .width = 3,
     .channels = 2,
     .outputs = 2,
     .kernel_height = 2,
     .kernel_width = 2,
     .top = 4,
     .left = 5,
     .bottom = 3,
     .right = 6},
    {.height = 5, .width = 31, .channels = 1024, .outputs = 5},
    {.images = 2, .height = 7, .width = 7, .channels = 64, .outputs = 40},
    {.height = 14, .width = 14, .channels = 32, .outputs = 33, .stride_y = 2},
    {.height = 6, .width = 41, .channels = 32, .outputs = 48, .dilation_y = 2, .dilation_x = 3},
    {.height = 5, .width = 33, .channels = 32, .outputs = 20, .groups = 2},
    {.height = 37, .width = 40, .channels = 150, .outputs = 3},
};

TEST(Conv, OddShapesStayWithinTheBoundAndTheirMemory) {
  Philox rng(1);
  for (const ConvCase& c : kCases)
    for (DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = random_tensor(dtype, x_shape(c), rng), w = random_tensor(dtype, w_shape(c), rng);
      const X86ConvPlan plan = plan_of(c, dtype, dtype);
      const std::vector<Products> want = reference(plan, c.images, x, w);
      for (const X86Target& target : test_targets()) {
        const ConvResult got = run(plan, target, c.images, x, w);
        ASSERT_EQ(first_fault(got.values, want, plan.product.k), "")
            << name_of(target) << " " << hone::to_string(dtype) << " " << to_string(c);
        ASSERT_TRUE(got.intact) << to_string(c);
      }
    }
}

TEST(Conv, SmallIntegersAreExactHoweverItemsAreHandedOut) {
  Philox rng(2);
  for (const ConvCase& c : kCases) {
    const Tensor x = small_integers(DType::f32, x_shape(c), rng), w = small_integers(DType::f32, w_shape(c), rng);
    const X86ConvPlan plan = plan_of(c, DType::f32, DType::f32);
    const std::vector<Products> want = reference(plan, c.images, x, w);
    for (const X86Target& target : test_targets())
      for (int64_t chunk : {0, 1, 3}) {
        const ConvResult got = run(plan, target, c.images, x, w, chunk);
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_EQ(got.values[i], want[i].sum) << name_of(target) << " output " << i << " of " << to_string(c);
      }
  }
}

TEST(Conv, PackedWeightsOfEveryKindOfScale) {
  Philox rng(3);
  for (const char* format : {"mxint8", "mxint4", "mxfp4", "int4.g32", "int8.channel", "int12.g16", "uint4.g32.asym",
                             "uint8.g8.asym", "bfp8.g4x8", "mxfp6_e2m3", "int8.ax0.g5", "bfp8.g3x4"})
    for (const ConvCase& c : {kCases[1], kCases[2], kCases[7]}) {
      const Tensor x = random_tensor(DType::bf16, x_shape(c), rng);
      const Tensor w = pack(parse_format(format), random_tensor(DType::f32, w_shape(c), rng));
      X86ConvPlan plan = plan_of(c, DType::bf16, DType::f32);
      plan.product.w_format = hone::to_string(*w.format());
      const std::vector<Products> want = reference(plan, c.images, x, unpack(w));
      for (const X86Target& target : test_targets())
        ASSERT_EQ(first_fault(run(plan, target, c.images, x, w).values, want, plan.product.k), "")
            << format << " " << name_of(target) << " " << to_string(c);
    }
}

// A pixel that is not finite is seen by the windows over it alone.
// 252 weights of 32 outputs take 32,256 bytes, which a matrix product would decode in blocks, adding up their sums.
TEST(Conv, PackedWeightsThatFillThePanelInScratchAreWholeSums) {
  Philox rng(4);
  const ConvCase c{.images = 2, .height = 5, .width = 6, .channels = 28, .outputs = 32};
  const Tensor x = random_tensor(DType::f32, x_shape(c), rng);
  for (const char* format : {"int8.channel", "mxint4"}) {
    const Tensor w = pack(parse_format(format), random_tensor(DType::f32, w_shape(c), rng));
    X86ConvPlan plan = plan_of(c, DType::f32, DType::f32);
    plan.product.w_format = hone::to_string(*w.format());
    const std::vector<Products> want = reference(plan, c.images, x, unpack(w));
    for (const X86Target& target : test_targets())
      ASSERT_EQ(first_fault(run(plan, target, c.images, x, w).values, want, plan.product.k), "")
          << format << " " << name_of(target);
  }
}

TEST(Conv, NaNStaysUnderItsWindows) {
  Philox rng(4);
  const ConvCase c{.height = 5, .width = 9, .channels = 3, .outputs = 4, .stride_x = 2};
  for (DType dtype : {DType::f32, DType::bf16}) {
    std::vector<float> values(5 * 9 * 3, 1.0f);
    values[(2 * 9 + 4) * 3] = std::nanf("");
    const Tensor x = Tensor::from_floats(dtype, x_shape(c), values), w = random_tensor(dtype, w_shape(c), rng);
    const X86ConvPlan plan = plan_of(c, dtype, dtype);
    const std::vector<Products> want = reference(plan, 1, x, w);
    for (const X86Target& target : test_targets()) {
      const ConvResult got = run(plan, target, 1, x, w);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(std::isnan(got.values[i]), std::isnan(want[i].sum)) << name_of(target) << " output " << i;
    }
  }
}

TEST(Conv, ADroppedProductIsOutsideTheBound) {
  Philox rng(5);
  const ConvCase& c = kCases[1];
  const Tensor x = random_tensor(DType::f32, x_shape(c), rng), w = random_tensor(DType::f32, w_shape(c), rng);
  const X86ConvPlan plan = plan_of(c, DType::f32, DType::f32);
  std::vector<Products> want = reference(plan, 1, x, w);
  const ConvResult got = run(plan, host_target(), 1, x, w);
  Products& one = want[rng.below(static_cast<uint32_t>(want.size()))];
  one.sum -= one.largest;
  EXPECT_NE(first_fault(got.values, want, plan.product.k), "");
}

// |y - fl(y)| for Winograd's algorithm, from the very elements under a piece: the magnitudes that are summed,
// |A| [sum over channels of (|G| |g| |G|) (|B| |d| |B|)] |A|, times a rounding for each addition on the way.
double winograd_bound(const Winograd& w, const std::vector<double>& d, const std::vector<double>& g, int64_t channels,
                      int64_t row, int64_t column, DType dtype) {
  const auto side = static_cast<size_t>(w.side());
  std::vector<double> products(side * side, 0);
  const auto transformed = [&](const Matrix& m, const double* x, size_t from, size_t i, size_t j) {
    double sum = 0;
    for (size_t a = 0; a < from; ++a)
      for (size_t b = 0; b < from; ++b) sum += std::abs(m[i][a] * x[a * from + b] * m[j][b]);
    return sum;
  };
  for (int64_t c = 0; c < channels; ++c)
    for (size_t i = 0; i < side; ++i)
      for (size_t j = 0; j < side; ++j)
        products[i * side + j] += transformed(w.data, d.data() + static_cast<size_t>(c) * side * side, side, i, j) *
                                  transformed(w.weights, g.data() + c * 9, 3, i, j);
  const double all =
      transformed(w.result, products.data(), side, static_cast<size_t>(row), static_cast<size_t>(column));
  // Each transform adds up to `side` terms in each direction, the product one per channel; weights are rounded once,
  // and both operands of bf16 products.
  return all * (static_cast<double>(channels + 4 * static_cast<int64_t>(side) + 8) * 2 * kEpsF32 +
                (dtype == DType::bf16 ? 2 * kEpsBf16 + kEpsBf16 * kEpsBf16 : 0));
}

TEST(Winograd, StaysWithinTheBoundOfItsOwnSums) {
  Philox rng(6);
  constexpr auto kPiece2 = X86ConvPlan::Method::winograd2, kPiece4 = X86ConvPlan::Method::winograd4;
  for (auto [dtype, method] : {std::pair{DType::f32, kPiece2}, {DType::f32, kPiece4}, {DType::bf16, kPiece2}})
    for (const ConvCase& c :
         {ConvCase{.images = 2, .height = 7, .width = 9, .channels = 17, .outputs = 33},
          ConvCase{.height = 1, .width = 1, .channels = 2, .outputs = 3},
          ConvCase{
              .height = 4, .width = 21, .channels = 16, .outputs = 16, .top = 0, .left = 2, .bottom = 2, .right = 0},
          ConvCase{.images = 3, .height = 13, .width = 12, .channels = 5, .outputs = 50}}) {
      X86ConvPlan plan = plan_of(c, dtype, dtype);
      plan.method = method;
      const Tensor x = random_tensor(dtype, x_shape(c), rng), w = random_tensor(dtype, w_shape(c), rng);
      const std::vector<Products> want = reference(plan, c.images, x, w);
      const Winograd& algorithm = winograd(method == X86ConvPlan::Method::winograd2 ? 2 : 4);
      const std::vector<float> in = x.to_floats(), weights = w.to_floats();
      const PlaneWindow& p = plan.window;
      for (const X86Target& target : test_targets()) {
        const ConvResult got = run(plan, target, c.images, x, w, 1);
        ASSERT_TRUE(got.intact);
        ASSERT_EQ(got.values, run(plan, target, c.images, x, w).values);
        for (size_t i = 0; i < want.size(); ++i) {
          const int64_t o = static_cast<int64_t>(i) % c.outputs, at = static_cast<int64_t>(i) / c.outputs;
          const int64_t image = at / (p.out_height * p.out_width), y = at / p.out_width % p.out_height,
                        column = at % p.out_width, m = algorithm.piece, side = algorithm.side();
          std::vector<double> d, g;
          for (int64_t channel = 0; channel < c.channels; ++channel) {
            for (int64_t a = 0; a < side * side; ++a) {
              const int64_t iy = y / m * m - p.pad_top + a / side, ix = column / m * m - p.pad_left + a % side;
              const bool inside = iy >= 0 && iy < p.height && ix >= 0 && ix < p.width;
              d.push_back(inside
                              ? in[static_cast<size_t>(((image * p.height + iy) * p.width + ix) * c.channels + channel)]
                              : 0);
            }
            for (int64_t tap = 0; tap < 9; ++tap)
              g.push_back(weights[static_cast<size_t>((o * 9 + tap) * c.channels + channel)]);
          }
          const double bound = winograd_bound(algorithm, d, g, c.channels, y % m, column % m, dtype);
          ASSERT_LE(std::abs(got.values[i] - want[i].sum), bound)
              << name_of(target) << " output " << i << " of " << to_string(c);
        }
      }
    }
}

// Weights [O,I,h,w] are put in the order of the matrix when they are laid out.
TEST(Conv, WeightsMayLieAsWindows) {
  Philox rng(8);
  const ConvCase c{.height = 9, .width = 10, .channels = 19, .outputs = 21};
  for (DType dtype : {DType::f32, DType::bf16})
    for (X86ConvPlan::Method method : {X86ConvPlan::Method::direct, X86ConvPlan::Method::winograd2}) {
      X86ConvPlan plan = plan_of(c, dtype, dtype);
      plan.method = method;
      const Tensor x = random_tensor(dtype, x_shape(c), rng);
      const Tensor windows = random_tensor(dtype, {c.outputs, c.channels, 3, 3}, rng);
      const std::vector<float> from = windows.to_floats();
      std::vector<float> matrix;
      for (int64_t o = 0; o < c.outputs; ++o)
        for (int64_t tap = 0; tap < 9; ++tap)
          for (int64_t i = 0; i < c.channels; ++i)
            matrix.push_back(from[static_cast<size_t>((o * c.channels + i) * 9 + tap)]);
      EXPECT_EQ(run(plan, host_target(), 1, x, windows).values,
                run(plan, host_target(), 1, x, Tensor::from_floats(dtype, w_shape(c), matrix)).values);
    }
}

TEST(Winograd, ADroppedProductIsOutsideTheBound) {
  Philox rng(7);
  const ConvCase c{.height = 4, .width = 4, .channels = 16, .outputs = 16};
  X86ConvPlan plan = plan_of(c, DType::f32, DType::f32);
  plan.method = X86ConvPlan::Method::winograd4;
  const Tensor x = random_tensor(DType::f32, x_shape(c), rng), w = random_tensor(DType::f32, w_shape(c), rng);
  const std::vector<Products> want = reference(plan, 1, x, w);
  const ConvResult got = run(plan, host_target(), 1, x, w);
  double largest_error = 0, smallest_loss = 1e300;
  for (size_t i = 0; i < want.size(); ++i) {
    largest_error = std::max(largest_error, std::abs(got.values[i] - want[i].sum));
    smallest_loss = std::min(smallest_loss, std::abs(want[i].largest));
  }
  EXPECT_LT(largest_error * 1000, smallest_loss);
}

TEST(Winograd, TheRuleTakesItWhereItSavesMostAndNeverForOtherWindows) {
  const ConvCase wide{.height = 56, .width = 56, .channels = 64, .outputs = 64};
  const X86ConvPlan plan = plan_of(wide, DType::f32, DType::f32);
  for (const X86Target& target : test_targets())
    EXPECT_EQ(choose_method(plan, target, 1).method, X86ConvPlan::Method::winograd4);
  EXPECT_EQ(choose_method(plan, host_target(), 1, true).method, X86ConvPlan::Method::direct) << "exact";
  EXPECT_EQ(choose_method(plan, host_target(), 1, true).refused.size(), 2u);
  ConvCase strided = wide;
  strided.stride_x = 2;
  EXPECT_EQ(choose_method(plan_of(strided, DType::f32, DType::f32), host_target(), 1).method,
            X86ConvPlan::Method::direct);
  EXPECT_NE(choose_method(plan_of(wide, DType::bf16, DType::bf16), host_target(), 1).method,
            X86ConvPlan::Method::winograd4);
  const ConvCase narrow{.height = 56, .width = 56, .channels = 1, .outputs = 1};
  EXPECT_EQ(choose_method(plan_of(narrow, DType::f32, DType::f32), host_target(), 1).method,
            X86ConvPlan::Method::direct);
}

// The results of one general kernel for `planes` of the case, each against code for that plane alone.
void expect_bits_of_own_code(const ConvCase& c, std::span<const ConvCase> planes, const X86ConvPlan& like,
                             Philox& rng) {
  const DType a = like.product.a;
  Tensor w = random_tensor(like.product.w_format.empty() ? like.product.w : DType::f32, w_shape(c), rng);
  if (!like.product.w_format.empty()) w = pack(parse_format(like.product.w_format), w);
  for (const X86Target& target : test_targets()) {
    std::optional<CompiledPlan> general;
    std::string text;
    for (const ConvCase& plane : planes) {
      X86ConvPlan own = plan_of(plane, a, like.product.w);
      own.method = like.method, own.product.w_format = like.product.w_format, own.leaves_plane = like.leaves_plane;
      own = for_target(own, target);
      ConvArgs args;
      X86ConvPlan any = own;
      for_any_plane(any, args.window);
      if (!general) general.emplace(any, target), text = KernelPlan(any).text();
      ASSERT_EQ(KernelPlan(any).text(), text) << to_string(plane);
      ASSERT_EQ(prepack_key(any, target), prepack_key(own, target)) << to_string(plane);
      ASSERT_EQ(prepacked_bytes(any, target), prepacked_bytes(own, target)) << to_string(plane);
      const Tensor x = random_tensor(a, x_shape(plane), rng);
      const ConvResult want = run(own, target, plane.images, x, w);
      for (int64_t chunk : {0, 3}) {
        const ConvResult got = run(*general, any, own.window, args, target, plane.images, x, w, chunk);
        ASSERT_EQ(std::memcmp(got.values.data(), want.values.data(), want.values.size() * sizeof(float)), 0)
            << name_of(target) << " " << hone::to_string(a) << " " << to_string(plane);
        ASSERT_TRUE(got.intact) << name_of(target) << " " << to_string(plane);
      }
    }
  }
}

// Tiny, odd and wide ones; places of every width that the strips of a tile fall into differently.
std::vector<ConvCase> planes_of(ConvCase c) {
  std::vector<ConvCase> planes;
  const int64_t reach_y = (c.kernel_height - 1) * c.dilation_y + 1 - c.top - c.bottom,
                reach_x = (c.kernel_width - 1) * c.dilation_x + 1 - c.left - c.right;
  for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1},
                               {1, 2},
                               {2, 1},
                               {5, 1},
                               {17, 1},
                               {3, 2},
                               {9, 2},
                               {1, 3},
                               {7, 3},
                               {4, 4},
                               {11, 4},
                               {3, 5},
                               {5, 6},
                               {2, 7},
                               {6, 8},
                               {13, 9},
                               {3, 17},
                               {29, 23},
                               {2, 66}}) {
    c.height = (height - 1) * c.stride_y + std::max<int64_t>(1, reach_y),
    c.width = (width - 1) * c.stride_x + std::max<int64_t>(1, reach_x);
    c.images = 1 + width % 2;
    planes.push_back(c);
  }
  return planes;
}

TEST(ConvOfAnyPlane, HasTheBitsOfCodeForEachPlane) {
  Philox rng(11);
  for (ConvCase c :
       {ConvCase{.channels = 3, .outputs = 16},
        {.channels = 16, .outputs = 33, .stride_y = 2, .stride_x = 2},
        {.channels = 5, .outputs = 48, .dilation_y = 2, .dilation_x = 3, .top = 2, .left = 3, .bottom = 0, .right = 1},
        {.channels = 7,
        .outputs = 20,
        .kernel_height = 1,
        .kernel_width = 5,
        .top = 0,
        .left = 4,
        .bottom = 0,
        .right = 0},
        {.channels = 4, .outputs = 6, .groups = 3},
        {.channels = 4, .outputs = 6, .groups = 3, .top = 0, .left = 0, .bottom = 0, .right = 0},
        {.channels = 8,
        .outputs = 40,
        .kernel_height = 1,
        .kernel_width = 1,
        .stride_x = 2,
        .top = 0,
        .left = 0,
        .bottom = 0,
        .right = 0},
        {.channels = 32, .outputs = 40},
        {.channels = 512,
        .outputs = 5,
        .kernel_height = 2,
        .kernel_width = 2,
        .stride_x = 2,
        .top = 4,
        .left = 5,
        .bottom = 3,
        .right = 6}}) {
    const std::vector<ConvCase> planes = planes_of(c);
    for (DType dtype : {DType::f32, DType::bf16}) {
      X86ConvPlan like = plan_of(c, dtype, dtype);
      like.leaves_plane = c.top + c.left + c.bottom + c.right > 0;
      expect_bits_of_own_code(c, planes, like, rng);
    }
  }
}

// Zeros outside the plane meet a weight that is not finite in both or in neither.
TEST(ConvOfAnyPlane, WeightsThatAreNotFinite) {
  Philox rng(14);
  const ConvCase c{.channels = 2, .outputs = 16};
  for (const ConvCase& plane : planes_of(c)) {
    std::vector<float> weights(static_cast<size_t>(16 * 9 * 2), 1.0f);
    weights[0] = INFINITY;
    const Tensor w = Tensor::from_floats(DType::f32, w_shape(c), weights);
    const Tensor x = random_tensor(DType::f32, x_shape(plane), rng);
    X86ConvPlan own = plan_of(plane, DType::f32, DType::f32), any = own;
    ConvArgs args;
    for_any_plane(any, args.window);
    CompiledPlan general(any, host_target());
    const auto want = run(own, host_target(), plane.images, x, w).values,
               got = run(general, any, own.window, args, host_target(), plane.images, x, w).values;
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << to_string(plane) << " " << i;
  }
}

// A tile that is missing would be a jump to nowhere.
TEST(ConvOfAnyPlane, HasATileForEveryStripOfEveryPlane) {
  for (const X86Target& target : test_targets())
    for (int64_t outputs : {16, 32, 48})
      for (int shrink : {0, 1, 3}) {
        X86ConvPlan any = plan_of({.outputs = outputs}, DType::f32, DType::f32);
        WindowSizes sizes;
        for_any_plane(any, sizes);
        const int most = conv_shape(any, target, shrink).gemm.rows;
        const std::set<ConvTile> tiles = tiles_of_any_plane(any, target, shrink);
        for (int64_t width = 1; width < 200; ++width)
          for (int64_t height : {1, 2, 3, 4, 5, 6, 7, 8, 13, 31, 64}) {
            const X86ConvPlan own =
                plan_of({.height = height, .width = width, .outputs = outputs}, DType::f32, DType::f32);
            const ConvShape s = conv_shape(own, target, shrink);
            for (int64_t rows : {s.strip_height, height % s.strip_height}) {
              if (rows == 0) continue;
              const Strips strips = strips_of(rows * width, most);
              EXPECT_TRUE(tiles.contains({static_cast<int>(strips.height), s.gemm.chains})) << height << "x" << width;
              EXPECT_TRUE(strips.taller == 0 || tiles.contains({static_cast<int>(strips.height + 1), s.gemm.chains}))
                  << height << "x" << width;
            }
          }
      }
}

TEST(ConvOfAnyPlane, PackedWeights) {
  Philox rng(12);
  const ConvCase c{.channels = 6, .outputs = 19};
  for (const char* format : {"mxint8", "int4.g32", "uint8.g8.asym", "bfp8.g3x4"}) {
    X86ConvPlan like = plan_of(c, DType::bf16, DType::f32);
    like.product.w_format = hone::to_string(parse_format(format));
    like.leaves_plane = true;
    const std::vector<ConvCase> planes = planes_of(c);
    expect_bits_of_own_code(c, std::span(planes).subspan(9, 5), like, rng);
  }
}

TEST(ConvOfAnyPlane, PiecesOfWinograd) {
  Philox rng(13);
  constexpr auto kPiece2 = X86ConvPlan::Method::winograd2, kPiece4 = X86ConvPlan::Method::winograd4;
  const ConvCase c{.channels = 17, .outputs = 33, .bottom = 2, .right = 0};
  for (auto [dtype, method] : {std::pair{DType::f32, kPiece2}, {DType::f32, kPiece4}, {DType::bf16, kPiece2}}) {
    X86ConvPlan like = plan_of(c, dtype, dtype);
    like.method = method, like.leaves_plane = true;
    expect_bits_of_own_code(c, planes_of(c), like, rng);
  }
}

// Codes of four channels and more: sums of i32 are exact, whatever multiplies them, with padding, strides and groups.
TEST(Conv, ProductsOfCodesAreExact) {
  Philox rng(41);
  std::vector<X86Target> targets = test_targets();
  for (const X86Target& level : target_levels())
    targets.push_back(X86Target(level.features().with(Feature::vnni_emulated)));
  const auto codes = [&](DType dtype, const std::vector<int64_t>& shape) {
    std::vector<int64_t> values(static_cast<size_t>(element_count(shape)));
    for (int64_t& v : values) v = int64_t{rng.below(256)} - (dtype == DType::i8 ? 128 : 0);
    return Tensor::of<int64_t>(shape, values).converted(dtype);
  };
  for (const X86Target& target : targets)
    for (DType dtype : {DType::i8, DType::u8})
      for (ConvCase c : kCases) {
        c.channels = round_up(c.channels, 4);
        X86ConvPlan plan = plan_of(c, dtype, DType::i8);
        plan.product.program = flatten(Expr::arg(0, Scalar::i32));
        plan.product.results = {DType::i32};
        ASSERT_TRUE(supports(plan, target).supported());
        const Tensor x = codes(dtype, x_shape(c)), w = codes(DType::i8, w_shape(c));
        const ConvResult got = run(plan, target, c.images, x, w, 2);
        const std::vector<Products> want = reference(plan, c.images, x, w);
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_EQ(std::bit_cast<int32_t>(got.values[i]), static_cast<int32_t>(want[i].sum))
              << name_of(target) << " " << to_string(dtype) << " " << to_string(c) << " output " << i;
        ASSERT_TRUE(got.intact) << to_string(c);
      }
  X86ConvPlan odd = plan_of({.height = 5, .width = 5, .channels = 6, .outputs = 8}, DType::i8, DType::i8);
  EXPECT_FALSE(supports(odd, targets[0]).supported()) << "lanes hold four codes of one pixel";
}

// A code that stands outside the plane, as if x had been padded with it, in runs of every length.
TEST(Conv, ACodeStandsOutsideThePlane) {
  Philox rng(42);
  std::vector<X86Target> targets = test_targets();
  targets.push_back(X86Target(target_levels().back().features().with(Feature::vnni_emulated)));
  const ConvCase cases[] = {
      {.height = 9, .width = 7, .channels = 16, .outputs = 20},
      {.images = 2, .height = 6, .width = 21, .channels = 12, .outputs = 33, .stride_x = 2, .left = 2},
      {.height = 5, .width = 40, .channels = 64, .outputs = 16, .stride_y = 2, .dilation_x = 2, .right = 3},
      {.height = 7, .width = 7, .channels = 8, .outputs = 8, .groups = 2}};
  for (const X86Target& target : targets)
    for (DType dtype : {DType::i8, DType::u8})
      for (const ConvCase& c : cases) {
        X86ConvPlan plan = plan_of(c, dtype, DType::i8);
        plan.product.program = flatten(Expr::arg(0, Scalar::i32));
        plan.product.results = {DType::i32};
        plan.has_x_zero = true;
        std::byte code{0x85};
        const int64_t as_number = dtype == DType::i8 ? 0x85 - 256 : 0x85;
        ConvCase around = c;
        around.height += c.top + c.bottom, around.width += c.left + c.right;
        around.top = around.left = around.bottom = around.right = 0;
        const int64_t channels = c.groups * c.channels;
        std::vector<int64_t> x(static_cast<size_t>(element_count(x_shape(c)))),
            padded(static_cast<size_t>(element_count(x_shape(around))), as_number),
            weights(static_cast<size_t>(element_count(w_shape(c))));
        for (int64_t& v : x) v = int64_t{rng.below(256)} - (dtype == DType::i8 ? 128 : 0);
        for (int64_t& v : weights) v = int64_t{rng.below(256)} - 128;
        for (int64_t row = 0; row < c.images * c.height; ++row)
          std::copy_n(
              x.begin() + row * c.width * channels, c.width * channels,
              padded.begin() +
                  ((row / c.height * around.height + c.top + row % c.height) * around.width + c.left) * channels);
        const Tensor w = Tensor::of<int64_t>(w_shape(c), weights).converted(DType::i8);
        const X86ConvPlan chosen = for_target(plan, target);
        CompiledPlan kernel(chosen, target);
        const ConvArgs args{.epilogue = {nullptr, &code}};
        const ConvResult got = run(kernel, chosen, plan.window, args, target, c.images,
                                   Tensor::of<int64_t>(x_shape(c), x).converted(dtype), w);
        const std::vector<Products> want = reference(plan_of(around, dtype, DType::i8), c.images,
                                                     Tensor::of<int64_t>(x_shape(around), padded).converted(dtype), w);
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_EQ(std::bit_cast<int32_t>(got.values[i]), static_cast<int32_t>(want[i].sum))
              << name_of(target) << " " << to_string(dtype) << " " << to_string(c) << " output " << i;
      }
}

TEST(Conv, RunsAreSpreadForTilesWhereThatPays) {
  const X86Target target = with_emulated_tiles(target_levels().back());
  const auto shape = [&](const ConvCase& c, DType a) {
    X86ConvPlan plan = for_target(plan_of(c, a, a == DType::bf16 ? a : DType::i8), target);
    const ConvShape s = conv_shape(plan, target);
    EXPECT_EQ(s.gemm.tiles(), plan.by_tiles);
    return s;
  };
  const ConvCase stem{
      .height = 32, .width = 32, .channels = 3, .outputs = 64, .kernel_height = 7, .kernel_width = 7, .stride_x = 2};
  EXPECT_TRUE(shape(stem, DType::bf16).spreads);
  EXPECT_EQ(shape(stem, DType::bf16).gemm.k, 7 * 32);
  EXPECT_EQ(shape(stem, DType::bf16).across_bytes, 64);
  EXPECT_TRUE(shape({.height = 9, .width = 9, .channels = 24, .outputs = 8}, DType::bf16).spreads);
  EXPECT_TRUE(shape({.height = 9, .width = 9, .channels = 16, .outputs = 8}, DType::u8).spreads);
  for (DType a : {DType::bf16, DType::u8}) {
    const ConvShape whole = shape({.height = 9, .width = 9, .channels = 64, .outputs = 8}, a);
    EXPECT_TRUE(whole.gemm.tiles() && !whole.spreads);
    EXPECT_FALSE(shape({.height = 9, .width = 9, .channels = 20, .outputs = 8, .dilation_x = 2}, a).gemm.tiles())
        << "taps that lie apart";
  }
  EXPECT_FALSE(shape({.height = 9, .width = 9, .channels = 1, .outputs = 8}, DType::bf16).gemm.tiles())
      << "3 of 32 elements";
  EXPECT_FALSE(shape({.height = 9, .width = 9, .channels = 4, .outputs = 8, .kernel_width = 1}, DType::u8).gemm.tiles())
      << "4 of 64";
}

}  // namespace
}  // namespace hone::test

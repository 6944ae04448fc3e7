// Window kernels against the same windows in double.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "device/x86/reduce_window/prepack.h"
#include "tests/device/x86/at_the_edge.h"
#include "tests/device/x86/gemm_run.h"

namespace hone {
namespace {

using namespace test;
using Reduction = ReduceWindowPlan::Reduction;

struct Places {
  int64_t images;
  PlaneWindow plane;
};

int64_t places(int64_t extent, int64_t taps, int64_t stride, int64_t dilation, int64_t pads) {
  return (extent + pads - dilation * (taps - 1) - 1) / stride + 1;
}

// A square window with `pad` on all sides; one more below and right where the stride leaves a rest.
Places square(int64_t images, int64_t height, int64_t width, int64_t taps, int64_t stride, int64_t pad,
              int64_t dilation = 1) {
  return {images,
          {.height = height,
           .width = width,
           .out_height = places(height, taps, stride, dilation, 2 * pad),
           .out_width = places(width, taps, stride, dilation, 2 * pad),
           .kernel_height = taps,
           .kernel_width = taps,
           .stride_y = stride,
           .stride_x = stride,
           .dilation_y = dilation,
           .dilation_x = dilation,
           .pad_top = pad,
           .pad_left = pad}};
}

// Strides and dilations that differ, pads on two sides only, a window higher than the plane.
const Places kUneven{2,
                     {.height = 5,
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
                      .pad_left = 5}};
// A window of more taps than are unrolled, which reaches past both borders.
const Places kWide{1,
                   {.height = 3,
                    .width = 23,
                    .out_height = 2,
                    .out_width = 12,
                    .kernel_height = 2,
                    .kernel_width = 11,
                    .stride_y = 1,
                    .stride_x = 2,
                    .dilation_y = 1,
                    .dilation_x = 2,
                    .pad_top = 0,
                    .pad_left = 9}};
const Places kLine{3, {.width = 131, .kernel_width = 131}};

const Places kAll[] = {square(1, 1, 1, 1, 1, 0),
                       square(2, 7, 7, 3, 1, 1),
                       square(1, 17, 17, 5, 1, 2),
                       square(1, 17, 13, 3, 2, 1),
                       square(1, 11, 29, 5, 2, 2),
                       square(1, 14, 14, 2, 2, 0),
                       square(2, 9, 10, 3, 1, 2, 2),
                       square(1, 5, 5, 7, 1, 3),
                       kUneven,
                       kWide,
                       kLine};
constexpr int64_t kChannels[] = {1, 3, 8, 13, 16, 24, 40, 67, 131};

ReduceWindowPlan window_plan(const Places& at, int64_t channels, DType x, Reduction reduction) {
  ReduceWindowPlan plan;
  plan.plane = at.plane, plan.channels = channels, plan.x = x, plan.reduction = reduction;
  plan.program = flatten(Expr::arg(0, compute_scalar(x)));
  plan.results = {compute_scalar(x) == Scalar::f32 ? DType::f32 : x};
  return plan;
}

// f(element of x, tap) for every tap inside the plane, per result in order.
template <class F>
void each_tap(const Places& at, int64_t channels, F f) {
  const PlaneWindow& p = at.plane;
  int64_t result = 0;
  for (int64_t image = 0; image < at.images; ++image)
    for (int64_t oy = 0; oy < p.out_height; ++oy)
      for (int64_t ox = 0; ox < p.out_width; ++ox)
        for (int64_t c = 0; c < channels; ++c, ++result)
          for (int64_t tap = 0; tap < p.taps(); ++tap) {
            const int64_t y = oy * p.stride_y - p.pad_top + tap / p.kernel_width * p.dilation_y;
            const int64_t x = ox * p.stride_x - p.pad_left + tap % p.kernel_width * p.dilation_x;
            if (y < 0 || y >= p.height || x < 0 || x >= p.width) continue;
            f(static_cast<size_t>(result), static_cast<size_t>(((image * p.height + y) * p.width + x) * channels + c),
              tap, c);
          }
}

int64_t results_of(const Places& at, int64_t channels) {
  return at.images * at.plane.out_height * at.plane.out_width * channels;
}
Tensor plane_tensor(const Places& at, int64_t channels, DType dtype, Philox& rng, bool integers) {
  const std::vector<int64_t> shape{at.images, at.plane.height, at.plane.width, channels};
  return integers ? small_integers(dtype, shape, rng) : random_tensor(dtype, shape, rng);
}

// The first result of a kernel, from an x beside which nothing can be read. For a plan for any plane, `args` have the
// sizes of `at`.
template <class T>
std::vector<T> run(CompiledPlan& kernel, const ReduceWindowPlan& plan, ReduceWindowArgs args, const X86Target& target,
                   const Places& at, const Tensor& x, const Tensor* w = nullptr, int64_t chunk = 0,
                   AtTheEdge::Side side = AtTheEdge::Side::end) {
  const Buffer weights = w ? lay_out(plan, target, *w, 1) : Buffer();
  AtTheEdge in(x.data().bytes(), side);
  Guarded out(static_cast<size_t>(results_of(at, plan.channels)) * sizeof(T));
  args.x = in.data(), args.w = w ? const_cast<std::byte*>(weights.bytes().data()) : nullptr;
  args.epilogue[0] = out.data();
  args.images = at.images;
  kernel.run(args, chunk);
  EXPECT_TRUE(out.intact());
  return {out.as<T>().begin(), out.as<T>().end()};
}

template <class T>
std::vector<T> run(const ReduceWindowPlan& plan, const X86Target& target, const Places& at, const Tensor& x,
                   const Tensor* w = nullptr, int64_t chunk = 0, AtTheEdge::Side side = AtTheEdge::Side::end) {
  CompiledPlan kernel(plan, target);
  return run<T>(kernel, plan, {}, target, at, x, w, chunk, side);
}

std::vector<Products> reference(const Places& at, int64_t channels, const Tensor& x, const Tensor* w) {
  const std::vector<float> values = x.to_floats(), weights = w ? w->to_floats() : std::vector<float>();
  std::vector<Products> sums(static_cast<size_t>(results_of(at, channels)));
  each_tap(at, channels, [&](size_t result, size_t element, int64_t tap, int64_t c) {
    const double factor = w ? weights[static_cast<size_t>(c * at.plane.taps() + tap)] : 1;
    const double product = values[element] * factor;
    Products& p = sums[result];
    p.sum += product, p.abs_sum += std::abs(product);
    if (std::abs(product) > std::abs(p.largest)) p.largest = product;
  });
  return sums;
}

TEST(Window, DepthwiseProductsStayWithinTheBoundAndTheirMemory) {
  Philox rng(1);
  for (const X86Target& target : target_levels())
    for (const Places& at : kAll)
      for (int64_t channels : kChannels) {
        const DType dtype = channels % 2 ? DType::f32 : DType::bf16;
        const Tensor x = plane_tensor(at, channels, dtype, rng, false),
                     w = random_tensor(DType::f32, {channels, at.plane.taps()}, rng);
        const std::vector<Products> want = reference(at, channels, x, &w);
        for (auto side : {AtTheEdge::Side::end, AtTheEdge::Side::start})
          ASSERT_EQ(
              first_fault(run<float>(window_plan(at, channels, dtype, Reduction::products), target, at, x, &w, 0, side),
                          want, at.plane.taps()),
              "")
              << at.plane.to_text() << " channels " << channels << " " << to_string(target);
      }
}

TEST(Window, SmallIntegersAreExact) {
  Philox rng(2);
  for (const X86Target& target : target_levels())
    for (const Places& at : kAll)
      for (int64_t channels : {5, 16, 72}) {
        const Tensor x = plane_tensor(at, channels, DType::bf16, rng, true),
                     w = small_integers(DType::bf16, {channels, at.plane.taps()}, rng);
        const std::vector<Products> want = reference(at, channels, x, &w);
        const auto got = run<float>(window_plan(at, channels, DType::bf16, Reduction::products), target, at, x, &w, 1);
        for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i].sum) << at.plane.to_text() << " " << i;
      }
}

TEST(Window, ADroppedTapIsOutsideTheBound) {
  Philox rng(3);
  const Places at = square(1, 9, 9, 3, 1, 1);
  const Tensor x = plane_tensor(at, 16, DType::f32, rng, false), w = random_tensor(DType::f32, {16, 9}, rng);
  std::vector<Products> want = reference(at, 16, x, &w);
  for (Products& p : want) p.sum -= p.largest;
  const auto got = run<float>(window_plan(at, 16, DType::f32, Reduction::products), host_target(), at, x, &w);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_GT(std::abs(got[i] - want[i].sum), products_bound(want[i], 9)) << i;
}

TEST(Window, SumsOfLongLinesAndAnySplitOfTheItemsGivesTheSameBits) {
  Philox rng(4);
  const Places at{2, {.width = 3001, .kernel_width = 3001}};
  for (const X86Target& target : target_levels())
    for (int64_t channels : {1, 7, 16, 100, 480}) {
      const Tensor x = plane_tensor(at, channels, DType::f32, rng, false);
      const ReduceWindowPlan plan = window_plan(at, channels, DType::f32, Reduction::sum);
      const auto whole = run<float>(plan, target, at, x);
      EXPECT_EQ(first_fault(whole, reference(at, channels, x, nullptr), 3001), "") << channels;
      for (int64_t chunk : {1, 3}) EXPECT_EQ(run<float>(plan, target, at, x, nullptr, chunk), whole);
    }
}

template <class T>
void expect_largest(DType dtype, Reduction reduction) {
  Philox rng(5);
  const auto better = [&](T a, T b) { return reduction == Reduction::max ? a > b : a < b; };
  for (const X86Target& target : target_levels())
    for (const Places& at : kAll)
      for (int64_t channels : {3, 16, 29}) {
        const Tensor x = plane_tensor(at, channels, DType::f32, rng, true).converted(dtype);
        std::vector<T> want(static_cast<size_t>(results_of(at, channels)));
        std::vector<bool> met(want.size());
        each_tap(at, channels, [&](size_t result, size_t element, int64_t, int64_t) {
          const T value = x.as<T>()[element];
          if (!met[result] || better(value, want[result])) want[result] = value;
          met[result] = true;
        });
        const auto got = run<T>(window_plan(at, channels, dtype, reduction), target, at, x);
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_TRUE(!met[i] || got[i] == want[i]) << at.plane.to_text() << " " << i << " " << to_string(dtype);
      }
}

TEST(Window, ExtremesOfEveryElementType) {
  expect_largest<float>(DType::f32, Reduction::max);
  expect_largest<double>(DType::f64, Reduction::min);
  expect_largest<int64_t>(DType::i64, Reduction::max);
  expect_largest<int32_t>(DType::i32, Reduction::min);
}

TEST(Window, BytesAreComparedWithTheirSign) {
  const Places at = square(1, 4, 4, 2, 2, 0);
  std::vector<int8_t> values(4 * 4 * 3, -128);
  values[5 * 3 + 1] = -3;  // row 1, column 1, channel 1
  for (const X86Target& target : target_levels()) {
    ReduceWindowPlan plan = window_plan(at, 3, DType::i8, Reduction::max);
    const auto got = run<int8_t>(plan, target, at, Tensor::of<int8_t>({1, 4, 4, 3}, values));
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i == 1 ? -3 : -128) << i;
    for (int8_t& v : values) v = static_cast<int8_t>(~v);
    plan.x = plan.results[0] = DType::u8;
    plan.program = flatten(Expr::arg(0, compute_scalar(DType::u8)));
    plan.reduction = Reduction::min;
    const auto least = run<int8_t>(plan, target, at, Tensor::of<int8_t>({1, 4, 4, 3}, values));
    for (size_t i = 0; i < least.size(); ++i) EXPECT_EQ(least[i], i == 1 ? 2 : 127) << i;
    for (int8_t& v : values) v = static_cast<int8_t>(~v);
  }
}

TEST(Window, NanWinsAndInfinityIsAValue) {
  const Places at = square(1, 5, 5, 3, 1, 1);
  std::vector<float> values(25 * 20, -INFINITY);
  values[(0 * 5 + 0) * 20 + 2] = NAN;
  for (const X86Target& target : target_levels())
    for (Reduction reduction : {Reduction::max, Reduction::min, Reduction::sum}) {
      const auto got =
          run<float>(window_plan(at, 20, DType::f32, reduction), target, at, Tensor::of<float>({1, 5, 5, 20}, values));
      for (int64_t y = 0; y < 5; ++y)
        for (int64_t x = 0; x < 5; ++x)
          for (int64_t c = 0; c < 20; ++c) {
            const float v = got[static_cast<size_t>((y * 5 + x) * 20 + c)];
            EXPECT_TRUE(c == 2 && y < 2 && x < 2 ? std::isnan(v) : v == -INFINITY) << y << " " << x << " " << c;
          }
    }
}

// mean = r / taps; results: mean + full * row, and scalar * column + index.
TEST(Window, ProgramsReadTapsAndOperandsOfEveryAccess) {
  Philox rng(6);
  for (const X86Target& target : target_levels())
    for (int64_t channels : {5, 16, 40}) {
      const Places at = square(2, 6, 11, 3, 1, 1);
      ReduceWindowPlan plan = window_plan(at, channels, DType::f32, Reduction::sum);
      for (int64_t i = 0; i < 6; ++i) plan.taps_down.push_back(i == 0 || i == 5 ? 2 : 3);
      for (int64_t i = 0; i < 11; ++i) plan.taps_across.push_back(i == 0 || i == 10 ? 2 : 3);
      using Access = Epilogue::Access;
      plan.operands = {{DType::f32, Access::full},
                       {DType::f32, Access::row},
                       {DType::bf16, Access::column},
                       {DType::f32, Access::scalar}};
      std::vector<Expr> a;
      for (int i = 0; i < 6; ++i) a.push_back(Expr::arg(i, Scalar::f32));
      const Expr roots[] = {a[0] / a[1] + a[2] * a[3], a[5] * a[4] + cast(Scalar::f32, Expr::index())};
      plan.program = flatten(roots);
      plan.results = {DType::f32, DType::bf16};
      const int64_t rows = 2 * 6 * 11;
      const Tensor x = plane_tensor(at, channels, DType::f32, rng, true);
      Tensor full = small_integers(DType::f32, {rows, channels}, rng), row = small_integers(DType::f32, {rows}, rng),
             column = small_integers(DType::bf16, {channels}, rng), scalar = Tensor::scalar(2.0f);
      std::vector<double> sums(static_cast<size_t>(rows * channels)), taps(sums.size());
      each_tap(at, channels, [&](size_t result, size_t element, int64_t, int64_t) {
        sums[result] += x.as<float>()[element], taps[result] += 1;
      });
      CompiledPlan kernel(plan, target);
      Guarded first(sums.size() * 4), second(sums.size() * 2, 2);
      const ReduceWindowArgs args{.x = const_cast<std::byte*>(x.data().bytes().data()),
                                  .epilogue = {full.mutable_data(), row.mutable_data(), column.mutable_data(),
                                               scalar.mutable_data(), first.data(), second.data()},
                                  .images = 2};
      kernel.run(args);
      EXPECT_TRUE(first.intact() && second.intact());
      const std::vector<float> columns = column.to_floats();
      for (size_t i = 0; i < sums.size(); ++i) {
        const size_t r = i / static_cast<size_t>(channels), c = i % static_cast<size_t>(channels);
        const double mean = sums[i] / taps[i], product = full.as<float>()[i] * row.as<float>()[r];
        ASSERT_NEAR(first.as<float>()[i], mean + product, 2 * kEpsF32 * (std::abs(mean) + std::abs(mean + product)));
        const auto index = static_cast<float>(i);
        ASSERT_EQ(second.as<uint16_t>()[i],
                  Tensor::from_floats(DType::bf16, {1}, std::array{2 * columns[c] + index}).as<uint16_t>()[0]);
      }
    }
}

TEST(Window, PackedWeightsAreDecodedWhenLaidOut) {
  Philox rng(7);
  const Places at = square(1, 6, 6, 4, 1, 1);
  const Tensor plain = small_integers(DType::f32, {32, 16}, rng), packed = pack(parse_format("mxint8"), plain);
  const Tensor x = plane_tensor(at, 32, DType::f32, rng, true);
  const ReduceWindowPlan plan = window_plan(at, 32, DType::f32, Reduction::products);
  EXPECT_EQ(run<float>(plan, host_target(), at, x, &packed), run<float>(plan, host_target(), at, x, &plain));
}

// Any codes of `dtype`.
Tensor random_codes(DType dtype, std::vector<int64_t> shape, Philox& rng) {
  Tensor codes(dtype, std::move(shape));
  for (int64_t i = 0; i < codes.elements(); ++i) codes.mutable_data()[i] = static_cast<std::byte>(rng.below(256));
  return codes;
}

// Codes [C, taps] beside x, with what lies outside the plane.
std::vector<int32_t> sums_of_codes(const Places& at, int64_t channels, const Tensor& x, const Tensor& w, int64_t zero) {
  const std::vector<int64_t> codes = x.to_integers(), weights = w.to_integers();
  std::vector<int32_t> sums(static_cast<size_t>(results_of(at, channels)));
  for (size_t i = 0; i < sums.size(); ++i)
    for (int64_t tap = 0, c = static_cast<int64_t>(i) % channels; tap < at.plane.taps(); ++tap)
      sums[i] += static_cast<int32_t>(zero * weights[static_cast<size_t>(c * at.plane.taps() + tap)]);
  each_tap(at, channels, [&](size_t result, size_t element, int64_t tap, int64_t c) {
    sums[result] +=
        static_cast<int32_t>((codes[element] - zero) * weights[static_cast<size_t>(c * at.plane.taps() + tap)]);
  });
  return sums;
}

TEST(Window, SumsOfCodesAreExactWhateverLiesOutside) {
  Philox rng(8);
  for (const X86Target& target : target_levels())
    for (const Places& at : {kAll[1], kAll[3], kAll[6], kAll[7], kUneven, kWide, square(1, 20, 18, 16, 1, 8)})
      for (int64_t channels : {1, 13, 24, 67})
        for (DType dtype : {DType::i8, DType::u8})
          for (bool has_zero : {false, true}) {
            ReduceWindowPlan plan = window_plan(at, channels, dtype, Reduction::products);
            plan.program = flatten(Expr::arg(0, Scalar::i32));
            plan.results = {DType::i32};
            plan.has_x_zero = has_zero;
            Tensor x = random_codes(dtype, {at.images, at.plane.height, at.plane.width, channels}, rng);
            const Tensor w = random_codes(DType::i8, {channels, at.plane.taps()}, rng),
                         zero = random_codes(dtype, {}, rng);
            const std::vector<int32_t> want = sums_of_codes(at, channels, x, w, has_zero ? zero.to_integers()[0] : 0);
            for (bool any_plane : {false, true}) {
              ReduceWindowPlan placed = plan;
              ReduceWindowArgs args{.images = at.images};
              if (any_plane) for_any_plane(placed, args);
              CompiledPlan kernel(placed, target);
              const Buffer weights = lay_out(placed, target, w, 1);
              AtTheEdge in(x.data().bytes(), AtTheEdge::Side::end);
              Guarded out(want.size() * sizeof(int32_t));
              args.x = in.data(), args.w = const_cast<std::byte*>(weights.bytes().data());
              args.epilogue = {out.data(), const_cast<std::byte*>(zero.data().bytes().data())};
              kernel.run(args, 0);
              EXPECT_TRUE(out.intact());
              const auto got = out.as<int32_t>();
              ASSERT_TRUE(std::ranges::equal(got, want)) << at.plane.to_text() << " channels " << channels << " "
                                                         << to_string(dtype) << " " << to_string(target);
            }
          }
}

TEST(Window, SumsOfTheLargestCodesAreExact) {
  const Places at = square(1, 16, 16, 16, 1, 8);
  ReduceWindowPlan plan = window_plan(at, 16, DType::u8, Reduction::products);
  plan.program = flatten(Expr::arg(0, Scalar::i32));
  plan.results = {DType::i32};
  const Tensor w = Tensor::of<int8_t>({16, 256}, std::vector<int8_t>(4096, -128)),
               x = Tensor::of<uint8_t>({1, 16, 16, 16}, std::vector<uint8_t>(4096, 255));
  for (const X86Target& target : target_levels())
    EXPECT_EQ(run<int32_t>(plan, target, at, x, &w), sums_of_codes(at, 16, x, w, 0));
  plan.plane.kernel_height = 17;
  EXPECT_FALSE(supports(plan, parse_target("avx2")).supported());
}

TEST(Window, RefusesWhatHasNoProductsOrNoPlaces) {
  const Places at = square(1, 4, 4, 2, 2, 0);
  EXPECT_TRUE(supports(window_plan(at, 4, DType::f16, Reduction::products), parse_target("avx2")).supported());
  EXPECT_EQ(supports(window_plan(at, 4, DType::f64, Reduction::products), parse_target("avx2")).why, "products of f64");
  ReduceWindowPlan empty = window_plan(at, 4, DType::f32, Reduction::max);
  empty.plane.out_width = 0;
  EXPECT_FALSE(supports(empty, parse_target("avx2")).supported());
}

// The window of `at` on another plane, with the same padding.
Places moved(const Places& at, int64_t height, int64_t width, int64_t pads_y, int64_t pads_x) {
  Places to = at;
  PlaneWindow& p = to.plane;
  p.height = height, p.width = width;
  p.out_height = places(height, p.kernel_height, p.stride_y, p.dilation_y, pads_y);
  p.out_width = places(width, p.kernel_width, p.stride_x, p.dilation_x, pads_x);
  to.images = 1 + width % 2;
  return to;
}

// One general kernel on each of `planes` against code for that plane alone.
void expect_bits_of_own_code(const ReduceWindowPlan& like, std::span<const Places> planes, bool any_kernel,
                             Philox& rng) {
  const bool products = like.reduction == Reduction::products;
  for (const X86Target& target : target_levels()) {
    std::optional<CompiledPlan> general;
    std::string text;
    for (const Places& at : planes) {
      ReduceWindowPlan own = like, any = like;
      own.plane = any.plane = at.plane;
      ReduceWindowArgs args;
      for_any_plane(any, args, {}, any_kernel);
      if (!general) general.emplace(any, target), text = KernelPlan(any).text();
      ASSERT_EQ(KernelPlan(any).text(), text) << at.plane.to_text();
      const Tensor x = plane_tensor(at, like.channels, like.x, rng, false);
      Tensor w = random_tensor(DType::f32, {like.channels, at.plane.taps()}, rng);
      if (!like.w_format.empty()) w = pack(parse_format(like.w_format), w);
      ASSERT_TRUE(!products || prepack_key(any, target) == prepack_key(own, target));
      const auto want = run<float>(own, target, at, x, products ? &w : nullptr);
      for (int64_t chunk : {0, 2}) {
        const auto got = run<float>(*general, any, args, target, at, x, products ? &w : nullptr, chunk);
        ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0)
            << to_string(target) << " " << at.plane.to_text() << " channels " << like.channels;
      }
    }
  }
}

TEST(WindowOfAnyPlane, HasTheBitsOfCodeForEachPlane) {
  Philox rng(21);
  for (const Places& at : {square(1, 1, 1, 3, 1, 1), square(1, 1, 1, 5, 2, 2), square(1, 1, 1, 2, 2, 0),
                           square(1, 1, 1, 3, 1, 2, 2), kUneven, kWide}) {
    const PlaneWindow& p = at.plane;
    const int64_t least_y = p.dilation_y * (p.kernel_height - 1) + 1 - 2 * p.pad_top,
                  least_x = p.dilation_x * (p.kernel_width - 1) + 1 - 2 * p.pad_left;
    std::vector<Places> planes;
    for (auto [height, width] : {std::pair<int64_t, int64_t>{0, 0}, {1, 2}, {6, 3}, {3, 7}, {9, 12}, {4, 28}, {16, 51}})
      planes.push_back(moved(at, std::max<int64_t>(1, least_y) + height, std::max<int64_t>(1, least_x) + width,
                             2 * p.pad_top, 2 * p.pad_left));
    expect_bits_of_own_code(window_plan(at, 13, DType::f32, Reduction::max), planes, false, rng);
    for (int64_t channels : {1, 40, 131})
      expect_bits_of_own_code(window_plan(at, channels, channels % 2 ? DType::f32 : DType::bf16, Reduction::products),
                              planes, false, rng);
  }
}

TEST(WindowOfAnyPlane, MayBeTheWholePlane) {
  Philox rng(22);
  std::vector<Places> planes;
  for (auto [height, width] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {7, 7}, {1, 8}, {3, 9}, {10, 4}, {1, 1001}, {20, 31}})
    planes.push_back({2, {.height = height, .width = width, .kernel_height = height, .kernel_width = width}});
  for (int64_t channels : {1, 16, 24, 100, 480})
    for (Reduction reduction : {Reduction::sum, Reduction::max})
      expect_bits_of_own_code(window_plan(planes[0], channels, DType::f32, reduction), planes, true, rng);
}

TEST(WindowOfAnyPlane, PackedWeights) {
  Philox rng(23);
  ReduceWindowPlan plan = window_plan(kUneven, 40, DType::f32, Reduction::products);
  plan.w_format = to_string(parse_format("mxint8"));
  const Places planes[] = {moved(kUneven, 4, 7, 6, 10), moved(kUneven, 11, 40, 6, 10)};
  expect_bits_of_own_code(plan, planes, false, rng);
}

TEST(WindowOfAnyPlane, CountsTapsInThePlaneAndInThePaddingThatCounts) {
  Philox rng(24);
  for (const CountedPadding& counted : {CountedPadding{}, CountedPadding{1, 2, 0, 1}})
    for (const X86Target& target : target_levels()) {
      ReduceWindowPlan plan = window_plan(square(1, 1, 1, 3, 2, 2), 20, DType::f32, Reduction::sum);
      plan.program = flatten(Expr::arg(0, Scalar::f32) / Expr::arg(1, Scalar::f32));
      std::optional<CompiledPlan> general;
      for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {2, 5}, {8, 23}}) {
        const Places at = square(2, height, width, 3, 2, 2);
        ReduceWindowPlan own = plan, any = plan;
        own.plane = any.plane = at.plane;
        const auto count = [](int64_t place, int64_t extent, int64_t before, int64_t after) {
          int64_t taps = 0;
          for (int64_t at = 2 * place - 2; at < 2 * place + 1; ++at) taps += at >= -before && at < extent + after;
          return taps;
        };
        for (int64_t i = 0; i < at.plane.out_height; ++i)
          own.taps_down.push_back(count(i, height, counted.top, counted.bottom));
        for (int64_t i = 0; i < at.plane.out_width; ++i)
          own.taps_across.push_back(count(i, width, counted.left, counted.right));
        ReduceWindowArgs args;
        for_any_plane(any, args, counted);
        if (!general) general.emplace(any, target);
        const Tensor x = plane_tensor(at, 20, DType::f32, rng, false);
        const auto want = run<float>(own, target, at, x), got = run<float>(*general, any, args, target, at, x);
        EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0) << at.plane.to_text();
      }
    }
}

}  // namespace
}  // namespace hone

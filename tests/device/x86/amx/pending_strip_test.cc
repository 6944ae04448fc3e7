// Strips whose sums stay in tile registers until the next one begins, and whose epilogue runs beside it: on targets
// that emulate tiles, exact whatever the number of strips, their heights, and how items fall into calls.
#include <gtest/gtest.h>

#include <bit>

#include "base/float_bits.h"
#include "device/x86/conv/prepack.h"
#include "device/x86/conv/shape.h"
#include "tests/device/x86/gemm_run.h"
#include "tests/device/x86/test_targets.h"

namespace hone::test {
namespace {

std::vector<X86Target> targets_with_tiles() {
  std::vector<X86Target> targets;
  for (const X86Target& target : test_targets())
    if (target.emulates_tiles()) targets.push_back(target);
  return targets;
}

std::byte* bytes_of(const Tensor& t) { return const_cast<std::byte*>(t.data().bytes().data()); }

// (sum + bias of the column) * factor of the row + residual, and the same in bf16 and no less than 0.
X86GemmPlan plan_with_epilogue(int64_t n, int64_t k) {
  using Access = X86GemmPlan::Access;
  X86GemmPlan plan = plain_plan(n, k, DType::bf16, DType::bf16);
  plan.operands = {{DType::f32, Access::column}, {DType::f32, Access::row}, {DType::f32, Access::full}};
  const auto x = [](int i) { return Expr::arg(i, Scalar::f32); };
  const Expr y = (x(0) + x(1)) * x(2) + x(3);
  const Expr results[] = {y, max(y, 0)};
  plan.program = flatten(results);
  plan.results = {DType::f32, DType::bf16};
  return plan;
}

// Compiled for any m; the first result is written over the residual.
class EpilogueRunner {
 public:
  EpilogueRunner(const X86GemmPlan& plan, const X86Target& target, const Tensor& w, const Tensor& bias)
      : plan_(for_target(plan, target)),
        kernel_(plan_, target),
        w_(w),
        bias_(bias),
        packed_(lay_out(plan_, target, w, 1)) {
    EXPECT_TRUE(gemm_shape(plan_, target).tiles());
  }

  // "" or the first output that is wrong.
  std::string fault(const Tensor& a, const Tensor& factor, const Tensor& residual, int64_t chunk) {
    const int64_t m = a.dim(0), n = plan_.n;
    Guarded full(static_cast<size_t>(m * n) * 4), half(static_cast<size_t>(m * n) * 2);
    std::memcpy(full.data(), residual.data().bytes().data(), residual.data().size());
    const GemmArgs args{.a = bytes_of(a),
                        .w = const_cast<std::byte*>(packed_.bytes().data()),
                        .epilogue = {bytes_of(bias_), bytes_of(factor), full.data(), full.data(), half.data()},
                        .m = m,
                        .batches = 1,
                        .a_row = plan_.k,
                        .inner_batches = 1};
    kernel_.run(args, chunk);
    if (!full.intact() || !half.intact()) return "bytes around the results";
    const std::vector<Products> sums = reference_products(a, w_);
    for (int64_t i = 0; i < m * n; ++i) {
      const auto at = static_cast<size_t>(i), row = static_cast<size_t>(i / n), column = static_cast<size_t>(i % n);
      const float want = (static_cast<float>(sums[at].sum) + bias_.as<float>()[column]) * factor.as<float>()[row] +
                         residual.as<float>()[at];
      if (full.as<float>()[at] != want || half.as<uint16_t>()[at] != f32_to_bf16(std::max(want, 0.f)))
        return fmt::format("row {} column {}: {} instead of {}", row, column, full.as<float>()[at], want);
    }
    return "";
  }

 private:
  X86GemmPlan plan_;
  CompiledPlan kernel_;
  const Tensor &w_, &bias_;
  Buffer packed_;
};

// k: less than a step, one, one and a part, several, blocks of them (18 and 13 steps, each twice).
TEST(PendingStrip, HasTheEpilogueOfItsOwnRowsAndColumns) {
  Philox rng(51);
  for (const X86Target& target : targets_with_tiles())
    for (const auto& [n, k] :
         {std::array{48, 27}, {32, 32}, {100, 40}, {16, 64}, {33, 160}, {70, 384}, {40, 1152}, {17, 832}}) {
      const Tensor w = small_integers(DType::bf16, {n, k}, rng), bias = small_integers(DType::f32, {n}, rng);
      EpilogueRunner runner(plan_with_epilogue(n, k), target, w, bias);
      for (int64_t m : {9, 16, 17, 31, 32, 33, 49, 64, 65, 97, 130, 520}) {
        if (m > 100 && k > 160 && k != 1152) continue;
        const Tensor a = small_integers(DType::bf16, {m, k}, rng), factor = small_integers(DType::f32, {m}, rng),
                     residual = small_integers(DType::f32, {m, n}, rng);
        for (int64_t chunk : {0, 1, 2, 3})
          ASSERT_EQ(runner.fault(a, factor, residual, chunk), "")
              << name_of(target) << " " << m << "x" << n << "x" << k << " in pieces of " << chunk;
      }
    }
}

// Other rows of a block, so that tiles are configured anew while a strip is pending.
TEST(PendingStrip, IsFlushedBeforeTilesAreConfiguredAnew) {
  Philox rng(52);
  for (const X86Target& target : targets_with_tiles()) {
    const X86GemmPlan plan = for_target(plan_with_epilogue(64, 64), target);
    const GemmShape shape = gemm_shape(plan, target);
    constexpr int64_t kM = 520;
    const int64_t block = shape.block_rows(kM);
    const auto half = [&](int64_t rows) {
      const Strips s = strips_of(rows, shape.rows);
      return (s.height + (s.taller > 0) + 1) / 2;
    };
    ASSERT_LT(block, kM);
    ASSERT_NE(half(block), half(kM % block)) << block;
    const Tensor w = small_integers(DType::bf16, {64, 64}, rng), bias = small_integers(DType::f32, {64}, rng),
                 a = small_integers(DType::bf16, {kM, 64}, rng), factor = small_integers(DType::f32, {kM}, rng),
                 residual = small_integers(DType::f32, {kM, 64}, rng);
    EXPECT_EQ(EpilogueRunner(plan, target, w, bias).fault(a, factor, residual, 0), "") << name_of(target);
  }
}

// Each batch's panels are laid out in the same scratch while a strip of the one before is pending.
TEST(PendingStrip, MayBeOfAnotherBatch) {
  Philox rng(53);
  constexpr int64_t kBatches = 3;
  for (const X86Target& target : targets_with_tiles())
    for (const auto& [m, n, k] : {std::array{5, 33, 64}, {20, 48, 96}, {40, 70, 200}, {70, 32, 600}}) {
      X86GemmPlan plan = plain_plan(n, k, DType::bf16, DType::bf16);
      plan.weights = X86GemmPlan::Weights::activation_nk;
      plan = for_target(plan, target);
      ASSERT_TRUE(gemm_shape(plan, target).tiles());
      CompiledPlan kernel(plan, target);
      const Tensor a = small_integers(DType::bf16, {kBatches * m, k}, rng),
                   w = small_integers(DType::bf16, {kBatches * n, k}, rng);
      const std::vector<float> x = a.to_floats(), y = w.to_floats();
      for (int64_t chunk : {0, 1, 2, 3}) {
        Guarded out(static_cast<size_t>(kBatches * m * n) * 4);
        const GemmArgs args{.a = bytes_of(a),
                            .w = bytes_of(w),
                            .epilogue = {out.data()},
                            .m = m,
                            .batches = kBatches,
                            .batch_strides = {m * k, n * k, m * n},
                            .a_row = k,
                            .w_row = k,
                            .inner_batches = 1};
        kernel.run(args, chunk);
        ASSERT_TRUE(out.intact());
        for (int64_t i = 0; i < kBatches * m * n; ++i) {
          float want = 0;
          for (int64_t l = 0; l < k; ++l)
            want += x[static_cast<size_t>(i / n * k + l)] * y[static_cast<size_t>((i / (m * n) * n + i % n) * k + l)];
          ASSERT_EQ(out.as<float>()[static_cast<size_t>(i)], want)
              << name_of(target) << " " << m << "x" << n << "x" << k << " in pieces of " << chunk << " output " << i;
        }
      }
    }
}

// Two groups have arguments of their own; short rows are two a strip, an odd one is left; long ones are several strips.
// Windows of one step, and such as lie beside the plane.
TEST(PendingStrip, MayBeOfAConvolution) {
  Philox rng(54);
  constexpr int64_t kImages = 2, kChannels = 32, kOutputs = 40;
  for (const X86Target& target : targets_with_tiles())
    for (int64_t groups : {1, 2})
      for (const auto& [in_height, in_width, side, pad] : {std::array{1, 5, 3, 1},
                                                           {7, 9, 3, 1},
                                                           {5, 16, 3, 1},
                                                           {3, 50, 3, 1},
                                                           {2, 17, 3, 4},
                                                           {5, 7, 1, 0},
                                                           {3, 40, 1, 2}}) {
        const int64_t height = in_height + 2 * pad - side + 1, width = in_width + 2 * pad - side + 1,
                      taps = side * side;
        X86ConvPlan plan;
        PlaneWindow& p = plan.window;
        p.height = in_height, p.out_height = height, p.width = in_width, p.out_width = width;
        p.kernel_height = p.kernel_width = side, p.pad_top = p.pad_left = pad;
        plan.channels = kChannels, plan.groups = groups;
        plan.product = plain_plan(kOutputs, taps * kChannels, DType::bf16, DType::bf16);
        plan.product.result_row_stride = groups * kOutputs;
        plan.product.operands = {{DType::f32, X86GemmPlan::Access::column}};
        plan.product.program = flatten(Expr::arg(0, Scalar::f32) + Expr::arg(1, Scalar::f32));
        ASSERT_TRUE(fits_tiles(plan, target));
        plan.by_tiles = true;
        const int64_t all = groups * kOutputs, in = groups * kChannels;
        const Tensor x = small_integers(DType::bf16, {kImages, in_height, in_width, in}, rng),
                     w = small_integers(DType::bf16, {all, taps * kChannels}, rng),
                     bias = small_integers(DType::f32, {all}, rng);
        const std::vector<float> pixels = x.to_floats(), weights = w.to_floats();
        const Buffer packed = lay_out(plan, target, w, 1);
        CompiledPlan kernel(plan, target);
        for (int64_t chunk : {0, 1, 2, 3}) {
          const int64_t rows = kImages * height * width;
          Guarded out(static_cast<size_t>(rows * all) * 4);
          const ConvArgs args{.x = bytes_of(x),
                              .w = const_cast<std::byte*>(packed.bytes().data()),
                              .epilogue = {bytes_of(bias), out.data()},
                              .rows = rows,
                              .images = kImages};
          kernel.run(args, chunk);
          ASSERT_TRUE(out.intact());
          for (int64_t i = 0; i < rows * all; ++i) {
            const int64_t o = i % all, at = i / all, oy = at / width % height, ox = at % width;
            float want = bias.as<float>()[static_cast<size_t>(o)];
            for (int64_t tap = 0; tap < taps; ++tap) {
              const int64_t y = oy + tap / side - pad, column = ox + tap % side - pad;
              if (y < 0 || y >= in_height || column < 0 || column >= in_width) continue;
              const int64_t pixel = (at / (height * width) * in_height + y) * in_width + column;
              for (int64_t c = 0; c < kChannels; ++c)
                want += pixels[static_cast<size_t>(pixel * in + o / kOutputs * kChannels + c)] *
                        weights[static_cast<size_t>((o * taps + tap) * kChannels + c)];
            }
            ASSERT_EQ(out.as<float>()[static_cast<size_t>(i)], want)
                << name_of(target) << " " << groups << " groups of " << height << "x" << width << " in pieces of "
                << chunk << " output " << i;
          }
        }
      }
}

}  // namespace
}  // namespace hone::test

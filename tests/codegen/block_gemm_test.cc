// Products with scales of blocks have the bits of block_linear's evaluation, on every level and in any pieces.
#include "codegen/kernels/block_gemm/shape.h"

#include <gtest/gtest.h>

#include "codegen/kernels/block_gemm/plan.h"
#include "ops/calls.h"
#include "ops/evaluate.h"
#include "tests/codegen/kernel_runner.h"
#include "tests/codegen/test_targets.h"
#include "tests/support/op_case.h"

namespace hone {
namespace {

std::vector<Target> targets() {
  std::vector<Target> all = test_targets();
  for (const Target& level : target_levels()) all.push_back(Target(level.features().with(Feature::vnni_emulated)));
  return all;
}

// Codes of i8 over their whole range, or values packed in groups.
Tensor activations(Philox& rng, const Sizes64& shape, const std::string& format) {
  return format == "i8" ? random_integers(rng, shape, DType::i8, -128, 127) : random_packed(rng, shape, format);
}

BlockGemmPlan plan_of(const Tensor& x, const Tensor& w) {
  BlockGemmPlan plan;
  plan.n = w.dim(0), plan.k = w.dim(1);
  plan.w_format = to_string(*w.format());
  if (x.is_packed()) plan.x_format = to_string(*x.format());
  plan.results = {DType::f32};
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  return plan;
}

Tensor computed(const BlockGemmPlan& plan, const Target& target, const Tensor& x, const Tensor& w, int64_t chunk) {
  test::CompiledPlan kernel(plan, target);
  const Buffer panels = lay_out(plan, target, w, 2);
  const int64_t m = x.elements() / plan.k;
  test::Guarded codes(x.data().size(), 1), scales(x.scales().size(), 1), out(static_cast<size_t>(m * plan.n) * 4);
  std::memcpy(codes.data(), x.data().bytes().data(), x.data().size());
  if (x.is_packed()) std::memcpy(scales.data(), x.scales().bytes().data(), x.scales().size());
  KernelArgs args;
  args.pointers = {codes.data(), const_cast<std::byte*>(panels.bytes().data()), out.data(), scales.data()};
  args.dims[0] = m;
  kernel.run(args, chunk);
  EXPECT_TRUE(codes.intact() && scales.intact() && out.intact());
  const auto values = out.as<float>();
  return Tensor::of<float>({m, plan.n}, {values.begin(), values.end()});
}

Tensor defined(const Tensor& x, const Tensor& w) {
  const Tensor* const operands[] = {&x, &w};
  return evaluate_node(block_linear_def, operands, {})[0];
}

struct Formats {
  const char *x, *w;
};
constexpr Formats kFormats[] = {
    {"mxint8", "mxint8"},       {"mxint8", "mxint4"},      {"mxint8", "int4.g128"},   {"mxint8.g16", "int8.g32"},
    {"mxint8", "int8.channel"}, {"mxint8", "int8"},        {"bfp8", "bfp5"},          {"mxint8", "int4.g32.s=bf16"},
    {"i8", "mxint8"},           {"i8", "mxint4"},          {"i8", "int8.g32"},        {"i8", "int4.g32"},
    {"i8", "int4.g128"},        {"i8", "int4.g32.s=fp16"}, {"i8", "int8.g32.s=bf16"}, {"i8", "int3.g12"},
    {"i8", "uint4.g32"},        {"i8", "uint8.g64"}};

TEST(BlockGemm, HasTheBitsOfItsDefinition) {
  size_t number = 0;
  for (const Target& target : targets())
    for (const Formats& formats : kFormats) {
      ++number;
      for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
               {1, 33, 64}, {3, 7, 37}, {7, 40, 300}, {9, 16, 3}, {13, 70, 130}, {2, 5, 1}}) {
        if (++number % 2) continue;
        SCOPED_TRACE(fmt::format("{} by {} on {}: {}x{}x{}", formats.x, formats.w, name_of(target), m, n, k));
        Philox rng(static_cast<uint64_t>(k));
        const Tensor x = activations(rng, {m, k}, formats.x), w = random_packed(rng, {n, k}, formats.w);
        const Tensor y = computed(plan_of(x, w), target, x, w, 0);
        ASSERT_TRUE(y.same_bits(defined(x, w)));
      }
    }
}

TEST(BlockGemm, OfManyRowsInAnyPieces) {
  Philox rng(1);
  for (const Target& target : targets())
    for (const Formats& formats : {Formats{"mxint8", "mxint8"}, Formats{"i8", "int4.g32"}}) {
      const Tensor x = activations(rng, {205, 100}, formats.x), w = random_packed(rng, {90, 100}, formats.w);
      const Tensor wanted = defined(x, w);
      for (int64_t chunk : {1, 2, 3, 0})
        EXPECT_TRUE(computed(plan_of(x, w), target, x, w, chunk).same_bits(wanted)) << name_of(target) << chunk;
    }
}

// Of 2^-127 to 2^127, and NaN, whose codes need not be 0.
TEST(BlockGemm, ReadsAllScales) {
  Philox rng(2);
  const auto scaled = [&](int64_t rows) {
    const Tensor plain = random_packed(rng, {rows, 128}, "mxint8");
    std::vector<uint32_t> scales, codes = codes_of(*plain.format(), plain.shape(), plain.planes());
    for (int64_t i = 0; i < rows * 4; ++i) scales.push_back(static_cast<uint32_t>(i % 256));
    Planes planes = planes_of(*plain.format(), plain.shape(), codes, scales, {});
    const auto buffer = [](const std::vector<std::byte>& bytes) { return Buffer::copy_of(bytes); };
    return Tensor::packed(*plain.format(), plain.shape(), buffer(planes.codes), buffer(planes.scales), {}, {});
  };
  const Tensor x = scaled(64), w = scaled(70), y = defined(x, w);
  const std::vector<float> wanted = y.to_floats();
  EXPECT_GT(std::ranges::count_if(wanted, [](float v) { return std::isnan(v); }), 64 + 60);
  for (const Target& target : targets()) {
    const std::vector<float> got = computed(plan_of(x, w), target, x, w, 0).to_floats();
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i]) : got[i] == wanted[i]) << i << " on " << name_of(target);
  }
}

}  // namespace
}  // namespace hone

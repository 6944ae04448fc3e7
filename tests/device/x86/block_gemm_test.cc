// Products with scales of blocks have the bits of block_linear's evaluation, on every level and in any pieces.
#include "device/x86/block_gemm/shape.h"

#include <gtest/gtest.h>

#include "tests/device/x86/block_gemm_run.h"
#include "tests/device/x86/test_targets.h"
#include "tests/support/emulated_tiles.h"

namespace hone {
namespace {

using namespace test;

std::vector<X86Target> targets() {
  std::vector<X86Target> all = test_targets();
  for (const X86Target& level : target_levels())
    all.push_back(X86Target(level.features().with(Feature::vnni_emulated)));
  return all;
}
std::vector<X86Target> targets_with_tiles() {
  std::vector<X86Target> all;
  for (const X86Target& target : test_targets()) all.push_back(with_emulated_tiles(target));
  return all;
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
  for (const X86Target& target : targets())
    for (const Formats& formats : kFormats) {
      ++number;
      for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
               {1, 33, 64}, {3, 7, 37}, {7, 40, 300}, {9, 16, 3}, {13, 70, 130}, {2, 5, 1}}) {
        if (++number % 2) continue;
        SCOPED_TRACE(fmt::format("{} by {} on {}: {}x{}x{}", formats.x, formats.w, name_of(target), m, n, k));
        Philox rng(static_cast<uint64_t>(k));
        const Tensor x = activations(rng, {m, k}, formats.x), w = random_packed(rng, {n, k}, formats.w);
        const Tensor y = computed(plan_of(x, w, target), target, x, w, 0);
        ASSERT_TRUE(y.same_bits(defined(x, w)));
      }
    }
}

TEST(BlockGemm, OfManyRowsInAnyPieces) {
  Philox rng(1);
  for (const X86Target& target : targets())
    for (const Formats& formats : {Formats{"mxint8", "mxint8"}, Formats{"i8", "int4.g32"}}) {
      const Tensor x = activations(rng, {205, 100}, formats.x), w = random_packed(rng, {90, 100}, formats.w);
      const Tensor wanted = defined(x, w);
      for (int64_t chunk : {1, 2, 3, 0})
        EXPECT_TRUE(computed(plan_of(x, w, target), target, x, w, chunk).same_bits(wanted)) << name_of(target) << chunk;
    }
}

// Blocks of 32 with powers of two on both sides, with several parts of K and a last block that is short.
TEST(BlockGemm, OfManyRowsByTiles) {
  Philox rng(3);
  int64_t chunk = 0;
  for (const X86Target& target : targets_with_tiles())
    for (const Formats& formats :
         {Formats{"mxint8", "mxint8"}, {"mxint8", "mxint4"}, {"bfp8.g32", "bfp5.g96"}, {"mxint8", "mxint3"}})
      for (const auto& [m, n, k] :
           std::vector<std::array<int64_t, 3>>{{24, 33, 64}, {31, 16, 32}, {300, 70, 100}, {49, 130, 1300}}) {
        SCOPED_TRACE(fmt::format("{} by {} on {}: {}x{}x{}", formats.x, formats.w, name_of(target), m, n, k));
        const Tensor x = activations(rng, {m, k}, formats.x), w = random_packed(rng, {n, k}, formats.w);
        const X86BlockGemmPlan plan = plan_of(x, w, target);
        ASSERT_TRUE(plan.by_tiles);
        ASSERT_TRUE(computed(plan, target, x, w, chunk++ % 4).same_bits(defined(x, w)));
      }
  for (const char* w : {"int8.g32", "int8.channel", "mxint8.g16"})  // sums would have to be scaled, or steps are short
    EXPECT_FALSE(fits_tiles({.n = 64, .k = 64, .x_format = w[0] == 'm' ? "mxint8.g16" : "mxint8", .w_format = w},
                            targets_with_tiles()[0]))
        << w;
}

// mxint8 of 128 columns; the scale of group i is what `scale` says.
template <class Scale>
Tensor scaled(Philox& rng, int64_t rows, Scale scale) {
  const Tensor plain = random_packed(rng, {rows, 128}, "mxint8");
  std::vector<uint32_t> scales, codes = codes_of(*plain.format(), plain.shape(), plain.planes());
  for (int64_t i = 0; i < rows * 4; ++i) {
    scales.push_back(static_cast<uint32_t>(scale(i)));
    if (scales.back() == 0) std::fill_n(codes.begin() + i * 32, 32, 0);
  }
  Planes planes = planes_of(*plain.format(), plain.shape(), codes, scales, {});
  const auto buffer = [](const std::vector<std::byte>& bytes) { return Buffer::copy_of(bytes); };
  return Tensor::packed(*plain.format(), plain.shape(), buffer(planes.codes), buffer(planes.scales), {}, {});
}

void expect_numbers(const Tensor& x, const Tensor& w, const X86Target& target) {
  const std::vector<float> wanted = defined(x, w).to_floats(),
                           got = computed(plan_of(x, w, target), target, x, w, 0).to_floats();
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i]) : got[i] == wanted[i]) << i << " on " << name_of(target);
}

// Of 2^-127 to 2^127, and NaN, whose codes need not be 0.
TEST(BlockGemm, ReadsAllScales) {
  Philox rng(2);
  const auto any = [](int64_t i) { return i % 256; };
  const Tensor x = scaled(rng, 64, any), w = scaled(rng, 70, any);
  const std::vector<float> wanted = defined(x, w).to_floats();
  EXPECT_GT(std::ranges::count_if(wanted, [](float v) { return std::isnan(v); }), 64 + 60);
  for (const X86Target& target : targets()) expect_numbers(x, w, target);
}

// Tiles take some rows and panels, vectors the others: of scales beyond what bf16 sums keep, but not of groups of zeros
// (scale 2^-127) or NaN.
TEST(BlockGemm, OfScalesThatTilesCannotTakeIsMultipliedByVectors) {
  Philox rng(4);
  const auto plain = [](int64_t i) { return i % 37 == 5 ? 0 : i % 141 == 7 ? 255 : 100 + i % 50; };
  const auto far = [](int64_t end) { return [=](int64_t i) { return i == 50 ? end : 120 + i % 10; }; };
  for (const X86Target& target : targets_with_tiles()) {
    expect_numbers(scaled(rng, 60, plain), scaled(rng, 70, plain), target);
    for (int64_t end : {1, 30, 190, 254}) {
      expect_numbers(scaled(rng, 290, far(end)), scaled(rng, 33, plain), target);
      expect_numbers(scaled(rng, 40, plain), scaled(rng, 70, far(end)), target);
    }
  }
}

}  // namespace
}  // namespace hone

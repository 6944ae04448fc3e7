// Products by tile registers: which code is made for a CPU that has them, and what their software does to single bits.
// Whole products run with the others (gemm_test.cc, gemm_packed_test.cc), on targets that emulate them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <sstream>

#include "base/float_bits.h"
#include "device/x86/amx/tile_file.h"
#include "device/x86/amx/tile_registers.h"
#include "device/x86/attention/shape.h"
#include "device/x86/conv/shape.h"
#include "device/x86/machine.h"
#include "device/x86/registry.h"
#include "tests/device/x86/gemm_run.h"

namespace hone::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

X86Target with_amx() {
  Features features = Features().with(Feature::avx512_bf16).with(Feature::amx_bf16);
  for (Feature f : {Feature::avx512_vbmi, Feature::avx512_vbmi2, Feature::avx512_vnni, Feature::amx_int8})
    features = features.with(f);
  return X86Target(features, microarchitecture("sapphire_rapids"));
}

std::string assembly_of(const KernelPlan& plan, const X86Target& target) {
  return ObjectCompiler(code_machine(target)).assembly([&](Emitter& e) {
    device_x86::find(plan.kernel())->emit(e, plan, "product", 0);
  });
}

void expect_instructions(const std::string& text, const char* dot = "tdpbf16ps") {
  for (const char* instruction :
       {"ldtilecfg", "tilezero", "tileloadd\t", "tileloaddt1", dot, "tilestored", "tilerelease"})
    EXPECT_THAT(text, HasSubstr(instruction));
  EXPECT_THAT(text, Not(HasSubstr("hone_tile")));
}

// This CPU need not have them.
TEST(TileProduct, IsInstructionsOfACpuThatHasThem) {
  for (const char* format : {"", "mxint8", "int8.channel"}) {
    X86GemmPlan plan = plain_plan(384, 384, DType::bf16, DType::bf16);
    plan.w_format = format, plan.rows = {.least = 9};
    expect_instructions(assembly_of(for_target(plan, with_amx()), with_amx()));
  }
  for (DType a : {DType::u8, DType::i8}) {
    X86GemmPlan codes = plain_plan(384, 384, a, DType::i8, DType::i32);
    codes.program = flatten(Expr::arg(0, Scalar::i32)), codes.rows = {.least = 9};
    const std::string text = assembly_of(for_target(codes, with_amx()), with_amx());
    expect_instructions(text, a == DType::u8 ? "tdpbusd" : "tdpbssd");
    EXPECT_THAT(text, Not(HasSubstr("vpdpbusd")));
  }
  X86ConvPlan conv;
  conv.window.height = conv.window.width = conv.window.out_height = conv.window.out_width = 14;
  conv.window.kernel_height = conv.window.kernel_width = 3, conv.window.pad_top = conv.window.pad_left = 1;
  conv.channels = 64, conv.product = plain_plan(64, 576, DType::bf16, DType::bf16);
  ASSERT_TRUE(fits_tiles(conv, with_amx()));
  conv.by_tiles = true;
  expect_instructions(assembly_of(conv, with_amx()));
  const X86AttentionPlan attention{
      {.heads = 12, .kv_heads = 12, .head_dim = 64, .value_dim = 64, .dtype = DType::bf16}};
  const std::string text = assembly_of(attention, with_amx());
  for (const char* instruction : {"ldtilecfg", "tileloadd\t", "tdpbf16ps", "tilestored", "tilerelease"})
    EXPECT_THAT(text, HasSubstr(instruction));
  conv.channels = 3, conv.product.k = 27;
  ASSERT_TRUE(fits_tiles(conv, with_amx()));
  expect_instructions(assembly_of(conv, with_amx()));
  conv.channels = 64, conv.product = plain_plan(64, 576, DType::u8, DType::i8, DType::i32);
  conv.product.program = flatten(Expr::arg(0, Scalar::i32));
  ASSERT_TRUE(fits_tiles(conv, with_amx()));
  conv.by_tiles = true;
  expect_instructions(assembly_of(conv, with_amx()), "tdpbusd");
}

TEST(TileProduct, FetchesTheNextBlockOfKOfWeights) {
  for (auto [k, fetches] : {std::pair{768, false}, {1152, true}}) {
    X86GemmPlan plan = plain_plan(384, k, DType::bf16, DType::bf16);
    plan.rows = {.least = 9};
    const std::string text = assembly_of(for_target(plan, with_amx()), with_amx());
    EXPECT_EQ(text.find("prefetcht1") != std::string::npos, fetches) << k;
  }
}

// A block of them stays in half of the second-level cache.
// The body of a function, of each instruction that concerns tiles a letter in the order of the text: products, zeroed
// and stored tiles, calls.
std::string steps_of(const std::string& text, const std::string& function) {
  const size_t begin = text.find("\n" + function + ":"), end = text.find(".Lfunc_end", begin);
  std::istringstream lines(text.substr(begin, end - begin));
  std::string letters, line;
  while (std::getline(lines, line))
    for (auto [instruction, letter] :
         {std::pair{"\ttdp", 'd'}, {"\ttilezero", 'z'}, {"\ttilestored", 's'}, {"\tcall", 'c'}})
      if (line.starts_with(instruction)) letters += letter;
  return letters;
}

// Tiles of the strip before are stored between the first four products, and rows of it are finished in each other step,
// then what is left of them. The flush before another configuration comes first of all.
TEST(TileProduct, StoresTheStripBeforeBetweenItsFirstProductsAndFinishesItBesideTheOthers) {
  const auto text = [](int64_t k) {
    X86GemmPlan plan = plain_plan(384, k, DType::bf16, DType::bf16);
    plan.rows = {.least = 9};
    return assembly_of(for_target(plan, with_amx()), with_amx());
  };
  const std::string steps = steps_of(text(384), "product_tiles");
  EXPECT_THAT(steps, StartsWith("cszdszdszdszdddddcc"));
  EXPECT_THAT(steps, EndsWith("szdszdssddcc")) << "of one half";
  EXPECT_EQ(steps_of(text(384), "product_flush"), "ssssc");
  EXPECT_THAT(steps_of(text(1152), "product_tiles"), StartsWith("csdsdsdsdddddcc")) << "goes on with sums";
  EXPECT_THAT(steps_of(text(16), "product_tiles"), StartsWith("cszdszdszdszdc")) << "one step";
}

TEST(TileProduct, StoresTheStripBeforeInTheFirstStepOfAWindowAndFinishesItInTheOthers) {
  X86ConvPlan conv;
  conv.window.height = conv.window.width = conv.window.out_height = conv.window.out_width = 14;
  conv.window.kernel_height = conv.window.kernel_width = 3, conv.window.pad_top = conv.window.pad_left = 1;
  conv.channels = 64, conv.product = plain_plan(64, 576, DType::bf16, DType::bf16), conv.by_tiles = true;
  EXPECT_THAT(steps_of(assembly_of(conv, with_amx()), "product_tiles"), StartsWith("cszdszdszdszd"));
}

// Sums that vectors scale are stored as soon as they are there.
TEST(TileProduct, StoresSumsAtOnceWhereVectorsScaleThem) {
  X86GemmPlan plan = plain_plan(384, 384, DType::bf16, DType::f32);
  plan.w_format = "int4.g32", plan.rows = {.least = 9};
  ASSERT_TRUE(gemm_shape(for_target(plan, with_amx()), with_amx()).scale_in_loop());
  const std::string text = assembly_of(for_target(plan, with_amx()), with_amx());
  EXPECT_THAT(steps_of(text, "product_tiles"), StartsWith("zzzzddddssss"));
}

TEST(TileProduct, HasMoreRowsInAnItemWhereWeightsAreBeyondTheSecondLevelCache) {
  const X86Target target(with_amx().features(), microarchitecture("sapphire_rapids"), {48 << 10, 2 << 20, 32 << 20});
  const auto rows = [&](int64_t n, int64_t k) {
    return gemm_shape(for_target(plain_plan(n, k, DType::bf16, DType::bf16), target), target).block_rows(4096);
  };
  EXPECT_EQ(rows(384, 384), 256);
  EXPECT_EQ(rows(3072, 768), 688) << "4.5 MB";
  EXPECT_EQ(rows(768, 8192), 256) << "as few as ever: 4 MB of A";
}

TEST(TileProduct, IsNotOfWhatNeedsF32) {
  for (auto [a, w] : {std::pair{DType::f32, DType::f32}, {DType::f32, DType::bf16}, {DType::bf16, DType::f32}})
    EXPECT_FALSE(fits_tiles(plain_plan(384, 384, a, w), with_amx()));
  X86GemmPlan few = plain_plan(384, 384, DType::bf16, DType::bf16);
  few.by_tiles = true;
  EXPECT_TRUE(gemm_shape(few, with_amx()).tiles());
  EXPECT_FALSE(gemm_shape(few, with_amx(), 8).tiles()) << "a few rows stream weights";
  EXPECT_EQ(prepacked_bytes(few, with_amx()), 384 * 384 * 2);
}

// The software, called as generated code calls it.
class TileFile : public testing::Test {
 protected:
  template <class Function>
  static Function* function(std::string_view name) {
    for (const TileFunction& f : tile_functions())
      if (f.name == name) return reinterpret_cast<Function*>(f.function);
    return nullptr;
  }

  // One sum of k products, from `start` on.
  static float dot(std::vector<float> a, std::vector<float> b, float start) {
    TileConfig config{.palette = 1};
    const auto pairs = static_cast<uint16_t>((a.size() + 1) / 2);
    config.rows[0] = config.rows[1] = 1, config.row_bytes[0] = 4,
    config.row_bytes[1] = static_cast<uint16_t>(4 * pairs);
    config.rows[2] = static_cast<uint8_t>(pairs), config.row_bytes[2] = 4;
    std::vector<uint16_t> x(2 * size_t{pairs}), y(x);
    for (size_t i = 0; i < a.size(); ++i) x[i] = f32_to_bf16(a[i]), y[i] = f32_to_bf16(b[i]);
    function<void(const void*)>(TileNames::kConfigure)(&config);
    const auto load = function<void(int8_t, const void*, int64_t)>(TileNames::kLoad);
    load(0, &start, 4), load(1, x.data(), 4 * pairs), load(2, y.data(), 4);
    function<void(int8_t, int8_t, int8_t)>(TileNames::kDotBf16)(0, 1, 2);
    float sum = 0;
    function<void(int8_t, void*, int64_t)>(TileNames::kStore)(0, &sum, 4);
    return sum;
  }
};

TEST_F(TileFile, MultipliesBytesWithAndWithoutASign) {
  TileConfig config{.palette = 1};
  for (int tile : {0, 1, 2}) config.rows[tile] = 1, config.row_bytes[tile] = 4;
  function<void(const void*)>(TileNames::kConfigure)(&config);
  const auto load = function<void(int8_t, const void*, int64_t)>(TileNames::kLoad);
  const std::array<uint8_t, 4> a{255, 128, 1, 0};
  const std::array<int8_t, 4> b{-128, 2, 3, 4};
  for (auto [name, sum] : {std::pair{TileNames::kDotU8, -255 * 128 + 256 + 3}, {TileNames::kDotI8, 128 - 256 + 3}}) {
    const int32_t start = 7;
    load(0, &start, 4), load(1, a.data(), 4), load(2, b.data(), 4);
    function<void(int8_t, int8_t, int8_t)>(name)(0, 1, 2);
    int32_t got = 0;
    function<void(int8_t, void*, int64_t)>(TileNames::kStore)(0, &got, 4);
    EXPECT_EQ(got, 7 + sum) << name;
  }
}

TEST_F(TileFile, AddsEvenAndOddProductsApartAndThenToTheSum) {
  EXPECT_EQ(dot({1, 2, 3, 4}, {5, 6, 7, 8}, 100), 170);
  // From 0: 2^24 + 1 is lost among the even ones, and both would be kept one by one beside a small sum.
  EXPECT_EQ(dot({0x1p12f, 1, 1, 0}, {0x1p12f, 0, 1, 0}, -0x1p24f), 0);
  EXPECT_EQ(dot({0x1p12f, 1, 0, 1}, {0x1p12f, 1, 0, 1}, -0x1p24f), 2);
}

TEST_F(TileFile, TakesSubnormalNumbersForZero) {
  const float least = std::numeric_limits<float>::min();
  EXPECT_EQ(dot({least / 2}, {0x1p100f}, 1), 1) << "an operand";
  EXPECT_EQ(dot({least}, {0.5f}, 0), 0) << "a result";
  EXPECT_EQ(dot({0}, {0}, least / 2), 0) << "the sum before";
  EXPECT_EQ(dot({least}, {1}, 0), least);
}

TEST_F(TileFile, KeepsInfinitiesAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(dot({infinity, 1}, {1, 1}, 0), infinity);
  EXPECT_TRUE(std::isnan(dot({infinity, infinity}, {1, -1}, 0)));
  EXPECT_TRUE(std::isnan(dot({infinity}, {0}, 0)));
}

}  // namespace
}  // namespace hone::test

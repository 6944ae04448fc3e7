#include "device/x86/target.h"

#include <gtest/gtest.h>

#include "device/x86/amx/tile_rules.h"
#include "device/x86/attention/shape.h"
#include "device/x86/gemm/shape.h"
#include "tests/ir/test_ops.h"

namespace hone {
namespace {

Features all_features() {
  Features all;
  for (int f = 0; f < kFeatures; ++f) all = all.with(static_cast<Feature>(f));
  return all;
}

X86GemmPlan bf16_product() {
  X86GemmPlan plan;
  plan.n = 384, plan.k = 384, plan.a = DType::bf16, plan.w = DType::bf16;
  plan.results = {DType::f32};
  return plan;
}

TEST(Target, IsReadFromWhatItPrints) {
  for (const X86Target& level : target_levels()) EXPECT_EQ(parse_target(to_string(level)), level);
  EXPECT_EQ(parse_target(to_string(host_target())), host_target());
  EXPECT_EQ(parse_target("host"), host_target());
  const Features host = cpu_features();
  for (uint32_t chosen = 0; chosen < 1u << kFeatures; ++chosen) {
    Features some = Features().with(Feature::avx2);
    for (int f = 0; f < kFeatures; ++f)
      if (chosen >> f & 1 && host.has(static_cast<Feature>(f))) some = some.with(static_cast<Feature>(f));
    EXPECT_EQ(parse_target(to_string(X86Target(some))), X86Target(some)) << to_string(some);
  }
}

TEST(Target, TakesFeaturesAwayFromALevel) {
  if (!cpu_features().has(Feature::avx512_vbmi)) GTEST_SKIP() << "this CPU lacks VBMI";
  EXPECT_FALSE(parse_target("avx512-vbmi").has(Feature::avx512_vbmi));
  EXPECT_EQ(parse_target("avx512-avx512_vbmi"), parse_target("avx512-vbmi"));
  EXPECT_EQ(parse_target("host-avx512").lanes(), 8);
  EXPECT_EQ(parse_target("avx2+vbmi").lanes(), 16) << "what VBMI builds on comes with it";
}

TEST(Target, EmulatesTilesOnAnyCpu) {
  const X86Target target = parse_target("host+amx_emulated");
  EXPECT_EQ(target.tile_unit(DType::bf16)->name, "tdpbf16ps");
  EXPECT_EQ(parse_target(to_string(target)), target);
  EXPECT_FALSE(host_target().emulates_tiles());
  EXPECT_EQ(parse_target("avx2").tile_unit(DType::bf16), nullptr);
  EXPECT_TRUE(fits_tiles(bf16_product(), target));
  EXPECT_FALSE(fits_tiles(bf16_product(), parse_target("avx2")));
}

TEST(Target, RefusesNamesAndFeaturesThatThereAreNot) {
  for (const char* text :
       {"", "sse9", "avx2+", "avx2+sse9", "avx2+avx2+", "avx2-avx2", "+avx2", "host-avx2", "avx512 "})
    EXPECT_THROW(parse_target(text), Error) << text;
  EXPECT_NE(test::error_of([] { parse_target("avx2+sse9"); }).find("amx_int8"), std::string::npos) << "lists them";
  if (cpu_features().has(Feature::amx_bf16)) return;
  EXPECT_NE(test::error_of([] { parse_target("host+amx_bf16"); }).find("lacks amx_bf16"), std::string::npos);
}

TEST(Target, HasTheUnitsOfItsFeatures) {
  EXPECT_EQ(X86Target(Features().with(Feature::avx2)).units().size(), 1u);
  const X86Target sapphire_rapids(all_features(), microarchitecture("sapphire_rapids"));
  std::string names;
  for (const DotUnit& unit : sapphire_rapids.units()) names += fmt::format("{} {}; ", unit.name, unit.rate);
  EXPECT_EQ(names, "vfmadd231ps 1; vdpbf16ps 0.5; vpdpbusd 4; tdpbf16ps 12; tdpbusd 24; tdpbssd 24; ");
  EXPECT_EQ(X86Target(Features().with(Feature::avx_vnni)).units()[1].n, 8);
}

// Code for VNNI on any CPU, of any width.
TEST(Target, MayEmulateADotProductOfBytes) {
  const X86Target emulated = parse_target("avx2+vnni_emulated");
  EXPECT_EQ(emulated.byte_unit()->k, 4);
  EXPECT_EQ(emulated.byte_unit()->n, 8);
  EXPECT_EQ(parse_target(to_string(emulated)), emulated);
  EXPECT_EQ(parse_target("avx2").byte_unit(), nullptr);
  EXPECT_FALSE(host_target().has(Feature::vnni_emulated)) << "no CPU has it";
  EXPECT_EQ(X86Target(Features().with(Feature::avx512).with(Feature::vnni_emulated)).byte_unit()->n, 16);
  EXPECT_EQ(X86Target(Features().with(Feature::avx512).with(Feature::avx_vnni)).byte_unit(), nullptr)
      << "of other vectors";
}

TEST(Microarchitecture, IsFoundByModelAndUnknownOnesGetACautiousRow) {
  EXPECT_EQ(microarchitecture(CpuModel{"GenuineIntel", 6, 0x8f}).name, "sapphire_rapids");
  EXPECT_EQ(microarchitecture(CpuModel{"GenuineIntel", 6, 0xcf}).name, "emerald_rapids");
  for (int model : {0xad, 0xae})
    EXPECT_EQ(microarchitecture(CpuModel{"GenuineIntel", 6, model}).name, "granite_rapids");
  EXPECT_EQ(microarchitecture(CpuModel{"GenuineIntel", 6, 0xd1}).name, "intel");
  EXPECT_EQ(microarchitecture(CpuModel{"GenuineIntel", 0x13, 1}).name, "intel") << "Diamond Rapids";
  EXPECT_EQ(microarchitecture(CpuModel{"AuthenticAMD", 0x19, 0x11}).name, "zen4");
  EXPECT_EQ(microarchitecture(CpuModel{"AuthenticAMD", 0x19, 0x01}).name, "unknown") << "Zen 3 has no such units";
  EXPECT_EQ(microarchitecture(CpuModel{"CentaurHauls", 7, 1}).name, "unknown");
  EXPECT_THROW(microarchitecture("zen99"), Error);
}

// Where vdpbf16ps has half the rate of multiply-adds, only tiles so small that taking pairs apart costs more use it.
TEST(Target, RatesDecideWhatMultipliesPairs) {
  const Features vectors = all_features().without(Feature::amx_bf16).without(Feature::amx_emulated);
  const X86Target zen4(vectors, microarchitecture("zen4")), intel(vectors, microarchitecture("intel"));
  for (int64_t rows : {0, 1, 2, 8, 128}) EXPECT_TRUE(gemm_shape(bf16_product(), zen4, gemm_case(rows)).pairs()) << rows;
  EXPECT_TRUE(gemm_shape(bf16_product(), intel, 1).pairs());
  for (int64_t rows : {0, 8, 128}) {
    const GemmShape shape = gemm_shape(bf16_product(), intel, gemm_case(rows));
    EXPECT_EQ(shape.unit, ProductUnit::f32) << rows;
    EXPECT_EQ(shape.left, LeftRows::widened) << rows;
    EXPECT_EQ(shape.plain, PanelType::pairs) << "the layout of weights does not depend on rates";
  }
  const AttentionPlan attention{.heads = 4, .kv_heads = 4, .head_dim = 32, .value_dim = 32, .dtype = DType::bf16};
  EXPECT_EQ(attention_shape(attention, zen4).unit, ProductUnit::bf16);
  EXPECT_EQ(attention_shape(attention, intel).unit, ProductUnit::f32);
}

}  // namespace
}  // namespace hone

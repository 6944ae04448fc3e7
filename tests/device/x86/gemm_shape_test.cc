// Which shape each of a list of products gets: what multiplies, where its
// operands come from and how it falls into tiles and blocks. Bits and speed
// follow from these, so a change here is meant, or a slip.
#include "device/x86/gemm/shape.h"

#include <gtest/gtest.h>

#include "device/x86/amx/tile_rules.h"
#include "device/x86/conv/shape.h"
#include "device/x86/gemm/describe.h"

namespace hone {
namespace {

using enum DType;
using Weights = X86GemmPlan::Weights;

X86Target level(std::initializer_list<Feature> wanted, std::string_view rates) {
  Features features;
  for (const Feature f : wanted) features = features.with(f);
  return X86Target(features, microarchitecture(rates), {32 << 10, 1 << 20, 32 << 20});
}
X86Target avx2() { return level({Feature::avx2}, "unknown"); }
X86Target zen5() {
  return level({Feature::avx_vnni, Feature::avx512_vbmi, Feature::avx512_vnni, Feature::avx512_bf16}, "zen5");
}
X86Target amx() {
  return level({Feature::avx512_vbmi, Feature::avx512_vnni, Feature::avx512_bf16, Feature::amx_bf16, Feature::amx_int8},
               "sapphire_rapids");
}

X86GemmPlan product(int64_t n, int64_t k, DType a, DType w, Weights weights = Weights::prepacked) {
  X86GemmPlan plan;
  plan.n = n, plan.k = k, plan.a = a, plan.w = w, plan.weights = weights;
  plan.results = {f32};
  return plan;
}
X86GemmPlan packed(const char* format, DType a) {
  X86GemmPlan plan = product(256, 4096, a, f32);
  plan.w_format = format;
  return plan;
}
X86GemmPlan of_columns(DType dtype) {
  X86GemmPlan plan = product(256, 512, dtype, dtype, Weights::activation_kn);
  plan.a_by_columns = true;
  return plan;
}

std::string text_of(const X86GemmPlan& plan, const GemmShape& s) {
  const char* const panels[] = {"f32", "pairs", "quads"};
  std::string text = fmt::format("{}: {}; {}x{} by {}, {} chains, block {}{}", weights_of(plan, s), products_of(s),
                                 s.rows, s.panel_columns(), panels[static_cast<size_t>(s.panel())], s.chains,
                                 s.block_k(), s.adds_blocks() ? " added" : "");
  if (s.item_panels() > 1) text += fmt::format(", {} panels", s.item_panels());
  if (s.scale_in_loop()) text += ", scales in the loop";
  if (const auto* dense = s.from<DensePanels>(); dense && dense->keeps) text += ", keeps";
  if (const auto* codes = s.from<StreamedCodes>(); codes && codes->ahead > 0) text += ", ahead";
  if (s.fetches_next()) text += ", fetches";
  const char* const left[] = {"", ", widens", ", turns", ", columns", ""};
  const char* const forms[] = {", bytes", ", offset bytes", ", words"};
  text += s.left == LeftRows::codes ? forms[static_cast<size_t>(s.code_form())] : left[static_cast<size_t>(s.left)];
  return text + fmt::format("; {} + {} bytes", s.panel_bytes(), s.scratch_bytes(s.block_rows(200)));
}

std::string shape(X86GemmPlan plan, const X86Target& target, int64_t m) {
  plan.by_tiles = fits_tiles(plan, target);
  return text_of(plan, gemm_shape(plan, target, m));
}

// Of a window of 3x3, 14x14 places and so many channels and outputs, without
// what only multiplies whole rows.
std::string shape_of_window(DType a, DType w, const char* format, int64_t channels, int64_t outputs,
                            const X86Target& target) {
  X86ConvPlan plan;
  plan.window = {.height = 14,
                 .width = 14,
                 .out_height = 14,
                 .out_width = 14,
                 .kernel_height = 3,
                 .kernel_width = 3,
                 .pad_top = 1,
                 .pad_left = 1};
  plan.channels = channels;
  plan.product = product(outputs, 9 * channels, a, w);
  plan.product.w_format = format;
  plan.leaves_plane = true;
  plan.by_tiles = fits_tiles(plan, target);
  const ConvShape s = conv_shape(plan, target);
  return text_of(plan.product, s.gemm) + fmt::format("; {}x{} places", s.strip_height, s.strip_width);
}

TEST(GemmShape, IsThatOfTheRule) {
  struct Case {
    X86GemmPlan plan;
    X86Target target;
    int64_t m;  // 0: more than a few
    std::string_view shape;
  };
  const Case cases[] = {
      {product(384, 384, f32, f32), avx2(), 0,
       "f32 weights: f32 products; 6x16 by f32, 1 chains, block 384, fetches; "
       "24576 + 0 bytes"},
      {product(384, 384, f32, f32), zen5(), 0,
       "f32 weights: f32 products; 8x48 by f32, 1 chains, block 384, fetches; "
       "73728 + 0 bytes"},
      {product(384, 384, f32, f32), zen5(), 1,
       "f32 weights: f32 products; 1x48 by f32, 3 chains, block 384; 73728 + 0 "
       "bytes"},
      {product(384, 384, bf16, bf16), avx2(), 0,
       "bf16 weights: bf16 rows widened for f32 products; 5x16 by pairs, 1 "
       "chains, block 384, keeps, fetches, widens; 12288 + 184320 bytes"},
      {product(384, 384, bf16, bf16), zen5(), 0,
       "bf16 weights: bf16 dot products; 8x48 by pairs, 1 chains, block 384, "
       "fetches; 36864 + 0 bytes"},
      {product(384, 384, bf16, bf16), amx(), 0,
       "bf16 weights: bf16 products of tiles (tdpbf16ps); 32x32 by pairs, 1 "
       "chains, block 384; 24576 + 0 bytes"},
      {product(384, 384, bf16, bf16), zen5(), 1,
       "bf16 weights: bf16 dot products; 1x48 by pairs, 3 chains, block 384; "
       "36864 + 0 bytes"},
      {product(384, 4096, bf16, bf16), avx2(), 0,
       "bf16 weights: bf16 rows widened for f32 products; 5x16 by pairs, 1 "
       "chains, block 4096, keeps, fetches, widens; 131072 + 1966080 bytes"},
      {product(384, 4096, bf16, bf16), zen5(), 0,
       "bf16 weights: bf16 dot products; 8x48 by pairs, 1 chains, block 4096, "
       "fetches; 393216 + 0 bytes"},
      {product(384, 4096, bf16, bf16), amx(), 0,
       "bf16 weights: bf16 products of tiles (tdpbf16ps); 32x32 by pairs, 1 "
       "chains, block 512 added; 262144 + 25600 bytes"},
      {product(384, 4096, bf16, bf16), zen5(), 1,
       "bf16 weights: bf16 dot products; 1x48 by pairs, 3 chains, block 4096; "
       "393216 + 0 bytes"},
      {product(384, 384, f32, bf16), avx2(), 0,
       "bf16 weights: f32 products; 5x16 by pairs, 1 chains, block 384, keeps, "
       "fetches; 12288 + 24576 bytes"},
      {product(384, 384, f32, bf16), zen5(), 0,
       "bf16 weights: f32 products; 8x48 by pairs, 1 chains, block 384, keeps, "
       "fetches; 36864 + 73728 bytes"},
      {product(384, 384, f32, bf16), zen5(), 1,
       "bf16 weights: f32 products; 1x48 by pairs, 3 chains, block 384; 36864 "
       "+ 0 bytes"},
      {product(384, 100, i8, i8), avx2(), 0,
       "i8 weights: dot products of words; 5x16 by quads, 1 chains, block 100, "
       "fetches, words; 1664 + 20800 bytes"},
      {product(384, 100, i8, i8), zen5(), 0,
       "i8 weights: dot products of bytes; 8x48 by quads, 1 chains, block 100, "
       "fetches, offset bytes; 4992 + 11200 bytes"},
      {product(384, 100, i8, i8), amx(), 0,
       "i8 weights: int8 products of tiles (tdpbssd); 32x32 by quads, 1 "
       "chains, block 100, bytes; 4224 + 26624 bytes"},
      {product(384, 100, i8, i8), zen5(), 1,
       "i8 weights: dot products of bytes; 1x48 by quads, 3 chains, block 100, "
       "offset bytes; 4992 + 11200 bytes"},
      {product(384, 2048, u8, i8), avx2(), 0,
       "i8 weights: dot products of words; 5x16 by quads, 1 chains, block "
       "2048, fetches, words; 32832 + 425984 bytes"},
      {product(384, 2048, u8, i8), zen5(), 0,
       "i8 weights: dot products of bytes; 8x48 by quads, 1 chains, block "
       "2048, fetches, bytes; 98496 + 229376 bytes"},
      {product(384, 2048, u8, i8), amx(), 0,
       "i8 weights: int8 products of tiles (tdpbusd); 32x32 by quads, 1 "
       "chains, block 1024 added; 65664 + 25600 bytes"},
      {product(384, 2048, u8, i8), zen5(), 1,
       "i8 weights: dot products of bytes; 1x48 by quads, 3 chains, block "
       "2048, bytes; 98496 + 229376 bytes"},
      {packed("fp8_e4m3.g32", bf16), avx2(), 0,
       "fp8_e4m3.g32 weights decoded a panel at a time: bf16 rows widened for "
       "f32 products; 6x16 by f32, 1 chains, block 256 added, widens; 73728 + "
       "3305984 bytes"},
      {packed("fp8_e4m3.g32", bf16), zen5(), 0,
       "fp8_e4m3.g32 weights decoded a panel at a time: bf16 dot products; "
       "7x32 by pairs, 1 chains, block 256 added, scales in the loop; 147456 + "
       "41984 bytes"},
      {packed("fp8_e4m3.g32", bf16), amx(), 0,
       "fp8_e4m3.g32 weights decoded a panel at a time: bf16 products of tiles "
       "(tdpbf16ps); 32x32 by pairs, 1 chains, block 256 added, scales in the "
       "loop; 147456 + 41984 bytes"},
      {packed("fp8_e4m3.g32", bf16), zen5(), 1,
       "fp8_e4m3.g32 weights decoded in the loop: bf16 dot products; 1x32 by "
       "pairs, 2 chains, block 4096, scales in the loop, ahead; 147456 + 0 "
       "bytes"},
      {packed("mxint4", bf16), avx2(), 0,
       "mxint4 weights decoded a panel at a time: bf16 rows widened for f32 "
       "products; 6x16 by f32, 1 chains, block 256 added, widens; 34816 + "
       "3305984 bytes"},
      {packed("mxint4", bf16), zen5(), 0,
       "mxint4 weights decoded a panel at a time: bf16 dot products; 8x32 by "
       "pairs, 1 chains, block 256 added; 69632 + 41984 bytes"},
      {packed("mxint4", bf16), amx(), 0,
       "mxint4 weights decoded a panel at a time: bf16 products of tiles "
       "(tdpbf16ps); 32x32 by pairs, 1 chains, block 256 added; 69632 + 41984 "
       "bytes"},
      {packed("mxint4", bf16), avx2(), 1,
       "mxint4 weights decoded in the loop: bf16 rows widened for f32 "
       "products; 1x16 by f32, 2 chains, block 4096, scales in the loop, "
       "widens; 34816 + 3276800 bytes"},
      {packed("mxint4", bf16), zen5(), 1,
       "mxint4 weights decoded in the loop: bf16 dot products; 1x32 by pairs, "
       "2 chains, block 4096, scales in the loop, ahead; 69632 + 0 bytes"},
      {packed("nvfp4", bf16), avx2(), 0,
       "nvfp4 weights decoded a panel at a time: bf16 rows widened for f32 "
       "products; 6x16 by f32, 1 chains, block 256 added, widens; 36928 + "
       "3305984 bytes"},
      {packed("nvfp4", bf16), zen5(), 0,
       "nvfp4 weights decoded a panel at a time: bf16 dot products; 8x32 by "
       "pairs, 1 chains, block 256 added; 73792 + 41984 bytes"},
      {packed("nvfp4", bf16), amx(), 0,
       "nvfp4 weights decoded a panel at a time: bf16 products of tiles "
       "(tdpbf16ps); 32x32 by pairs, 1 chains, block 256 added; 73792 + 41984 "
       "bytes"},
      {packed("nvfp4", bf16), zen5(), 1,
       "nvfp4 weights decoded in the loop: bf16 dot products; 1x32 by pairs, 2 "
       "chains, block 4096, scales in the loop, ahead; 73792 + 0 bytes"},
      {packed("mxint8.ax0", f32), avx2(), 0,
       "mxint8.ax0 weights decoded a panel at a time: f32 products; 6x16 by "
       "f32, 1 chains, block 256 added; 73728 + 29184 bytes"},
      {packed("mxint8.ax0", f32), zen5(), 0,
       "mxint8.ax0 weights decoded a panel at a time: f32 products; 8x32 by "
       "f32, 1 chains, block 128 added; 139264 + 41984 bytes"},
      {packed("mxint8.ax0", f32), zen5(), 1,
       "mxint8.ax0 weights decoded a panel at a time: f32 products; 1x32 by "
       "f32, 4 chains, block 128 added; 139264 + 41984 bytes"},
      {product(256, 300, f32, f32, Weights::activation_kn), avx2(), 0,
       "f32 right operand laid out a panel at a time: f32 products; 6x16 by "
       "f32, 1 chains, block 300; 19200 + 19200 bytes"},
      {product(256, 300, f32, f32, Weights::activation_kn), zen5(), 0,
       "f32 right operand laid out a panel at a time: f32 products; 8x32 by "
       "f32, 1 chains, block 300; 38400 + 38400 bytes"},
      {product(256, 300, f32, f32, Weights::activation_kn), zen5(), 1,
       "f32 right operand laid out a panel at a time: f32 products; 1x32 by "
       "f32, 1 chains, block 300; 38400 + 38400 bytes"},
      {product(256, 1000, bf16, bf16, Weights::activation_nk), avx2(), 0,
       "bf16 right operand laid out a panel at a time: bf16 rows widened for "
       "f32 products; 6x16 by f32, 1 chains, block 512 added, 4 panels, "
       "widens; 64000 + 493568 bytes"},
      {product(256, 1000, bf16, bf16, Weights::activation_nk), zen5(), 0,
       "bf16 right operand laid out a panel at a time: bf16 dot products; 8x32 "
       "by pairs, 1 chains, block 512 added, 2 panels; 128000 + 83968 bytes"},
      {product(256, 1000, bf16, bf16, Weights::activation_nk), amx(), 0,
       "bf16 right operand laid out a panel at a time: bf16 products of tiles "
       "(tdpbf16ps); 32x32 by pairs, 1 chains, block 512 added, 2 panels; "
       "128000 + 83968 bytes"},
      {product(256, 1000, bf16, bf16, Weights::activation_nk), zen5(), 1,
       "bf16 right operand laid out a panel at a time: bf16 dot products; 1x32 "
       "by pairs, 1 chains, block 512 added, 2 panels; 128000 + 83968 bytes"},
      {product(256, 1000, bf16, bf16, Weights::activation_nk), amx(), 1,
       "bf16 right operand laid out a panel at a time: bf16 products of tiles "
       "(tdpbf16ps); 1x32 by pairs, 1 chains, block 512 added, 2 panels; "
       "128000 + 83968 bytes"},
      {product(0, 0, f32, bf16, Weights::activation_nk), avx2(), 0,
       "bf16 right operand laid out a panel at a time: f32 products; 6x16 by "
       "f32, 1 chains, block 512 added; 0 + 45568 bytes"},
      {product(0, 0, f32, bf16, Weights::activation_nk), zen5(), 0,
       "bf16 right operand laid out a panel at a time: f32 products; 8x32 by "
       "f32, 1 chains, block 512 added; 0 + 91136 bytes"},
      {product(0, 0, f32, bf16, Weights::activation_nk), zen5(), 1,
       "bf16 right operand laid out a panel at a time: f32 products; 1x32 by "
       "f32, 1 chains, block 512 added; 0 + 91136 bytes"},
      {of_columns(f32), avx2(), 0,
       "f32 right operand laid out a panel at a time: f32 products; 6x16 by "
       "f32, 1 chains, block 512 added, 4 panels, columns; 32768 + 526336 "
       "bytes"},
      {of_columns(f32), zen5(), 0,
       "f32 right operand laid out a panel at a time: f32 products; 8x32 by "
       "f32, 1 chains, block 512 added, 2 panels, columns; 65536 + 575488 "
       "bytes"},
      {of_columns(f32), zen5(), 1,
       "f32 right operand laid out a panel at a time: f32 products; 1x32 by "
       "f32, 1 chains, block 512 added, 2 panels, columns; 65536 + 575488 "
       "bytes"},
      {of_columns(bf16), avx2(), 0,
       "bf16 right operand laid out a panel at a time: f32 products; 6x16 by "
       "f32, 1 chains, block 512 added, 4 panels, turns; 32768 + 493568 bytes"},
      {of_columns(bf16), zen5(), 0,
       "bf16 right operand laid out a panel at a time: bf16 dot products; 8x32 "
       "by pairs, 1 chains, block 512 added, 2 panels, turns; 65536 + 296960 "
       "bytes"},
      {of_columns(bf16), amx(), 0,
       "bf16 right operand laid out a panel at a time: bf16 products of tiles "
       "(tdpbf16ps); 32x32 by pairs, 1 chains, block 512 added, 2 panels, "
       "turns; 65536 + 296960 bytes"},
      {of_columns(bf16), zen5(), 1,
       "bf16 right operand laid out a panel at a time: bf16 dot products; 1x32 "
       "by pairs, 1 chains, block 512 added, 2 panels, turns; 65536 + 296960 "
       "bytes"},
  };
  for (const Case& c : cases) EXPECT_EQ(shape(c.plan, c.target, c.m), c.shape) << c.target.rates().name << " m " << c.m;
}

TEST(ConvShape, MultipliesAsThatOfTheRule) {
  struct Case {
    DType a, w;
    const char* format;
    int64_t channels, outputs;
    X86Target target;
    std::string_view shape;
  };
  const Case cases[] = {
      {f32, f32, "", 32, 64, avx2(),
       "f32 weights: f32 products; 5x16 by f32, 1 chains, block 288, fetches; "
       "18432 + 0 bytes; 1x5 places"},
      {f32, f32, "", 32, 64, zen5(),
       "f32 weights: f32 products; 7x32 by f32, 1 chains, block 288, fetches; "
       "36864 + 0 bytes; 1x7 places"},
      {bf16, bf16, "", 32, 64, avx2(),
       "bf16 weights: bf16 operands multiplied in f32; 4x16 by pairs, 1 "
       "chains, block 288, fetches; 9216 + 0 bytes; 1x4 places"},
      {bf16, bf16, "", 32, 64, zen5(),
       "bf16 weights: bf16 dot products; 7x32 by pairs, 1 chains, block 288, "
       "fetches; 18432 + 0 bytes; 1x7 places"},
      {bf16, bf16, "", 32, 64, amx(),
       "bf16 weights: bf16 products of tiles (tdpbf16ps); 28x32 by pairs, 1 "
       "chains, block 288; 18432 + 0 bytes; 2x14 places"},
      {bf16, bf16, "", 3, 64, avx2(),
       "bf16 weights: bf16 operands multiplied in f32; 4x16 by pairs, 1 "
       "chains, block 30; 960 + 0 bytes; 1x4 places"},
      {bf16, bf16, "", 3, 64, zen5(),
       "bf16 weights: bf16 dot products; 7x32 by pairs, 1 chains, block 30; "
       "1920 + 0 bytes; 1x7 places"},
      {bf16, bf16, "", 3, 64, amx(),
       "bf16 weights: bf16 products of tiles (tdpbf16ps); 28x32 by pairs, 1 "
       "chains, block 96; 6144 + 0 bytes; 2x14 places"},
      {i8, i8, "", 32, 64, avx2(),
       "i8 weights: dot products of words; 5x16 by quads, 1 chains, block 288, "
       "fetches, words; 4672 + 59904 bytes; 1x5 places"},
      {i8, i8, "", 32, 64, zen5(),
       "i8 weights: dot products of bytes; 7x32 by quads, 1 chains, block 288, "
       "fetches, offset bytes; 9344 + 32256 bytes; 1x7 places"},
      {i8, i8, "", 32, 64, amx(),
       "i8 weights: int8 products of tiles (tdpbssd); 28x32 by quads, 1 "
       "chains, block 384; 12416 + 0 bytes; 2x14 places"},
      {bf16, f32, "mxint4", 64, 64, avx2(),
       "mxint4 weights decoded a panel at a time: bf16 operands multiplied in "
       "f32; 5x16 by f32, 1 chains, block 576; 4928 + 36864 bytes; 1x5 places"},
      {bf16, f32, "mxint4", 64, 64, zen5(),
       "mxint4 weights decoded a panel at a time: bf16 dot products; 7x32 by "
       "pairs, 1 chains, block 576; 9792 + 36864 bytes; 1x7 places"},
      {bf16, f32, "mxint4", 64, 64, amx(),
       "mxint4 weights decoded a panel at a time: bf16 products of tiles "
       "(tdpbf16ps); 28x32 by pairs, 1 chains, block 576; 9792 + 36864 bytes; "
       "2x14 places"},
      {bf16, f32, "fp8_e4m3.g32", 64, 64, avx2(),
       "fp8_e4m3.g32 weights decoded a panel at a time: bf16 operands "
       "multiplied in f32; 5x16 by f32, 1 chains, block 576; 10368 + 36864 "
       "bytes; 1x5 places"},
      {bf16, f32, "fp8_e4m3.g32", 64, 64, zen5(),
       "fp8_e4m3.g32 weights decoded a panel at a time: bf16 operands "
       "multiplied in f32; 7x32 by f32, 1 chains, block 576; 20736 + 73728 "
       "bytes; 1x7 places"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(shape_of_window(c.a, c.w, c.format, c.channels, c.outputs, c.target), c.shape) << c.target.rates().name;
}

}  // namespace
}  // namespace hone

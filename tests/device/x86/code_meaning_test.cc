// What codes mean is derived once: here it is held, for every code of every registered format, against the format's own
// expressions; then the code that is generated from it, where whole tensors and rows of tables are decoded. Products
// and layouts have their own tests (gemm_packed_test, prepack_test).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/float_bits.h"
#include "base/philox.h"
#include "device/x86/compiled_packer.h"
#include "device/x86/weight_codec.h"
#include "formats/codecs.h"
#include "formats/packed.h"
#include "formats/scale.h"
#include "kernels/gather/plan.h"
#include "tests/device/x86/kernel_runner.h"
#include "tests/device/x86/test_targets.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

using By = CodeMeaning::By;

// The examples, and odd widths.
std::vector<std::string> formats_with_codes() {
  std::vector<std::string> formats = test::packed_examples();
  for (const char* more : {"int3.g16", "int5.g8", "int7.g32", "uint7.g16", "uint4.g32.asym", "uint16.channel.asym",
                           "minifloat_e5m6", "minifloat_e2m3", "minifloat_e3m3", "mxfp6_e2m3", "bfp12", "log5",
                           "uint3.g8.s=u4.m=u4", "uint4.g32.ax0.s=u6.m=u6", "int5.g4.s=i8", "uint8.g24.s=fp16.m=fp16"})
    formats.push_back(more);
  return formats;
}

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

TEST(CodeMeaning, EveryCodeIsTheNumberThatItsFormatDecodes) {
  for (const std::string& name : formats_with_codes()) {
    const Format format = parse_format(name);
    const CodeMeaning& meaning = code_meaning(format);
    EXPECT_EQ(meaning.bits, format.element.bits) << name;
    if (meaning.by >= By::expression) continue;
    const std::vector<double> want = code_values(format);
    for (uint32_t code = 0; code < want.size(); ++code)
      ASSERT_TRUE(same(number_of(meaning, code), static_cast<float>(want[code]))) << name << " code " << code;
  }
}

TEST(CodeMeaning, EveryScaleCodeIsTheScaleOfItsFormat) {
  for (const std::string& name : formats_with_codes()) {
    const Format format = parse_format(name);
    const ScaleMeaning& scale = code_meaning(format).scale;
    EXPECT_NE(scale.by, ScaleMeaning::By::unknown) << name;
    if (scale.values.empty()) continue;
    const std::vector<double> want = scale_values(format);
    for (uint32_t code = 0; code < want.size(); ++code) {
      ASSERT_TRUE(same(scale.values[code], static_cast<float>(want[code]))) << name << " scale code " << code;
      if (scale.by != ScaleMeaning::By::minifloat || std::isnan(want[code])) continue;
      const float pattern = std::bit_cast<float>((code & 0x7f) << (23 - scale.mantissa_bits));
      ASSERT_EQ(std::abs(want[code]), pattern * scale.unit) << name << " scale code " << code;
    }
  }
}

TEST(CodeMeaning, SaysWhatAPersonWould) {
  const auto by = [](const char* name) { return code_meaning(parse_format(name)).by; };
  for (const char* name : {"mxint8", "int4.g32", "uint8.channel.asym", "int16.f8", "ternary"})
    EXPECT_EQ(by(name), By::integer) << name;
  for (const char* name : {"mxfp8_e4m3", "fp8_e5m2", "mxfp4", "minifloat_e5m10", "log8"})
    EXPECT_EQ(by(name), By::minifloat) << name;
  for (const char* name : {"uint4.g32.s=fp16.m=fp16", "uint2.g16.s=u4.m=u4", "int6.g16.s=i8"})
    EXPECT_EQ(by(name), By::integer) << name;
  for (const char* name : {"binary.g16", "denorm_e4m3", "blog8", "iq4_nl", "iq4_nl.s=i6"})
    EXPECT_EQ(by(name), By::table) << name;
  EXPECT_EQ(by("int32.f8"), By::expression);
  EXPECT_EQ(by("rsign2"), By::signs);
  EXPECT_EQ(by("mxint8.compat=mase-cuda"), By::group_expression);
  const CodeMeaning& e5m2 = code_meaning(parse_format("fp8_e5m2"));
  EXPECT_EQ(e5m2.infinity, 0x7cu);
  EXPECT_EQ(e5m2.nan_from, 0x7du);
}

// A format of nobody's list: its values are not those of codes less zero points, times the scale.
constinit const FormatDef squares_def{
    .name = "squares", .doc = "", .examples = "", .parse = nullptr, .print = [](const Format&) {
      return std::string("squares");
    }};

TEST(CodeMeaning, IsTheExpressionWhereAFormatHasARuleOfItsOwn) {
  ScaleKind kind = f32_range_scale;
  kind.restore = [](const Format&, Expr value, const GroupValues& group) {
    return (value - group.zero_point) * (value - group.zero_point) * group.scale();
  };
  Format format = parse_format("uint4.g32.asym");
  format.family = &squares_def, format.scale_kind = &kind;
  EXPECT_EQ(code_meaning(format).by, By::group_expression);
  EXPECT_FALSE(prepackable(format).supported());
  const uint64_t args[] = {7, std::bit_cast<uint32_t>(0.5f), 4};
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(evaluate(group_value(format), args)[0])), 4.5f);
}

// Every code, under scales and zero points that packing chose.
Planes planes_of_all_codes(const Format& format, std::span<const int64_t> shape) {
  Philox rng(5);
  std::vector<float> values(static_cast<size_t>(shape[0] * shape[1]));
  for (float& v : values) v = rng.normal();
  const Planes packed = pack(format, shape, values);
  const PlaneView view{packed.codes, packed.scales, packed.zero_points, packed.global};
  std::vector<uint32_t> codes(values.size()), zeros;
  const auto count = uint64_t{1} << format.element.bits;
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint32_t>(count > codes.size() ? rng.next64() % count : i % count);
    if (static_cast<int>(codes[i]) == format.element.no_code) codes[i] = 0;
  }
  const size_t bytes = static_cast<size_t>(zero_point_bytes(format));
  for (size_t i = 0; bytes && i < packed.zero_points.size(); i += bytes) {
    uint32_t zero = 0;
    std::memcpy(&zero, packed.zero_points.data() + i, bytes);
    zeros.push_back(zero);
  }
  float global = 0;
  if (format.scale_kind->global && !packed.global.empty()) std::memcpy(&global, packed.global.data(), sizeof global);
  return planes_of(format, shape, codes, scale_codes_of(format, shape, view), zeros, global,
                   outer_codes_of(format, shape, view));
}

TEST(CodeMeaning, TensorsAndRowsOfEveryCodeDecodeAsTheFormatHasThem) {
  for (const std::string& name : formats_with_codes()) {
    const Format format = parse_format(name);
    const int64_t rows = format.element.bits <= 8 ? 16 : 1024, columns = 64, shape[] = {rows, columns};
    Planes planes = planes_of_all_codes(format, shape);
    const PlaneView view{planes.codes, planes.scales, planes.zero_points, planes.global};
    std::vector<float> want(static_cast<size_t>(rows * columns)), unpacked(want.size()), gathered(want.size());
    unpack(format, shape, view, want);
    std::vector<int64_t> ids;
    for (int64_t row = 0; row < rows; ++row) ids.push_back(row);
    for (const X86Target& target : test_targets()) {
      CompiledPacker(target, {.threads = 1, .cache_folder = {}}).unpack(format, shape, view, unpacked);
      const GatherArgs args{.table = planes.codes.data(),
                            .scales = planes.scales.data(),
                            .ids = ids.data(),
                            .out = gathered.data(),
                            .zero_points = planes.zero_points.data(),
                            .global_scale = planes.global.data(),
                            .results = rows,
                            .rows = rows,
                            .ids_per_table = rows};
      test::CompiledPlan(GatherPlan{.columns = columns, .table_format = name, .rows = rows}, target).run(args, 1);
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_TRUE(same(unpacked[i], want[i]))
            << name << " " << name_of(target) << ": " << unpacked[i] << ", not " << want[i];
        ASSERT_TRUE(same(gathered[i], want[i]))
            << name << " " << name_of(target) << ": " << gathered[i] << ", not " << want[i];
      }
    }
  }
}

}  // namespace
}  // namespace hone

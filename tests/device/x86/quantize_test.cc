// Generated quantizing kernels give the reference's bits: every example of every format, every level of the machine.
#include <fmt/format.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_bits.h"
#include "base/philox.h"
#include "base/text.h"
#include "device/x86/compiled_packer.h"
#include "formats/registry.h"
#include "kernels/quantize/spans.h"
#include "tests/device/x86/at_the_edge.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

using golden::same_value;
using golden::view;

// Formats beside the examples: odd widths and groups, other rules and axes.
constexpr const char* kMore[] = {
    "int3.g16",      "int5.g8",          "int16.f8",         "int17.f6",      "int27.f3",
    "int32.f10",     "uint7.g16",        "uint4.g32.asym",   "uint8.asym",    "uint16.channel.asym",
    "mxint4.g16",    "mxint8.rule=mse",  "mxfp4.rule=mse",   "mxint6.g48",    "mxint8.rule=rceil",
    "int8.g32.ax0",  "mxint8.ax0",       "int8.channel.ax1", "int8.channel",  "fp8_e4m3.g64",
    "mxfp8_e5m2.g8", "mxfp6_e2m3.g1000", "minifloat_e5m6",   "minifloat_e2m3"};

using Dims = std::vector<int64_t>;

std::vector<std::string> all_formats() {
  std::vector<std::string> formats(std::begin(kMore), std::end(kMore));
  for (const FormatDef* family : formats::all())
    for (const std::string& example : split(family->examples, ' ')) formats.push_back(example);
  return formats;
}

// Numbers of every kind: ordinary ones, zeros of both signs and groups of them, subnormals, huge ones, ties; NaN and
// infinity in a few places.
std::vector<float> awkward_values(size_t n, uint64_t seed) {
  Philox random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = 0.1f * random.normal() * std::exp2(2 * random.normal());
  const float odd[] = {0.f, -0.f, 1e-40f, -3e-45f, 3e38f, -3.4e38f, 0.5f, -1.5f, 2.5f, 1e-30f, 6.f, 0.0078125f};
  for (size_t i = 0; i < n / 8; ++i) values[random.below(n)] = odd[random.below(std::size(odd))];
  const float strange[] = {std::nanf(""), HUGE_VALF, -HUGE_VALF};
  for (size_t i = 0; i < n / 400; ++i) values[random.below(n)] = strange[random.below(3)];
  for (size_t start = 0; start + 64 < n; start += 700)
    std::fill_n(values.begin() + static_cast<ptrdiff_t>(start), 64, start % 3 ? 0.f : -0.f);
  for (size_t start = 350; start + 32 < n; start += 900)
    for (size_t i = 0; i < 32; ++i) values[start + i] *= 1e-38f;
  return values;
}

const Dims kShapes[] = {{1}, {37}, {3, 37}, {2, 3, 64}, {5, 200}, {40, 96}, {3, 7, 33}, {2, 9000}};

CompiledPacker packer_for(const X86Target& target) {
  return CompiledPacker(target, {.threads = 2, .cache_folder = {}});
}

bool fits(const Format& format, const Dims& shape) {
  try {
    packed_layout(format, shape);
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

// fn(format, shape, values, packer)
template <class F>
void for_each_case(F&& fn) {
  for (const X86Target& target : target_levels()) {
    const CompiledPacker packer = packer_for(target);
    for (const std::string& text : all_formats()) {
      const Format format = parse_format(text);
      uint64_t seed = 1;
      for (const Dims& shape : kShapes) {
        if (!fits(format, shape)) continue;
        SCOPED_TRACE(fmt::format("{} {} [{}]", to_string(target), text, fmt::join(shape, ",")));
        fn(format, shape, awkward_values(static_cast<size_t>(element_count(shape)), seed++), packer);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

void expect_same_values(std::span<const float> found, std::span<const float> expected, std::span<const float> x = {}) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(same_value(found[i], expected[i])) << "element " << i << (x.empty() ? "" : fmt::format(" ({})", x[i]))
                                                   << ": " << found[i] << ", expected " << expected[i];
}

TEST(Quantize, CompiledRoundingHasTheReferencesBits) {
  int compiled = 0;
  for_each_case([&](const Format& format, const Dims& shape, const std::vector<float>& x, const Packer& packer) {
    std::vector<float> found(x.size()), expected(x.size());
    QuantizeArgs args;
    compiled += quantize_args(format, shape, args).supported();
    fake_quantize(format, shape, x, expected);
    packer.fake_quantize(format, shape, x, found);
    expect_same_values(found, expected, x);
  });
  EXPECT_GT(compiled, 500);
}

TEST(Quantize, CompiledPackingHasTheReferencesBytes) {
  int compiled = 0;
  for_each_case([&](const Format& format, const Dims& shape, const std::vector<float>& x, const Packer& packer) {
    if (is_fake_only(format)) return;
    compiled += CompiledPacker::support(format, shape).supported();
    const Planes expected = pack(format, shape, x), found = packer.pack(format, shape, x);
    ASSERT_EQ(found.scales, expected.scales);
    ASSERT_EQ(found.zero_points, expected.zero_points);
    ASSERT_EQ(found.global, expected.global);
    const auto differs = std::ranges::mismatch(found.codes, expected.codes).in1;
    ASSERT_TRUE(differs == found.codes.end()) << "byte " << differs - found.codes.begin() << " of codes";
  });
  EXPECT_GT(compiled, 500);
}

TEST(Quantize, CompiledPackingCountsWhatTheReferenceCounts) {
  for_each_case([&](const Format& format, const Dims& shape, const std::vector<float>& x, const Packer& packer) {
    if (is_fake_only(format)) return;
    EncodeCounts expected, found;
    pack(format, shape, x, &expected);
    packer.pack(format, shape, x, &found);
    EXPECT_EQ(found.nan, expected.nan);
    EXPECT_EQ(found.inf, expected.inf);
    EXPECT_EQ(found.saturated, expected.saturated);
    EXPECT_EQ(found.flushed_to_zero, expected.flushed_to_zero);
  });
}

TEST(Quantize, GoldenVectorsComeOutCompiled) {
  const CompiledPacker packer(host_target(), {.threads = 1, .cache_folder = {}});
  int cases = 0;
  for (const char* family : {"float", "int", "minifloat", "log", "bfp", "bminifloat", "mx", "sign", "compat"}) {
    const Json document = golden::document(family);
    for (const Json& entry : document.at("formats")) {
      const Format format = parse_format(entry.at("format").get<std::string>());
      for (const Json& one : entry.at("cases")) {
        SCOPED_TRACE(fmt::format("{} {}", to_string(format), one.at("name").get<std::string>()));
        const auto shape = one.at("shape").get<Dims>();
        const std::vector<float> x = golden::floats_of(one.at("x").get<std::string>());
        std::vector<float> values(x.size());
        if (is_fake_only(format)) {
          packer.fake_quantize(format, shape, x, values);
          expect_same_values(values, golden::floats_of(one.at("fake").get<std::string>()), x);
        } else {
          const Planes planes = packer.pack(format, shape, x);
          EXPECT_EQ(planes.codes, golden::bytes_of(one.at("packed").get<std::string>()));
          packer.unpack(format, shape, view(planes), values);
          expect_same_values(values, golden::floats_of(one.at("decoded").get<std::string>()), x);
        }
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, 300);
}

TEST(Quantize, CompiledUnpackingHasTheReferencesBits) {
  for_each_case([&](const Format& format, const Dims& shape, const std::vector<float>& x, const Packer& packer) {
    if (is_fake_only(format)) return;
    const Planes planes = pack(format, shape, x);
    std::vector<float> found(x.size()), expected(x.size());
    unpack(format, shape, view(planes), expected);
    packer.unpack(format, shape, view(planes), found);
    expect_same_values(found, expected);
    std::vector<uint16_t> halves(x.size());
    static_cast<const CompiledPacker&>(packer).unpack_bf16(format, shape, view(planes), halves);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same_value(bf16_to_f32(halves[i]), bf16_to_f32(f32_to_bf16(expected[i])))) << "element " << i;
  });
}

}  // namespace
}  // namespace hone

// Quantizing kernels for CUDA give the reference's bits: every example of every format, over ragged sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/float_bits.h"
#include "base/multiples.h"
#include "base/philox.h"
#include "base/text.h"
#include "device/cuda/quantize/units.h"
#include "formats/registry.h"
#include "kernels/line_order.h"
#include "kernels/quantize/spans.h"
#include "tests/device_cuda/run_plan.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

using namespace test;
using golden::same_value;
using Task = QuantizePlan::Task;
using Dims = std::vector<int64_t>;

// Formats beside the examples: odd widths and groups, other rules and axes.
constexpr const char* kMore[] = {"int3.g16",         "int5.g8",       "int16.f8",      "int27.f3",
                                 "uint4.g32.asym",   "uint8.asym",    "mxint4.g16",    "mxint6.g48",
                                 "mxint8.rule=mse",  "int8.channel",  "mxfp8_e5m2.g8", "fp8_e4m3.g64",
                                 "mxfp6_e2m3.g1000", "minifloat_e5m6"};

std::vector<std::string> all_formats() {
  std::vector<std::string> formats(std::begin(kMore), std::end(kMore));
  for (const FormatDef* family : formats::all())
    for (const std::string& example : split(family->examples, ' ')) formats.push_back(example);
  return formats;
}

// Ordinary numbers, zeros of both signs, subnormals, huge ones, ties; NaN and infinity in a few places.
DeviceVector<float> awkward_values(size_t n, uint64_t seed) {
  Philox random(seed);
  DeviceVector<float> values(n);
  for (float& v : values) v = 0.1f * random.normal() * std::exp2(2 * random.normal());
  const float odd[] = {0.f, -0.f, 1e-40f, -3e-45f, 3e38f, -3.4e38f, 0.5f, -1.5f, 2.5f, 1e-30f, 6.f, 0.0078125f};
  for (size_t i = 0; i < n / 8; ++i) values[random.below(n)] = odd[random.below(std::size(odd))];
  const float strange[] = {std::nanf(""), HUGE_VALF, -HUGE_VALF};
  for (size_t i = 0; i < n / 400; ++i) values[random.below(n)] = strange[random.below(3)];
  for (size_t start = 0; start + 64 < n; start += 700)
    std::fill_n(values.begin() + static_cast<ptrdiff_t>(start), 64, start % 3 ? 0.f : -0.f);
  return values;
}

const Dims kShapes[] = {{37}, {3, 37}, {5, 200}, {3, 7, 33}, {2, 4500}};

bool fits(const Format& format, const Dims& shape) {
  try {
    packed_layout(format, shape);
    return true;
  } catch (const FormatError&) {
    return false;
  }
}

// The kernels of a format for one task, compiled once: those that leave parts, then the one that reads them.
class QuantizeKernels {
 public:
  QuantizeKernels(QuantizePlan plan, const CudaTarget& target) : plan_(plan), main_(plan, target) {
    const int stages = quantize_stages(parse_format(plan.format)).count;
    plan.task = Task::reduce;
    for (plan.stage = 0; plan.stage < stages; ++plan.stage) reductions_.emplace_back(plan, target);
  }

  ptx::Counts run(QuantizeArgs args, std::vector<DeviceBuffer> buffers, bool backwards = false) const {
    QuantizePlan reduce = plan_;
    reduce.task = Task::reduce;
    const QuantizeStages stages = quantize_stages(parse_format(plan_.format));
    if (stages.count) args.part_count = QuantizeUnits(reduce, kCudaThreads).parts(reduce, args);
    DeviceVector<std::byte> parts(static_cast<size_t>(args.part_count * stages.part_bytes));
    args.parts = parts.data();
    buffers.push_back(writes(parts));
    for (const CudaPlan& kernel : reductions_) kernel.run(to_args(args), buffers, backwards);
    return main_.run(to_args(args), buffers, backwards);
  }
  const CudaPlan& main() const { return main_; }

 private:
  QuantizePlan plan_;
  CudaPlan main_;
  std::vector<CudaPlan> reductions_;
};

TEST(CudaQuantize, RoundingHasTheReferencesBits) {
  int checked = 0;
  for (const std::string& text : all_formats()) {
    const Format format = parse_format(text);
    if (!quantize_support(format).supported()) continue;
    const QuantizeKernels kernels({.format = to_string(format)}, CudaTarget(checked % 3 ? 80 : 75));
    for (const Dims& shape : kShapes) {
      QuantizeArgs args;
      if (!fits(format, shape) || !quantize_args(format, shape, args).supported()) continue;
      DeviceVector<float> x = awkward_values(static_cast<size_t>(element_count(shape)), 7), out(x.size());
      std::vector<float> expected(x.size());
      fake_quantize(format, shape, {x.data(), x.size()}, expected);
      args.x = x.data(), args.out = out.data();
      kernels.run(args, {reads(x), writes(out)});
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(same_value(out[i], expected[i]))
            << text << " [" << fmt::format("{}", fmt::join(shape, ",")) << "] element " << i << " (" << x[i]
            << "): " << out[i] << ", not " << expected[i];
      ++checked;
    }
  }
  EXPECT_GT(checked, 200);
}

struct Packed {
  DeviceVector<std::byte> codes;
  DeviceVector<uint32_t> scales, zero_points;
  ptx::Counts counts;
};
template <class T>
Packed pack_by(const QuantizeKernels& kernels, const Format& format, const Dims& shape, DeviceVector<T>& x,
               bool backwards = false) {
  const PackedLayout layout = packed_layout(format, shape);
  const PlaneBytes bytes = plane_bytes(format, shape);
  Packed packed;
  packed.codes.resize(static_cast<size_t>(bytes.codes));
  packed.scales.resize(static_cast<size_t>(layout.groups * scales_per_group(format)));
  packed.zero_points.resize(static_cast<size_t>(bytes.zero_points ? layout.groups : 0));
  QuantizeArgs args = pack_args(format, layout);
  args.x = x.data(), args.out = packed.codes.data();
  args.scales = packed.scales.data(), args.zero_points = packed.zero_points.data();
  packed.counts =
      kernels.run(args, {reads(x), writes(packed.codes), writes(packed.scales), writes(packed.zero_points)}, backwards);
  return packed;
}

TEST(CudaQuantize, PackingHasTheReferencesCodesAndScales) {
  int checked = 0;
  for (const std::string& text : all_formats()) {
    const Format format = parse_format(text);
    if (is_fake_only(format) || !quantize_support(format).supported() || is_plain_float(format)) continue;
    const QuantizeKernels kernels({.task = Task::pack, .format = name_of_lines(format)},
                                  CudaTarget(checked % 3 ? 80 : 75));
    for (const Dims& shape : kShapes) {
      if (!fits(format, shape) || !pack_support(format, shape).supported()) continue;
      if (!LineOrder(format, shape).is_row_major()) continue;
      DeviceVector<float> x = awkward_values(static_cast<size_t>(element_count(shape)), 11);
      const Planes expected = pack(format, shape, std::span<const float>(x.data(), x.size()));
      const Packed found = pack_by(kernels, format, shape, x);
      const std::vector<uint32_t> scales = scale_codes_of(format, shape, golden::view(expected));
      ASSERT_TRUE(std::ranges::equal(found.scales, scales)) << text;
      const auto differs = std::ranges::mismatch(found.codes, expected.codes).in1;
      ASSERT_TRUE(differs == found.codes.end())
          << text << " [" << fmt::format("{}", fmt::join(shape, ",")) << "] byte " << differs - found.codes.begin();
      ++checked;
    }
  }
  EXPECT_GT(checked, 150);
}

TEST(CudaQuantize, BlocksInAnyOrderGiveTheSameBits) {
  for (const char* text : {"mxint8", "int8", "uint8.asym", "int8.channel"}) {
    const Format format = parse_format(text);
    const Dims shape{9, 1000};
    DeviceVector<float> x = awkward_values(9000, 4);
    const QuantizeKernels kernels({.task = Task::pack, .format = name_of_lines(format)}, CudaTarget(80));
    const Packed forwards = pack_by(kernels, format, shape, x), backwards = pack_by(kernels, format, shape, x, true);
    EXPECT_EQ(forwards.codes, backwards.codes) << text;
    EXPECT_EQ(forwards.scales, backwards.scales) << text;
  }
}

TEST(CudaQuantize, Mxint8IsReadAndWrittenInWholeSectors) {
  const Format format = parse_format("mxint8");
  const Dims shape{8, 2048};
  DeviceVector<uint16_t> x(8 * 2048);
  Philox rng(3);
  for (uint16_t& v : x) v = f32_to_bf16(rng.normal());
  const QuantizeKernels kernels(
      {.task = Task::pack, .format = name_of_lines(format), .x = DType::bf16, .scale_bytes = 1}, CudaTarget(80));
  const PackedLayout layout = packed_layout(format, shape);
  DeviceVector<std::byte> codes(8 * 2048), scales(static_cast<size_t>(layout.groups));
  QuantizeArgs args = pack_args(format, layout);
  args.x = x.data(), args.out = codes.data(), args.scales = scales.data();
  const ptx::Counts counts = kernels.run(args, {reads(x), writes(codes), writes(scales)});
  EXPECT_LE(kernels.main().sectors_over_least(counts), 1.1);  // a warp's eight scales are a quarter of a sector
  std::vector<float> values;
  for (const uint16_t v : x) values.push_back(bf16_to_f32(v));
  const Planes expected = pack(format, shape, values);
  EXPECT_TRUE(std::ranges::equal(codes, expected.codes));
  EXPECT_TRUE(std::ranges::equal(scales, expected.scales));
}

// Elements of a view that starts between multiples of 16 bytes, and rows of odd lengths, are read one by one.
TEST(CudaQuantize, ElementsMayStartAnywhere) {
  const Format format = parse_format("mxint8");
  const QuantizeKernels kernels({.format = to_string(format)}, CudaTarget(80));
  const Dims shape{3, 70};
  QuantizeArgs args;
  ASSERT_TRUE(quantize_args(format, shape, args).supported());
  DeviceVector<float> x = awkward_values(211, 2), out(211);
  std::vector<float> expected(210);
  fake_quantize(format, shape, std::span<const float>(x.data() + 1, 210), expected);
  args.x = x.data() + 1, args.out = out.data() + 1;
  kernels.run(args, {reads(x), writes(out)});
  for (size_t i = 0; i < 210; ++i) ASSERT_TRUE(same_value(out[i + 1], expected[i])) << i;
}

TEST(CudaQuantize, SaysWhatItHasNoCodeFor) {
  const CudaDevice device(CudaTarget(80));
  EXPECT_EQ(supports(device, QuantizePlan{.task = Task::unpack, .format = "mxint8"}).why,
            "codes without a table's layout: gather kernels decode");
  EXPECT_EQ(supports(device, QuantizePlan{.task = Task::pack, .format = "mxint8", .counts = true}).why,
            "counts of what codes cannot represent");
  EXPECT_EQ(supports(device, QuantizePlan{.format = "mxint8", .x = DType::f64}).why, "elements of type f64");
}

}  // namespace
}  // namespace hone

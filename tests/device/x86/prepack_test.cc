// Prepacked weights: layout, sizes and independence of threads. That kernels read them right is shown by gemm_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kernels/code_reader.h"
#include "device/x86/lane_layout.h"
#include "kernels/gemm/plan.h"
#include "tests/device/x86/gemm_run.h"

namespace hone::test {
namespace {

TEST(CodeReader, ReadsEveryWidthFromAnyBitAndNotBeyondTheEnd) {
  Philox rng(1);
  for (int bits = 1; bits <= 32; ++bits)
    for (int64_t first : {0, 3, 8, 13}) {
      constexpr size_t kCount = 37;
      std::vector<uint32_t> want(kCount);
      std::vector<std::byte> plane(static_cast<size_t>((first + static_cast<int64_t>(kCount) * bits + 7) / 8));
      for (size_t i = 0; i < kCount; ++i) {
        want[i] = static_cast<uint32_t>(rng.next64() & ((uint64_t{1} << bits) - 1));
        for (int b = 0; b < bits; ++b) {
          const size_t at = static_cast<size_t>(first) + i * static_cast<size_t>(bits) + static_cast<size_t>(b);
          if (want[i] >> b & 1) plane[at / 8] |= std::byte(1 << (at % 8));
        }
      }
      std::vector<uint32_t> got(kCount);
      read_codes(plane, first, bits, std::span<uint32_t>(got));
      EXPECT_EQ(got, want) << bits << " bits from " << first;
      if (bits > 8) continue;
      std::vector<uint8_t> bytes(kCount);
      read_codes(plane, first, bits, std::span<uint8_t>(bytes));
      EXPECT_EQ(std::vector<uint32_t>(bytes.begin(), bytes.end()), want) << bits << " bits from " << first;
      EXPECT_THROW(read_codes(std::span(plane).first(plane.size() - 1), first, bits, std::span<uint8_t>(bytes)), Bug);
    }
}

TEST(LaneLayout, SplitsEvenFromOddCodesAndWideCodesIntoPlanes) {
  std::vector<uint8_t> codes(32);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  const auto lanes = [&](std::vector<int> planes) {
    std::vector<uint32_t> out(5);
    out.resize(static_cast<size_t>(split_planes(codes.data(), planes, out.data()) - out.data()));
    return out;
  };
  EXPECT_EQ(lanes({4}), std::vector<uint32_t>{0x75316420});
  EXPECT_EQ(lanes({2}), std::vector<uint32_t>{0b11'01'11'01'11'01'11'01'10'00'10'00'10'00'10'00u});
  EXPECT_EQ(lanes({1}), std::vector<uint32_t>{0xffff0000});
  // Bits 4 and 5 of codes 0 to 15 are 0; bit 4 of codes 16 to 31 is 1.
  EXPECT_EQ(lanes({4, 2}), (std::vector<uint32_t>{0x75316420, 0xfdb9eca8, 0}));
  EXPECT_EQ(lanes({4, 1}), (std::vector<uint32_t>{0x75316420, 0xfdb9eca8, 0x75316420, 0xfdb9eca8, 0xff00ff00}));
}

// Three words of two 6-bit fields in each half; the bits they leave over make the fourth.
TEST(LaneLayout, PutsCodesIntoFieldsAndTheRestIntoWhatTheyLeaveOver) {
  std::vector<uint8_t> codes(16);
  for (size_t i = 0; i < 12; ++i) codes[i] = static_cast<uint8_t>(i);
  codes[12] = 0b110110;  // the even code of the fourth word's low byte
  std::vector<uint32_t> lanes(3);
  EXPECT_EQ(split_fields(codes.data(), 6, 6, lanes.data()), lanes.data() + 3);
  EXPECT_EQ(lanes, (std::vector<uint32_t>{0x03010200 | 0b10 << 6, 0x07050604 | 0b01 << 6, 0x0b090a08u | 0b11 << 6}));
}

TEST(Prepack, AnF32PanelIsTheTransposedWeight) {
  for (const X86Target& target : target_levels()) {
    constexpr int64_t kN = 50, kK = 7;
    std::vector<float> values(kN * kK);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const X86GemmPlan plan = plain_plan(kN, kK, DType::f32, DType::f32);
    const Buffer packed = lay_out(plan, target, Tensor::of({kN, kK}, values), 1);
    const GemmShape s = gemm_shape(plan, target);
    ASSERT_EQ(static_cast<int64_t>(packed.size()), prepacked_bytes(plan, target));
    const auto* floats = reinterpret_cast<const float*>(packed.bytes().data());
    for (int64_t column = 0; column < s.panels() * s.panel_columns(); ++column)
      for (int64_t k = 0; k < kK; ++k) {
        const int64_t at =
            column / s.panel_columns() * s.panel_bytes() / 4 + k * s.panel_columns() + column % s.panel_columns();
        ASSERT_EQ(floats[at], column < kN ? static_cast<float>(column * kK + k) : 0)
            << to_string(target) << " " << column << " " << k;
      }
  }
}

// Weights of ONNX lie as [K,N]; panels are made of them without putting them in order first.
TEST(Prepack, WeightsByColumnsGiveTheSamePanels) {
  Philox rng(3);
  for (const X86Target& target : target_levels())
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {50, 7}, {130, 33}, {64, 96}, {700, 2048}})
        for (const int threads : {1, 2}) {
          const X86GemmPlan plan = plain_plan(n, k, dtype, dtype);
          const Tensor w = random_tensor(DType::f32, {n, k}, rng).converted(dtype);
          const int64_t size = size_bytes(dtype);
          Buffer by_columns = Buffer::copy_of(Buffer(w.data()).transposed(n, k, size).bytes());
          const Tensor lying(dtype, {n, k}, by_columns.transposed(k, n, size));
          ASSERT_TRUE(lying.data().source().has_value());
          const Buffer got = lay_out(plan, target, lying, threads);
          EXPECT_TRUE(lying.data().source().has_value());
          const Buffer want = lay_out(plan, target, w, 1);
          EXPECT_TRUE(std::ranges::equal(got.bytes(), want.bytes()))
              << to_string(target) << " " << to_string(dtype) << " " << n << " x " << k;
        }
}

TEST(Prepack, BytesDoNotDependOnThreads) {
  Philox rng(2);
  const Tensor plain = random_tensor(DType::f32, {700, 96}, rng);
  for (const char* format : {"", "mxint8", "mxfp6_e2m3", "int4.g32", "int8.channel"}) {
    const X86GemmPlan plan =
        *format ? packed_plan(format, 700, 96, DType::f32, 0) : plain_plan(700, 96, DType::f32, DType::f32);
    const Tensor w = *format ? pack(parse_format(format), plain) : plain;
    const Buffer one = lay_out(plan, host_target(), w, 1), two = lay_out(plan, host_target(), w, 2);
    EXPECT_TRUE(std::ranges::equal(one.bytes(), two.bytes())) << format;
  }
}

// Panels hold what the format holds: codes as they are, but 7 bits in 8.
TEST(Prepack, BytesStayCloseToTheFormats) {
  constexpr int64_t kN = 768, kK = 768;
  for (auto [format, bits] : {std::pair{"mxint8", 8.25},
                              {"mxfp8_e4m3", 8.25},
                              {"mxfp4", 4.25},
                              {"int4.g128", 4.25},
                              {"int8.channel", 8.05},
                              {"int2", 2.05},
                              {"mxfp6_e2m3", 6.25},
                              {"int12.channel", 12.05},
                              {"int3.g32", 4}})
    for (const X86Target& target : target_levels()) {
      const double stored =
          8.0 * static_cast<double>(prepacked_bytes(packed_plan(format, kN, kK, DType::f32, 0), target)) / (kN * kK);
      EXPECT_LE(stored, bits * 1.005) << format << " " << to_string(target);
    }
}

// One weight serves kernels for one row and for many.
TEST(Prepack, LayoutDoesNotDependOnTheExpectedRows) {
  Philox rng(3);
  const Tensor w = pack(parse_format("mxint8"), random_tensor(DType::f32, {100, 64}, rng));
  const Buffer few = lay_out(packed_plan("mxint8", 100, 64, DType::bf16, 1), host_target(), w, 1);
  const Buffer many = lay_out(packed_plan("mxint8", 100, 64, DType::bf16, 500), host_target(), w, 1);
  EXPECT_TRUE(std::ranges::equal(few.bytes(), many.bytes()));
}

TEST(Prepack, OtherWeightsThanThePlansAreABug) {
  Philox rng(4);
  const Tensor w = random_tensor(DType::f32, {8, 8}, rng);
  EXPECT_THROW(lay_out(plain_plan(8, 9, DType::f32, DType::f32), host_target(), w, 1), Bug);
  EXPECT_THROW(lay_out(plain_plan(8, 8, DType::f32, DType::bf16), host_target(), w, 1), Bug);
  EXPECT_THROW(lay_out(packed_plan("mxint8", 8, 8, DType::f32, 0), host_target(), w, 1), Bug);
}

}  // namespace
}  // namespace hone::test

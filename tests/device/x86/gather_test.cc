// Gather kernels: rows of plain and of packed tables, bit for bit as the reference unpacks them.
#include <gtest/gtest.h>

#include "base/float_bits.h"
#include "base/text.h"
#include "formats/packed.h"
#include "kernels/gather/plan.h"
#include "tests/device/x86/at_the_edge.h"
#include "tests/device/x86/kernel_runner.h"
#include "tests/support/packed_examples.h"
#include "tests/support/scalar_values.h"

namespace hone {
namespace {

using namespace test;

constexpr int64_t kRows = 11;

std::vector<float> table_values(int64_t columns) {
  Philox rng(8);
  std::vector<float> values(static_cast<size_t>(kRows * columns));
  for (float& v : values) v = rng.normal() * 0.4f;
  values[3] = 0, values[4] = -0.0f;
  if (columns > 40)
    values[static_cast<size_t>(columns) + 33] =
        std::nanf("");  // one group of the second row is NaN where groups have scales
  return values;
}

void check_packed(const std::string& name, int64_t columns, const X86Target& target) {
  const Format format = parse_format(name);
  const int64_t shape[] = {kRows, columns};
  const std::vector<float> values = table_values(columns);
  const Planes planes = pack(format, shape, values);
  std::vector<float> expected(values.size());
  unpack(format, shape, {planes.codes, planes.scales, planes.zero_points, planes.global}, expected);
  GatherPlan plan{.columns = columns, .table_format = name, .rows = kRows};
  const std::vector<int64_t> ids{0, 10, 1, -1, 5, -11, 1};
  Guarded out(ids.size() * static_cast<size_t>(columns) * 4);
  AtTheEdge codes(planes.codes), scales(planes.scales), zero_points(planes.zero_points), global(planes.global);
  const GatherArgs args{.table = codes.data(),
                        .scales = scales.data(),
                        .ids = const_cast<int64_t*>(ids.data()),
                        .out = out.data(),
                        .zero_points = zero_points.data(),
                        .global_scale = global.data(),
                        .results = std::ssize(ids),
                        .rows = kRows,
                        .ids_per_table = std::ssize(ids)};
  CompiledPlan(plan, target).run(args, 3);
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t row = ids[i] < 0 ? ids[i] + kRows : ids[i];
      const float want = expected[static_cast<size_t>(row * columns + c)],
                  found = out.as<float>()[i * static_cast<size_t>(columns) + static_cast<size_t>(c)];
      ASSERT_TRUE(same_value(Scalar::f32, bits(found), bits(want)))
          << name << " " << to_string(target) << " row " << row << " column " << c << ": " << found << ", not " << want;
    }
  EXPECT_TRUE(out.intact());
}

TEST(Gather, EveryPackedFormatDecodesAsTheReferenceUnpacks) {
  int checked = 0;
  for (const std::string& name : packed_examples()) {
    for (int64_t columns : {64, 72, 37}) {
      for (const X86Target& target : target_levels()) {
        ASSERT_EQ(supports(GatherPlan{.columns = columns, .table_format = name, .rows = kRows}, target).why, "");
        check_packed(name, columns, target);
      }
      ++checked;
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(Gather, TheFormatsOfLargeTablesAreSupported) {
  for (const char* name :
       {"mxint8", "mxint4", "mxfp4", "mxfp8_e4m3", "int8", "int8.channel", "int4.g128", "int4.g32", "mxfp6_e2m3"})
    EXPECT_EQ(supports(GatherPlan{.columns = 384, .table_format = name}, parse_target("avx2")).why, "") << name;
}

TEST(Gather, PlainRowsAreCopiedAndConverted) {
  constexpr int64_t kColumns = 37;
  std::vector<uint16_t> table(kRows * kColumns);
  for (size_t i = 0; i < table.size(); ++i) table[i] = f32_to_bf16(static_cast<float>(i) * 0.5f);
  const std::vector<int32_t> ids{3, -1, 0};
  for (const X86Target& target : target_levels()) {
    Guarded out(3 * kColumns * 4);
    const GatherArgs args{.table = table.data(),
                          .ids = const_cast<int32_t*>(ids.data()),
                          .out = out.data(),
                          .results = 3,
                          .rows = kRows,
                          .ids_per_table = 3};
    CompiledPlan({GatherPlan{.columns = kColumns, .table = DType::bf16, .table_format = "", .ids = DType::i32}}, target)
        .run(args);
    for (int64_t c = 0; c < kColumns; ++c) {
      EXPECT_EQ(out.as<float>()[static_cast<size_t>(c)], bf16_to_f32(table[static_cast<size_t>(3 * kColumns + c)]));
      EXPECT_EQ(out.as<float>()[static_cast<size_t>(kColumns + c)],
                bf16_to_f32(table[static_cast<size_t>(10 * kColumns + c)]));
    }
    EXPECT_TRUE(out.intact());
  }
}

TEST(Gather, TablesOneBehindTheOther) {
  std::vector<int32_t> tables(2 * 3 * 5), ids{2, -3};
  for (size_t i = 0; i < tables.size(); ++i) tables[i] = static_cast<int32_t>(i);
  const GatherPlan plan{.columns = 5, .table = DType::i32, .ids = DType::i32, .result = DType::i32};
  for (const X86Target& target : target_levels()) {
    Guarded out(2 * 2 * 5 * 4);
    const GatherArgs args{
        .table = tables.data(), .ids = ids.data(), .out = out.data(), .results = 4, .rows = 3, .ids_per_table = 2};
    CompiledPlan(plan, target).run(args, 3);
    const int first[] = {10, 0, 25, 15};  // of each row
    for (size_t i = 0; i < 20; ++i) EXPECT_EQ(out.as<int32_t>()[i], first[i / 5] + static_cast<int>(i % 5)) << i;
    EXPECT_TRUE(out.intact());
  }
}

TEST(Gather, RefusesWithTheReason) {
  EXPECT_NE(supports(GatherPlan{.columns = 8, .table_format = "", .ids = DType::f32}, parse_target("avx2")).why, "");
  EXPECT_NE(supports(GatherPlan{.columns = 8, .table = DType::f32, .table_format = "", .result = DType::i64},
                     parse_target("avx2"))
                .why,
            "");
}

}  // namespace
}  // namespace hone

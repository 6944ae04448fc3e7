// Rows of plain and of packed tables, and whole tables decoded, for CUDA: bit for bit as the reference unpacks them.
#include <gtest/gtest.h>

#include "base/float_bits.h"
#include "base/philox.h"
#include "device/cuda/packed_rows.h"
#include "formats/packed.h"
#include "kernels/gather/plan.h"
#include "tests/device_cuda/run_plan.h"
#include "tests/formats/golden.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

using namespace test;
using golden::same_value;

constexpr int64_t kRows = 11;

struct PackedTableOf {
  PackedTableOf(const Format& format, std::span<const int64_t> shape, const Planes& planes)
      : codes(planes.codes.begin(), planes.codes.end()),
        scales(planes.scales.begin(), planes.scales.end()),
        zero_points(planes.zero_points.begin(), planes.zero_points.end()),
        global(planes.global.begin(), planes.global.end()),
        values(static_cast<size_t>(shape[0] * shape[1])) {
    unpack(format, shape, golden::view(planes), values);
  }
  DeviceVector<std::byte> codes, scales, zero_points, global;
  std::vector<float> values;
};

// All rows of a table, decoded.
template <class T>
struct Decoded {
  DeviceVector<T> out = {};
  ptx::Counts counts = {};
};
template <class T>
Decoded<T> decode(const CudaPlan& kernel, PackedTableOf& table, int64_t rows, bool backwards = false) {
  Decoded<T> d{DeviceVector<T>(table.values.size()), {}};
  const GatherArgs args{.table = table.codes.data(),
                        .scales = table.scales.data(),
                        .out = d.out.data(),
                        .zero_points = table.zero_points.data(),
                        .global_scale = table.global.data(),
                        .results = rows,
                        .rows = rows,
                        .ids_per_table = rows};
  d.counts = kernel.run(
      args, {reads(table.codes), reads(table.scales), reads(table.zero_points), reads(table.global), writes(d.out)},
      backwards);
  return d;
}

std::vector<float> random_values(size_t n, uint64_t seed) {
  Philox rng(seed);
  std::vector<float> values(n);
  for (float& v : values) v = rng.normal() * 0.4f;
  values[3] = 0, values[4] = -0.0f;
  if (n > 600) values[33] = std::nanf("");
  return values;
}

// Row s of the table has scale s, column c code c.
TEST(CudaGather, EveryMxint8CodeTimesEveryScaleIsExactInBf16) {
  const Format format = parse_format("mxint8");
  const int64_t shape[] = {256, 256};
  Planes planes = pack(format, shape, std::vector<float>(65536, 0.0f));
  for (size_t i = 0; i < 65536; ++i) planes.codes[i] = static_cast<std::byte>(i % 256);
  for (size_t i = 0; i < planes.scales.size(); ++i) planes.scales[i] = static_cast<std::byte>(i / 8);
  PackedTableOf table(format, shape, planes);
  for (const int capability : {75, 80, 90}) {
    const CudaPlan kernel(GatherPlan{.columns = 256,
                                     .table = DType::f32,
                                     .table_format = "mxint8",
                                     .rows = 256,
                                     .every_row = true,
                                     .result = DType::bf16},
                          CudaTarget(capability));
    const Decoded<uint16_t> d = decode<uint16_t>(kernel, table, 256);
    for (size_t i = 0; i < d.out.size(); ++i)
      ASSERT_TRUE(same_value(bf16_to_f32(d.out[i]), bf16_to_f32(f32_to_bf16(table.values[i]))))
          << "scale " << i / 256 << " code " << i % 256 << ": " << bf16_to_f32(d.out[i]) << ", not " << table.values[i];
    EXPECT_LE(kernel.sectors_over_least(d.counts), 1.02);
    EXPECT_EQ(decode<uint16_t>(kernel, table, 256, true).out, d.out);
    if (capability >= 80) {  // two fma a pair, and no other arithmetic of bf16
      EXPECT_EQ(d.counts.of(kernel.kernel(), "fma.rn.bf16x2").executed, 65536 / 64 * 2);
    }
  }
}

void check_decoded(const std::string& name, int64_t columns, const CudaTarget& target) {
  const Format format = parse_format(name);
  const int64_t shape[] = {kRows, columns};
  PackedTableOf table(format, shape, pack(format, shape, random_values(static_cast<size_t>(kRows * columns), 8)));
  const GatherPlan plan{.columns = columns, .table_format = name, .rows = kRows, .every_row = true};
  Decoded<float> d;
  ASSERT_NO_THROW(d = decode<float>(CudaPlan(plan, target), table, kRows)) << name << " of " << columns << " columns";
  for (size_t i = 0; i < d.out.size(); ++i)
    ASSERT_TRUE(same_value(d.out[i], table.values[i]))
        << name << " of " << columns << " columns, element " << i << ": " << d.out[i] << ", not " << table.values[i];
}

TEST(CudaGather, EveryFormatDecodesAsTheReferenceUnpacks) {
  int checked = 0;
  for (const std::string& name : packed_examples()) {
    if (!packed_rows_support(parse_format(name)).supported()) continue;
    for (const int64_t columns : {64, 37}) check_decoded(name, columns, CudaTarget(checked++ % 3 ? 80 : 75));
  }
  EXPECT_GT(checked, 100);
}

// A result as wide as what a thread has of 16 bytes is written in whole sectors.
TEST(CudaGather, DecodedTablesAreReadAndWrittenInWholeSectors) {
  for (const char* name : {"mxint8", "mxint4", "mxfp4", "mxfp8_e4m3", "int8.channel", "int4.g128", "mxfp6_e2m3"})
    for (const DType result : {DType::bf16, DType::f32}) {
      const Format format = parse_format(name);
      const int64_t shape[] = {16, 512};
      PackedTableOf table(format, shape, pack(format, shape, random_values(16 * 512, 3)));
      const CudaPlan kernel(
          GatherPlan{.columns = 512, .table_format = name, .rows = 16, .every_row = true, .result = result},
          CudaTarget(80));
      const ptx::Counts counts =
          result == DType::f32 ? decode<float>(kernel, table, 16).counts : decode<uint16_t>(kernel, table, 16).counts;
      const bool whole_words = result == DType::bf16 || format.element.bits % 2 == 0;
      if (whole_words && format.element.bits != 6) {
        EXPECT_LE(kernel.sectors_over_least(counts), 1.02) << name << " " << to_string(result);
      }
    }
}

TEST(CudaGather, RowsOfPackedTablesByNumbersFromBothEnds) {
  for (const char* name : {"mxint8", "uint4.g32.asym", "mxfp4", "int3.g16", "rsign2.g32", "uint4.g32.s=u6.m=u6",
                           "int6.g16.s=i8", "iq4_nl.s=i6", "uint5.g32.s=fp16.m=fp16"})
    for (const int64_t columns : {64, 37, 512}) {
      const Format format = parse_format(name);
      if ((columns == 512) != is_two_level(format)) continue;  // several super-blocks a row
      const int64_t shape[] = {kRows, columns};
      PackedTableOf table(format, shape, pack(format, shape, random_values(static_cast<size_t>(kRows * columns), 5)));
      DeviceVector<int64_t> ids{0, 10, 1, -1, 5, -11, 1};
      DeviceVector<float> out(ids.size() * static_cast<size_t>(columns));
      const CudaPlan kernel(GatherPlan{.columns = columns, .table_format = name, .rows = kRows}, CudaTarget(80));
      const GatherArgs args{.table = table.codes.data(),
                            .scales = table.scales.data(),
                            .ids = ids.data(),
                            .out = out.data(),
                            .zero_points = table.zero_points.data(),
                            .global_scale = table.global.data(),
                            .results = std::ssize(ids),
                            .rows = kRows,
                            .ids_per_table = std::ssize(ids)};
      kernel.run(args, {reads(table.codes), reads(table.scales), reads(table.zero_points), reads(table.global),
                        reads(ids), writes(out)});
      for (size_t i = 0; i < out.size(); ++i) {
        const int64_t id = ids[i / static_cast<size_t>(columns)], row = id < 0 ? id + kRows : id;
        const float want = table.values[static_cast<size_t>(row * columns) + i % static_cast<size_t>(columns)];
        ASSERT_TRUE(same_value(out[i], want)) << name << " row " << row << ": " << out[i] << ", not " << want;
      }
    }
}

// Views of other tensors start where they like.
TEST(CudaGather, PlainRowsAreCopiedAndConvertedWhereverTheyStart) {
  for (const int64_t columns : {37, 40, 8})
    for (const size_t skipped : {0, 1, 4}) {
      DeviceVector<uint16_t> table(kRows * static_cast<size_t>(columns) + skipped);
      for (size_t i = 0; i < table.size(); ++i) table[i] = f32_to_bf16(static_cast<float>(i % 200) * 0.5f);
      DeviceVector<int32_t> ids{3, -1, 0};
      DeviceVector<float> out(3 * static_cast<size_t>(columns) + skipped);
      const CudaPlan kernel(GatherPlan{.columns = columns, .table = DType::bf16, .table_format = "", .ids = DType::i32},
                            CudaTarget(80));
      const GatherArgs args{.table = table.data() + skipped,
                            .ids = ids.data(),
                            .out = out.data() + skipped,
                            .results = 3,
                            .rows = kRows,
                            .ids_per_table = 3};
      kernel.run(args, {reads(table), reads(ids), writes(out)});
      for (size_t i = 0; i < 3; ++i)
        for (size_t c = 0; c < static_cast<size_t>(columns); ++c) {
          const size_t row = i == 0 ? 3 : i == 1 ? kRows - 1 : 0;
          EXPECT_EQ(out[skipped + i * static_cast<size_t>(columns) + c],
                    bf16_to_f32(table[skipped + row * static_cast<size_t>(columns) + c]));
        }
    }
}

TEST(CudaGather, TablesOneBehindTheOther) {
  DeviceVector<int32_t> tables(2 * 3 * 5), ids{2, -3};
  for (size_t i = 0; i < tables.size(); ++i) tables[i] = static_cast<int32_t>(i);
  DeviceVector<int32_t> out(20);
  const CudaPlan kernel(GatherPlan{.columns = 5, .table = DType::i32, .ids = DType::i32, .result = DType::i32},
                        CudaTarget(75));
  const GatherArgs args{
      .table = tables.data(), .ids = ids.data(), .out = out.data(), .results = 4, .rows = 3, .ids_per_table = 2};
  kernel.run(args, {reads(tables), reads(ids), writes(out)});
  const int first[] = {10, 0, 25, 15};  // of each row
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(out[i], first[i / 5] + static_cast<int>(i % 5)) << i;
}

TEST(CudaGather, DescribesWhichLaneTakesWhichCodes) {
  const CudaDevice device(CudaTarget(80));
  const GatherPlan plan{
      .columns = 14336, .table_format = "mxint8", .rows = 4096, .every_row = true, .result = DType::bf16};
  EXPECT_EQ(describe(device, plan),
            "rows of 14336 mxint8; a block owns 4096 elements of them, 4 times 1024 of 128 threads: lane l of warp w "
            "takes 8 codes from 256 w + 8 l on");
}

}  // namespace
}  // namespace hone

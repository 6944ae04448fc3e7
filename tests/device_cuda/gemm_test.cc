// Matrix products on CUDA: every unit, tile, layout and format on the interpreter, within the bound of a sum.
#include <gtest/gtest.h>

#include <limits>

#include "base/float_bits.h"
#include "formats/bits.h"
#include "tests/device_cuda/gemm_run.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

using namespace test;

TEST(CudaGemm, PlainWeightsAtSizesThatAreMultiplesOfNothing) {
  Philox rng(1);
  for (const CudaTarget& target : {CudaTarget(75), CudaTarget(80), CudaTarget(90)})
    for (const auto& [a_type, w_type] :
         {std::pair(DType::f32, DType::f32), {DType::bf16, DType::bf16}, {DType::f32, DType::bf16}}) {
      if (target.capability() != 80 && a_type != w_type) continue;
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 35, 77}, {5, 64, 520}, {37, 50, 136}}) {
        const Tensor w = normal_matrix(w_type, {n, k}, rng), a = normal_matrix(a_type, {m, k}, rng);
        CudaProductRunner runner(product_plan(n, k, a_type, w_type), target, w, m);
        const CudaProduct product = runner.run(a);
        EXPECT_EQ(first_fault(product.values, exact_products(a, w), k), "")
            << to_string(target) << " " << to_string(a_type) << " " << m << " " << n << " " << k;
        EXPECT_EQ(runner.run(a, true).values, product.values) << "blocks in another order";
      }
    }
}

// Formats beside the examples whose layouts differ: code widths, tiny and odd groups, one scale in all.
std::vector<std::string> tested_formats() {
  std::vector<std::string> names = packed_examples();
  for (const char* name : {"int4.g128", "int8.g5", "int3.g32", "int5.channel", "int12.g16", "uint8", "int2.f0",
                           "mxint8.g10", "mxint2", "mxfp8_e4m3.g16", "fp8_e5m2.g32", "int4.f2", "minifloat_e5m7",
                           "int20.f10", "uint4.g16.asym", "uint8.channel.asym", "int4.g48"})
    names.push_back(name);
  return names;
}

TEST(CudaGemm, EveryFormatAsPairsAndAsFloats) {
  Philox rng(2);
  constexpr int64_t kN = 35, kK = 77;
  for (const std::string& name : tested_formats()) {
    if (!prepackable(parse_format(name)).supported()) continue;
    const Tensor w = pack(parse_format(name), normal_matrix(DType::f32, {kN, kK}, rng));
    for (const auto& [dtype, m] : {std::pair(DType::f32, 3), {DType::bf16, 19}}) {
      const Tensor a = normal_matrix(dtype, {m, kK}, rng);
      CudaProductRunner runner(packed_product(name, kN, kK, dtype), CudaTarget(80), w, m);
      EXPECT_EQ(first_fault(runner.run(a).values, exact_products(a, w), kK), "") << name << " " << to_string(dtype);
    }
  }
}

TEST(CudaGemm, LongGroupsWholeSlabsAndFewRows) {
  Philox rng(3);
  constexpr int64_t kN = 64, kK = 1024;
  for (const char* name : {"mxint8", "mxfp4", "mxint4", "nvfp4", "int4.g128", "int8.channel", "uint4.g128.asym",
                           "uint4.g32.s=u6.m=u6", "int6.g16.s=i8", "uint5.g32.s=fp16.m=fp16", "iq4_nl.s=i6"}) {
    const Tensor w = pack(parse_format(name), normal_matrix(DType::f32, {kN, kK}, rng));
    for (const int64_t m : {1, 16}) {
      const Tensor a = normal_matrix(DType::bf16, {m, kK}, rng);
      for (const CudaTarget& target : {CudaTarget(75), CudaTarget(90)}) {
        if (target.capability() == 75 && m > 1) continue;
        CudaProductRunner runner(packed_product(name, kN, kK, DType::bf16), target, w, m);
        EXPECT_GT(runner.plan().tile.warps_k, 1);
        EXPECT_EQ(first_fault(runner.run(a).values, exact_products(a, w), kK), "") << name << " " << to_string(target);
      }
    }
  }
}

// The identity times W: results are single weights, of all pairs of a code and a scale. -2 · 2^127 is an infinity,
// which times 0 is NaN: it has a row of its own.
TEST(CudaGemm, EveryCodeTimesEveryScaleOfMxint8IsExact) {
  constexpr int64_t kN = 257, kK = 256, kLargest = 254, kLeast = 128, kAlone = 256;
  const Format format = parse_format("mxint8");
  const Tensor like = pack(format, Tensor(DType::f32, {kN, kK}));
  Buffer codes(like.data().size()), scales(like.scales().size());
  ASSERT_EQ(scales.size(), static_cast<size_t>(kN * kK / 32));
  for (int64_t row = 0; row < kN; ++row) {
    for (int64_t k = 0; k < kK; ++k) {
      const bool is_least = k == kLeast, taken = row == kAlone ? is_least : !(row == kLargest && is_least);
      codes.mutable_bytes()[static_cast<size_t>(row * kK + k)] = static_cast<std::byte>(taken ? k : 0);
    }
    for (int64_t g = 0; g < kK / 32; ++g)
      scales.mutable_bytes()[static_cast<size_t>(row * kK / 32 + g)] =
          static_cast<std::byte>(row == kAlone ? kLargest : row);
  }
  const Tensor w = Tensor::packed(format, {kN, kK}, codes, scales, like.zero_points(), like.global());
  const std::vector<float> want = w.to_floats();
  std::vector<float> identity(kK * kK);
  for (int64_t k = 0; k < kK; ++k) identity[static_cast<size_t>(k * kK + k)] = 1;
  for (const CudaTarget& target : {CudaTarget(75), CudaTarget(80), CudaTarget(90)}) {
    const Tensor a = Tensor::from_floats(DType::bf16, {kK, kK}, identity);
    const std::vector<float> got =
        CudaProductRunner(packed_product("mxint8", kN, kK, DType::bf16), target, w, kK).run(a).values;
    for (int64_t row = 0; row < kN; ++row)
      for (int64_t k = 0; k < kK; ++k) {
        if (row == kAlone && k != kLeast) continue;
        const float x = got[static_cast<size_t>(k * kN + row)], y = want[static_cast<size_t>(row * kK + k)];
        if (std::isnan(y)) ASSERT_TRUE(std::isnan(x)) << to_string(target) << " scale " << row << " code " << k;
        else ASSERT_EQ(x, y) << to_string(target) << " scale " << row << " code " << k;
      }
  }
}

struct Activations {
  int64_t m, n, k;
  DType dtype;
  bool by_columns;
  GemmPlan::Weights weights;
  bool open = false;   // n and k are arguments
  int64_t longer = 0;  // lines than they need be
};

// Elements [line][along] of a matrix whose lines are `stride` apart.
Tensor cut(const Tensor& lines, int64_t count, int64_t along, bool turned) {
  const std::vector<float> values = lines.to_floats();
  std::vector<float> out(static_cast<size_t>(count * along));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < along; ++j)
      out[static_cast<size_t>(turned ? j * count + i : i * along + j)] =
          values[static_cast<size_t>(i * lines.dim(1) + j)];
  return turned ? Tensor::from_floats(lines.dtype(), {along, count}, out)
                : Tensor::from_floats(lines.dtype(), {count, along}, out);
}

void expect_product(const Activations& c, const CudaTarget& target, Philox& rng) {
  const bool nk = c.weights == GemmPlan::Weights::activation_nk;
  const int64_t a_lines = c.by_columns ? c.k : c.m, a_along = c.by_columns ? c.m : c.k;
  const int64_t w_lines = nk ? c.n : c.k, w_along = nk ? c.k : c.n;
  const Tensor a = normal_matrix(c.dtype, {a_lines, a_along + c.longer}, rng),
               w = normal_matrix(c.dtype, {w_lines, w_along + c.longer}, rng);
  CudaGemmPlan plan = product_plan(c.open ? 0 : c.n, c.open ? 0 : c.k, c.dtype, c.dtype);
  plan.a_by_columns = c.by_columns, plan.weights = c.weights;
  plan.tile = cuda_gemm_tile(plan, target, c.m, c.n);
  DeviceVector<std::byte> in = on_device(a.data()), weights = on_device(w.data());
  DeviceVector<float> out(static_cast<size_t>(c.m * c.n), -7.0f);
  const GemmArgs args{.a = in.data(),
                      .w = weights.data(),
                      .epilogue = {out.data()},
                      .m = c.m,
                      .batches = 1,
                      .a_row = a.dim(1),
                      .w_row = w.dim(1),
                      .inner_batches = 1,
                      .n = c.n,
                      .k = c.k};
  CudaPlan(plan, target).run(args, {reads(in), reads(weights), writes(out)});
  EXPECT_EQ(first_fault({out.begin(), out.end()},
                        exact_products(cut(a, a_lines, a_along, c.by_columns), cut(w, w_lines, w_along, !nk)), c.k),
            "")
      << to_string(target) << " " << to_string(c.dtype) << " m " << c.m << " n " << c.n << " k " << c.k
      << (c.by_columns ? " by columns" : "") << (nk ? " nk" : " kn");
}

TEST(CudaGemm, ActivationsByRowsAndByColumns) {
  Philox rng(4);
  for (const bool by_columns : {false, true})
    for (const auto weights : {GemmPlan::Weights::activation_nk, GemmPlan::Weights::activation_kn})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        expect_product({24, 72, 80, dtype, by_columns, weights}, CudaTarget(80), rng);
        expect_product({37, 45, 67, dtype, by_columns, weights, true, 3}, CudaTarget(80), rng);
        if (by_columns == (weights == GemmPlan::Weights::activation_nk))
          expect_product({5, 40, 24, dtype, by_columns, weights, true, 8}, CudaTarget(75), rng);
      }
}

// Two outer, three middle and two inner batches, W shared along the middle; a bias, a full operand and one of rows.
TEST(CudaGemm, BatchesAndEpilogues) {
  Philox rng(5);
  constexpr int64_t kM = 18, kN = 20, kK = 40, kBatches = 12;
  const Tensor a = normal_matrix(DType::bf16, {kBatches * kM, kK}, rng),
               w = normal_matrix(DType::bf16, {4 * kN, kK}, rng);
  const Tensor bias = normal_matrix(DType::f32, {1, kN}, rng),
               full = normal_matrix(DType::bf16, {kBatches * kM, kN}, rng),
               row = normal_matrix(DType::f32, {kBatches, kM}, rng);
  CudaGemmPlan plan = product_plan(kN, kK, DType::bf16, DType::bf16);
  plan.weights = GemmPlan::Weights::activation_nk;
  plan.middle_loops = 1;
  plan.operands = {{DType::f32, Epilogue::Access::column},
                   {DType::bf16, Epilogue::Access::full},
                   {DType::f32, Epilogue::Access::row}};
  const auto arg = [](int i) { return Expr::arg(i, Scalar::f32); };
  const Expr results[] = {arg(0) + arg(1) + arg(2), arg(0) * arg(3)};
  plan.results = {DType::f32, DType::bf16};
  plan.program = flatten(results);
  const CudaTarget target(86);
  plan.tile = cuda_gemm_tile(plan, target, kM, kN * kBatches);
  DeviceVector<std::byte> in = on_device(a.data()), weights = on_device(w.data()), b = on_device(bias.data()),
                          f = on_device(full.data()), r = on_device(row.data());
  DeviceVector<float> sums(static_cast<size_t>(kBatches * kM * kN));
  DeviceVector<uint16_t> scaled(sums.size());
  const GemmArgs args{.a = in.data(),
                      .w = weights.data(),
                      .epilogue = {b.data(), f.data(), r.data(), sums.data(), scaled.data()},
                      .m = kM,
                      .batches = kBatches,
                      .batch_strides = {6 * kM * kK, 2 * kN * kK, 6 * kM * kN},
                      .a_row = kK,
                      .w_row = kK,
                      .inner_batches = 2,
                      .inner_strides = {kM * kK, kN * kK, kM * kN},
                      .n = kN,
                      .k = kK,
                      .middle_loops = {3, 2 * kM * kK, 0, 2 * kM * kN}};
  CudaPlan(plan, target)
      .run(args, {reads(in), reads(weights), reads(b), reads(f), reads(r), writes(sums), writes(scaled)});
  const std::vector<float> biases = bias.to_floats(), fulls = full.to_floats(), rows = row.to_floats();
  for (int64_t batch = 0; batch < kBatches; ++batch) {
    const int64_t of_w = batch / 6 * 2 + batch % 2;
    const auto part = [&](const Tensor& t, int64_t first, int64_t count) {
      const std::vector<float> all = t.to_floats();
      return Tensor::from_floats(t.dtype(), {count, kK},
                                 std::vector<float>(all.begin() + first * kK, all.begin() + (first + count) * kK));
    };
    const std::vector<ExactSum> want = exact_products(part(a, batch * kM, kM), part(w, of_w * kN, kN));
    for (int64_t i = 0; i < kM; ++i)
      for (int64_t j = 0; j < kN; ++j) {
        const ExactSum& s = want[static_cast<size_t>(i * kN + j)];
        const auto at = static_cast<size_t>((batch * kM + i) * kN + j);
        const double added = s.sum + biases[static_cast<size_t>(j)] + fulls[at],
                     times = s.sum * rows[static_cast<size_t>(batch * kM + i)],
                     bound = product_sum_bound(s.magnitudes, kK);
        const double magnitude = s.magnitudes + std::abs(biases[static_cast<size_t>(j)]) + std::abs(fulls[at]);
        ASSERT_NEAR(sums[at], added, bound + 2 * kEpsF32 * magnitude) << batch << " " << i << " " << j;
        ASSERT_NEAR(bf16_to_f32(scaled[at]), times,
                    rounded_bound(
                        times, bound * std::abs(rows[static_cast<size_t>(batch * kM + i)]) + kEpsF32 * std::abs(times),
                        kEpsBf16));
      }
  }
}

// Instructions of a step over its products, of 128 rows: what two lengths of k differ by. Moves between registers are
// left out: allocation makes them one register.
double slots_per_product(const std::string& format, const CudaTarget& target) {
  Philox rng(6);
  constexpr int64_t kM = 128, kN = 128;
  int64_t instructions[2], products[2];
  for (const int steps : {4, 8}) {
    const int64_t k = 64 * steps;
    const Tensor a = normal_matrix(DType::bf16, {kM, k}, rng), w = normal_matrix(DType::f32, {kN, k}, rng);
    CudaGemmPlan plan =
        format.empty() ? product_plan(kN, k, DType::bf16, DType::bf16) : packed_product(format, kN, k, DType::bf16);
    plan.tile = {.warps_n = 4, .row_tiles = 8, .column_tiles = 2, .stages = 3};  // of many rows
    const CudaPlan kernel(plan, target);
    const Tensor stored =
        format.empty() ? Tensor::from_floats(DType::bf16, {kN, k}, w.to_floats()) : pack(parse_format(format), w);
    DeviceVector<std::byte> in = on_device(a.data()), weights = on_device(lay_out(CudaDevice(target), plan, stored, 1));
    DeviceVector<float> out(static_cast<size_t>(kM * kN));
    const GemmArgs args{.a = in.data(),
                        .w = weights.data(),
                        .epilogue = {out.data()},
                        .m = kM,
                        .batches = 1,
                        .a_row = k,
                        .inner_batches = 1};
    const ptx::Counts counts = kernel.run(args, {reads(in), reads(weights), writes(out)});
    EXPECT_EQ(first_fault({out.begin(), out.end()}, exact_products(a, stored), k), "") << format;
    EXPECT_EQ(kernel.bank_cycles_over_least(counts), 1.0) << format;
    EXPECT_LE(kernel.sectors_over_least(counts), 1.02) << format;
    const auto of = [&](std::string_view name) { return counts.of(kernel.kernel(), name).executed; };
    instructions[steps / 8] = counts.all().executed - of("mov");
    products[steps / 8] = of("mma");
  }
  return static_cast<double>(instructions[1] - instructions[0]) / static_cast<double>(products[1] - products[0]);
}

// Golden numbers, and a hundredth for compilers: 128 products, 32 loads of rows, 4 to 12 of weights and scales, 48 for
// copies; decoding takes 5 to 6 instructions a pair of weights, which eight products share.
TEST(CudaGemm, AProductOfManyRowsTakesAtMostFiveIssueSlots) {
  for (const auto& [format, slots] : {std::pair("", 2.88),
                                      {"mxint8", 4.72},
                                      {"mxfp4", 4.80},
                                      {"mxint4", 4.36},
                                      {"int8.channel", 4.88},
                                      {"int4.g128", 4.86}})
    EXPECT_LE(slots_per_product(format, CudaTarget(80)), slots + 0.01) << format;
}

TEST(CudaGemm, WhatThereIsNoCodeForIsRefusedWithTheReason) {
  const CudaDevice device(CudaTarget(80));
  CudaGemmPlan plan = product_plan(8, 8, DType::i8, DType::i8);
  EXPECT_EQ(supports(device, plan).why, "integer products; CUDA has them for f32 and bf16");
  plan = packed_product("fp32", 8, 8, DType::f32);
  EXPECT_NE(supports(device, plan).why.find("plain element type"), std::string::npos);
  plan = product_plan(8, 8, DType::f16, DType::f16);
  EXPECT_NE(supports(device, plan).why.find("activations of f16"), std::string::npos);
}

TEST(CudaGemm, TilesGrowWithTheWorkAndSayWhoOwnsWhat) {
  const CudaTarget target(90);
  const CudaGemmPlan plan = packed_product("mxint8", 4096, 4096, DType::bf16);
  const auto rows_of = [&](int64_t m) { return cuda_gemm_tile(plan, target, m, plan.n).rows(); };
  EXPECT_EQ(rows_of(1), 16);
  EXPECT_EQ(rows_of(16), 16);
  EXPECT_EQ(rows_of(64), 32);
  EXPECT_EQ(rows_of(8192), 128);
  CudaGemmPlan many = plan;
  many.tile = cuda_gemm_tile(plan, target, 8192, plan.n);
  EXPECT_EQ(describe(CudaDevice(target), many),
            "k 4096 n 4096: a block has 128 rows x 128 columns, its 4 warps (1 by rows, 4 by columns, 1 by k) 128 x 32 "
            "each; mxint8 weights, 16 x 64 a warp, decoded in registers (lane l: columns l/4 + 8j, k 16s + 8r + 2(l%4) "
            "+ e); bf16 products (mma.sync)");
}

// Each code and scale has a place of its own, and bytes are those of the planes where sizes are whole tiles.
TEST(CudaGemm, WeightsAreLaidOutOnceAndTakeTheirPlanesBytes) {
  for (const char* name : {"mxint8", "mxfp4", "int4.g128", "mxfp6_e2m3", "int3.g32", "nvfp4", "mxint2"}) {
    const GemmPlan plan = packed_product(name, 256, 512, DType::bf16);
    const PlaneBytes planes = plane_bytes(parse_format(name), std::vector<int64_t>{256, 512});
    const WeightTiles tiles = weight_tiles(plan, TileOrder::fragments);
    EXPECT_LE(tiles.bytes(),
              planes.codes + planes.scales * 8 / std::max(1, std::min(8, parse_format(name).scale.bits)) + 48)
        << name;
  }
  for (const TileOrder order : {TileOrder::fragments, TileOrder::runs})
    for (const int bits : {3, 4, 8, 16}) {
      WeightTiles tiles{.n = 32, .k = 64, .order = order, .bits = bits};
      tiles.nibble_pairs = bits == 4 && order == TileOrder::fragments;
      std::vector<int> seen(static_cast<size_t>(tiles.tile_bytes() * 8));
      for (int column = 0; column < tiles.columns(); ++column)
        for (int d = 0; d < tiles.depth(); ++d) {
          const auto [lane, index] = tiles.place(column, d);
          for (int bit = tiles.first_bit(index); bit < tiles.first_bit(index) + bits; ++bit)
            ++seen[static_cast<size_t>(tiles.word_offset(bit / 32, lane) * 8 + bit % 32)];
        }
      EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; })) << bits;
    }
}

}  // namespace
}  // namespace hone

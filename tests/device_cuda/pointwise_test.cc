// Pointwise kernels for CUDA: every dtype, any sizes and strides, the bits of the CPU's kernels, whole sectors.
#include "kernels/pointwise/plan.h"

#include <gtest/gtest.h>

#include "base/float_bits.h"
#include "base/multiples.h"
#include "tests/device/x86/kernel_runner.h"
#include "tests/device_cuda/run_plan.h"
#include "tests/support/random_expr.h"
#include "tests/support/scalar_values.h"

namespace hone {
namespace {

using namespace test;
using Inner = PointwisePlan::Inner;

constexpr DType kDTypes[] = {DType::boolean, DType::i8,  DType::i16, DType::i32,  DType::i64, DType::u8, DType::u16,
                             DType::u32,     DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64};

PointwisePlan copy_plan(DType from, DType to) {
  PointwisePlan plan;
  plan.operands = {{from, Inner::contiguous}};
  plan.results = {to};
  plan.program = flatten(Expr::arg(0, compute_scalar(from)));
  return plan;
}

std::vector<CudaTarget> targets() { return {CudaTarget(75), CudaTarget(80)}; }

TEST(CudaPointwise, CopiesEveryDTypeAtOddSizesAndPlaces) {
  Philox rng(1);
  for (const CudaTarget& target : targets())
    for (const DType dtype : kDTypes) {
      const CudaPlan kernel(copy_plan(dtype, dtype), target);
      const auto size = static_cast<size_t>(size_bytes(dtype));
      for (const int64_t n : {1, 3, 8, 17, 1000})
        for (const size_t skipped : {0, 1}) {  // elements in front
          DeviceVector<std::byte> in((static_cast<size_t>(n) + skipped) * size), out(in.size());
          for (std::byte& b : in) b = static_cast<std::byte>(dtype == DType::boolean ? rng.below(2) : rng.below(100));
          const auto from = std::span(in).subspan(skipped * size), to = std::span(out).subspan(skipped * size);
          void *const sources[] = {from.data()}, *const results[] = {to.data()};
          const DeviceBuffer buffers[] = {{from, false}, {to}};
          kernel.run(flat_args(sources, results, n), buffers);
          EXPECT_TRUE(std::ranges::equal(from, to)) << to_string(dtype) << " " << n << " " << to_string(target);
        }
    }
}

std::vector<uint64_t> values_of(Scalar type, size_t count, Philox& rng) {
  std::vector<uint64_t> values = edge_values(type);
  while (values.size() < count) values.push_back(random_value(type, rng));
  values.resize(count);
  return values;
}

DeviceVector<std::byte> stored(Scalar type, const std::vector<uint64_t>& values) {
  const auto size = static_cast<size_t>(size_bytes(plain_dtype(type)));
  DeviceVector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * size, &values[i], size);
  return bytes;
}

// Both devices' results over the same values; NaN are equal to each other.
void expect_equal_bits(const Program& program, const CudaTarget& target, size_t count, uint32_t seed) {
  Philox rng(seed);
  const PointwisePlan plan = flat_plan(program);
  const CudaPlan cuda(plan, target);
  CompiledPlan cpu(plan, parse_target("avx2"));
  std::vector<DeviceVector<std::byte>> in, out, expected;
  std::vector<DeviceBuffer> buffers;
  std::vector<void*> sources, results, cpu_results;
  for (const Scalar type : program.args) in.push_back(stored(type, values_of(type, count, rng)));
  for (size_t j = 0; j < program.results.size(); ++j) {
    const auto size = static_cast<size_t>(size_bytes(plan.results[j]));
    out.emplace_back(count * size), expected.emplace_back(count * size);
  }
  for (auto& x : in) sources.push_back(x.data()), buffers.push_back(reads(x));
  for (auto& y : out) results.push_back(y.data()), buffers.push_back(writes(y));
  for (auto& y : expected) cpu_results.push_back(y.data());
  const auto n = static_cast<int64_t>(count);
  cuda.run(flat_args(sources, results, n), buffers);
  cpu.run(flat_args(sources, cpu_results, n));
  for (size_t j = 0; j < out.size(); ++j) {
    const Scalar type = program.result_type(static_cast<int>(j));
    const auto size = static_cast<size_t>(size_bytes(plan.results[j]));
    for (size_t i = 0; i < count; ++i) {
      uint64_t got = 0, wanted = 0;
      std::memcpy(&got, out[j].data() + i * size, size), std::memcpy(&wanted, expected[j].data() + i * size, size);
      ASSERT_TRUE(same_value(type, got, wanted)) << "result " << j << " of element " << i << ": " << std::hex << got
                                                 << " instead of " << wanted << " on " << to_string(target);
    }
  }
}

TEST(CudaPointwise, FunctionsHaveTheBitsOfTheCpu) {
  const Expr x = Expr::arg(0, Scalar::f32), y = Expr::arg(1, Scalar::f32);
  // A vector of the CPU with any element from 2^15 on goes through the C library as a whole.
  const Expr is_far = abs(x) >= 32768.0f, near = select(is_far, 1.0f, x), far = select(is_far, x, 1e6f);
  const Expr results[] = {exp(x),   log(x),   tanh(x), erf(x),    sin(near), cos(near),
                          sin(far), cos(far), x / y,   pow(x, y), sqrt(x),   floor(x) + ceil(y)};
  for (const CudaTarget& target : targets())
    for (size_t i = 0; i < std::size(results); ++i) {
      SCOPED_TRACE(i);
      expect_equal_bits(flatten(results[i]), target, 700, 5);
    }
}

TEST(CudaPointwise, RandomProgramsHaveTheBitsOfTheCpu) {
  Philox rng(2);
  int made = 0;
  while (made < 24) {
    const Program program =
        RandomProgram(rng, {.args = {Scalar::f32, Scalar::i32, Scalar::f64, Scalar::u64, Scalar::boolean}}).make();
    const CudaTarget target(made % 4 ? 80 : 75);
    if (!supports(CudaDevice(target), flat_plan(program)).supported()) continue;
    SCOPED_TRACE(made);
    expect_equal_bits(program, target, 200, static_cast<uint32_t>(made++));
  }
}

TEST(CudaPointwise, StoresRoundAsFloatBitsDoes) {
  DeviceVector<float> values;
  for (const uint64_t b : edge_values(Scalar::f32)) values.push_back(as_f32(b));
  for (uint32_t b = 0; b < 0x7f800000; b += 300011)
    values.push_back(std::bit_cast<float>(b)), values.push_back(-values.back());
  for (const float x : {0x1p-126f, 0x1p-133f, 0x1.8p-134f, 0x1p-134f, 0x1.fffffep-127f, 65519.0f, 65520.0f, 0x1.8p-25f})
    values.push_back(x), values.push_back(-x);
  for (const CudaTarget& target : targets())
    for (const DType dtype : {DType::bf16, DType::f16}) {
      DeviceVector<uint16_t> out(values.size());
      void *const sources[] = {values.data()}, *const results[] = {out.data()};
      const DeviceBuffer buffers[] = {reads(values), writes(out)};
      CudaPlan(copy_plan(DType::f32, dtype), target)
          .run(flat_args(sources, results, static_cast<int64_t>(values.size())), buffers);
      for (size_t i = 0; i < values.size(); ++i) {
        const bool is_bf16 = dtype == DType::bf16;
        if (std::isnan(values[i])) ASSERT_GT(out[i] & 0x7fff, is_bf16 ? 0x7f80 : 0x7c00);
        else ASSERT_EQ(out[i], is_bf16 ? f32_to_bf16(values[i]) : f32_to_f16(values[i])) << values[i];
      }
    }
}

TEST(CudaPointwise, StridedAndBroadcastOperandsOfThreeAxes) {
  // result[i,j,k] = a[k,j,i] * b[j] + index, a transposed, b broadcast along i and k.
  constexpr int64_t I = 3, J = 5, K = 19;
  PointwisePlan plan;
  plan.rank = 3;
  plan.operands = {{DType::f32, Inner::strided}, {DType::bf16, Inner::broadcast}};
  plan.results = {DType::f32, DType::boolean};
  const Expr product = Expr::arg(0, Scalar::f32) * Expr::arg(1, Scalar::f32) + cast(Scalar::f32, Expr::index());
  const Expr expressions[] = {product, product > 20};
  plan.program = flatten(expressions);
  DeviceVector<float> a(I * J * K), out(a.size());
  DeviceVector<uint16_t> b(J);
  DeviceVector<uint8_t> flags(a.size());
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) * 0.25f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = f32_to_bf16(static_cast<float>(i) - 2);
  const CudaPlan kernel(plan, CudaTarget(80));
  const PointwiseKernelArgs args{.values = {a.data(), b.data(), out.data(), flags.data()},
                                 .sizes = {I, J, K, /*a*/ 1, I, I * J, /*b*/ 0, 1, 0}};
  for (const bool backwards : {false, true}) {
    std::ranges::fill(out, 0), std::ranges::fill(flags, 7);
    kernel.run(args, {reads(a), reads(b), writes(out), writes(flags)}, backwards);
    for (int64_t i = 0; i < I; ++i)
      for (int64_t j = 0; j < J; ++j)
        for (int64_t k = 0; k < K; ++k) {
          const auto flat = static_cast<size_t>((i * J + j) * K + k);
          const float expected =
              a[static_cast<size_t>((k * J + j) * I + i)] * (static_cast<float>(j) - 2) + static_cast<float>(flat);
          ASSERT_EQ(out[flat], expected) << i << " " << j << " " << k;
          ASSERT_EQ(flags[flat], expected > 20);
        }
  }
}

TEST(CudaPointwise, ResultsThatArePartsOfLargerOnes) {
  // out[2 + i, 8 j … 8 j + 7] = in[i, j, :] of rows 40 apart, of which 32 are written.
  PointwisePlan plan;
  plan.rank = 3, plan.dense = false;
  plan.operands = {{DType::f32, Inner::contiguous}};
  plan.results = {DType::f32};
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  DeviceVector<float> in(3 * 4 * 8), out(5 * 40, -1.0f);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const PointwiseKernelArgs args{.values = {in.data(), out.data() + 80}, .sizes = {3, 4, 8, 32, 8, 1, 40, 8, 1}};
  CudaPlan(plan, CudaTarget(75)).run(args, {reads(in), writes(out)});
  for (size_t r = 0; r < 5; ++r)
    for (size_t c = 0; c < 40; ++c)
      EXPECT_EQ(out[r * 40 + c], r >= 2 && c < 32 ? in[(r - 2) * 32 + c] : -1.0f) << r << " " << c;
}

TEST(CudaPointwise, EverySectorIsTouchedOnce) {
  const Expr x = Expr::arg(0, Scalar::f32), y = Expr::arg(1, Scalar::f32);
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8, DType::f64}) {
    PointwisePlan plan = copy_plan(dtype, dtype);
    const CudaPlan kernel(plan, CudaTarget(80));
    DeviceVector<std::byte> in(8192 * static_cast<size_t>(size_bytes(dtype))), out(in.size());
    void *const sources[] = {in.data()}, *const results[] = {out.data()};
    const DeviceBuffer buffers[] = {reads(in), writes(out)};
    const ptx::Counts counts = kernel.run(flat_args(sources, results, 8192), buffers);
    EXPECT_LE(kernel.sectors_over_least(counts), 1.02) << to_string(dtype);
    EXPECT_EQ(counts.all().bytes, static_cast<int64_t>(2 * in.size())) << to_string(dtype);
  }
  PointwisePlan mixed = flat_plan(flatten(x * y));
  mixed.operands[1].dtype = DType::bf16;
  const CudaPlan kernel(mixed, CudaTarget(80));
  DeviceVector<float> a(4096), out(4096);
  DeviceVector<uint16_t> b(4096);
  void *const sources[] = {a.data(), b.data()}, *const results[] = {out.data()};
  const DeviceBuffer buffers[] = {reads(a), reads(b), writes(out)};
  EXPECT_LE(kernel.sectors_over_least(kernel.run(flat_args(sources, results, 4096), buffers)), 1.02);
}

TEST(CudaPointwise, PtxIsTheOldestThatAnArchitectureIsIn) {
  const PointwisePlan plan = copy_plan(DType::f32, DType::f32);
  for (const auto& [capability, version] : {std::pair(75, 63), {80, 70}, {86, 71}, {89, 78}, {90, 78}}) {
    const CudaPlan kernel(plan, CudaTarget(capability));
    EXPECT_EQ(kernel.module().version, version);
    EXPECT_EQ(kernel.module().target, fmt::format("sm_{}", capability));
  }
}

TEST(CudaPointwise, WhatThereIsNoCodeForIsRefusedWithTheReason) {
  const CudaDevice device(CudaTarget(80));
  EXPECT_EQ(supports(device, flat_plan(flatten(exp(Expr::arg(0, Scalar::f64))))).why, "exp of f64");
  PointwisePlan plan = copy_plan(DType::f32, DType::f32);
  plan.rank = 7;
  EXPECT_FALSE(supports(device, plan).supported());
}

}  // namespace
}  // namespace hone

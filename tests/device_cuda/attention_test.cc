// Attention kernels for CUDA against softmax(scale · q·kᵀ + mask) · v in double.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "base/float_bits.h"
#include "base/philox.h"
#include "device/cuda/attention/shape.h"
#include "formats/packed.h"
#include "tests/device_cuda/run_plan.h"
#include "tests/formats/golden.h"
#include "tests/support/attention_bound.h"

namespace hone {
namespace {

using namespace test;
using Mask = AttentionPlan::Mask;
using Task = CudaAttentionPlan::Task;

struct AttentionCase {
  int64_t batches = 1, queries = 1, keys = 1;
  int heads = 1, kv_heads = 1, head_dim = 8, value_dim = 0;  // 0: head_dim
  DType dtype = DType::f32, result = DType::f32;
  Mask mask = Mask::none;
  std::vector<int64_t> mask_shape = {};  // [B or 1, H or 1, S or 1, T]
  int64_t before = kSeesAll, behind = kSeesAll;
  bool sinks = false, blind_is_zero = false, few = false, splits = false;
  float softcap = 0;
  int64_t page_rows = 0;
  std::string k_format = "", v_format = "";
  int64_t skipped = 0;  // elements in front of q, k and v, and between their rows
  int v_dim() const { return value_dim ? value_dim : head_dim; }
  bool limited() const { return before != kSeesAll || behind != kSeesAll; }
};

CudaAttentionPlan plan_of(const AttentionCase& c) {
  CudaAttentionPlan plan;
  plan.heads = c.heads, plan.kv_heads = c.kv_heads, plan.head_dim = c.head_dim, plan.value_dim = c.v_dim();
  plan.dtype = c.dtype, plan.result = c.result, plan.k_format = c.k_format, plan.v_format = c.v_format;
  plan.page_rows = c.page_rows, plan.table = DType::i32, plan.mask = c.mask, plan.limited = c.limited();
  plan.sinks = c.sinks, plan.blind_is_zero = c.blind_is_zero, plan.scale = 0.3f, plan.softcap = c.softcap;
  plan.splits = c.splits, plan.few = c.few;
  return plan;
}

// Rows of an operand: their values, and how they lie, `stride` elements apart.
struct Operand {
  std::vector<double> values;
  DeviceVector<std::byte> bytes, scales, zero_points;
  int64_t stride = 0;
  int64_t first = 0;  // byte
};

Operand plain_rows(const AttentionCase& c, int64_t rows, int64_t columns, Philox& rng) {
  Operand o{.stride = columns + c.skipped};
  const auto size = static_cast<size_t>(size_bytes(c.dtype));
  o.first = c.skipped * static_cast<int64_t>(size);
  o.bytes.resize(static_cast<size_t>(rows * o.stride + c.skipped) * size);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < columns; ++i) {
      const float x = bf16_to_f32(f32_to_bf16(rng.normal()));
      o.values.push_back(x);
      const uint16_t half = f32_to_bf16(x);
      std::byte* to = o.bytes.data() + static_cast<size_t>(r * o.stride + i + c.skipped) * size;
      if (size == 2) std::memcpy(to, &half, 2);
      else std::memcpy(to, &x, 4);
    }
  return o;
}

Operand packed_rows(const std::string& name, int64_t rows, int64_t columns, Philox& rng) {
  const Format format = parse_format(name);
  const int64_t shape[] = {rows, columns};
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& v : values) v = rng.normal();
  const Planes planes = pack(format, shape, values);
  unpack(format, shape, golden::view(planes), values);
  Operand o{.values = {values.begin(), values.end()}, .stride = columns};
  o.bytes.assign(planes.codes.begin(), planes.codes.end());
  o.scales.assign(planes.scales.begin(), planes.scales.end());
  o.zero_points.assign(planes.zero_points.begin(), planes.zero_points.end());
  return o;
}

// The rows of sequences in pages that a table names, some of which it counts from the end.
struct Pages {
  DeviceVector<int32_t> table;
  int64_t per_sequence = 0, count = 0;
};
Pages make_pages(const AttentionCase& c, Philox& rng) {
  Pages p;
  if (c.page_rows == 0) return p;
  p.per_sequence = (c.keys + c.page_rows - 1) / c.page_rows;
  p.count = c.batches * p.per_sequence + 2;
  std::vector<int32_t> order(static_cast<size_t>(p.count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  for (int64_t i = 0; i < c.batches * p.per_sequence; ++i) {
    const int32_t page = order[static_cast<size_t>(i)];
    p.table.push_back(i % 3 == 0 ? page - static_cast<int32_t>(p.count) : page);
  }
  return p;
}
// Row t of sequence b among the rows of all pages.
int64_t paged_row(const AttentionCase& c, const Pages& p, int64_t b, int64_t t) {
  const int32_t page = p.table[static_cast<size_t>(b * p.per_sequence + t / c.page_rows)];
  return (page < 0 ? page + p.count : page) * c.page_rows + t % c.page_rows;
}

struct Inputs {
  Operand q, k, v;
  Pages pages;
  DeviceVector<float> added, sinks;
  DeviceVector<uint8_t> chosen;
};
Inputs random_inputs(const AttentionCase& c, uint64_t seed) {
  Philox rng(seed);
  Inputs in;
  in.q = plain_rows(c, c.batches * c.queries, int64_t{c.heads} * c.head_dim, rng);
  in.pages = make_pages(c, rng);
  const int64_t rows = c.page_rows ? in.pages.count * c.page_rows : c.batches * c.keys;
  const auto keys_of = [&](const std::string& format, int64_t columns) {
    return format.empty() ? plain_rows(c, rows, columns, rng) : packed_rows(format, rows, columns, rng);
  };
  in.k = keys_of(c.k_format, int64_t{c.kv_heads} * c.head_dim);
  in.v = keys_of(c.v_format, int64_t{c.kv_heads} * c.v_dim());
  int64_t masked = 1;
  for (const int64_t d : c.mask_shape) masked *= d;
  if (c.mask == Mask::added)
    for (int64_t i = 0; i < masked; ++i) in.added.push_back(i % c.keys && rng.below(3) == 0 ? -1e9f : rng.normal());
  if (c.mask == Mask::chosen)
    for (int64_t i = 0; i < masked; ++i) in.chosen.push_back(i < c.keys ? 0 : rng.below(3) != 0);
  if (c.sinks)
    for (int h = 0; h < c.heads; ++h) in.sinks.push_back(rng.normal());
  return in;
}

std::vector<int64_t> mask_strides(const AttentionCase& c) {
  if (c.mask_shape.empty()) return {0, 0, 0};
  const int64_t t = c.keys, s = t * c.mask_shape[2], h = s * c.mask_shape[1];
  return {c.mask_shape[0] == 1 ? 0 : h, c.mask_shape[1] == 1 ? 0 : s, c.mask_shape[2] == 1 ? 0 : t};
}

struct Ran {
  std::vector<float> values;
  double bank_cycles = 0;  // over the least
  int64_t products = 0;    // mma
  int64_t executed = 0;    // instructions of warps
};

Ran run(const AttentionCase& c, Inputs& in, const CudaTarget& target, bool backwards = false,
        ptx::Sums sums = ptx::Sums::once) {
  const CudaAttentionPlan plan = plan_of(c);
  const int64_t out_row = int64_t{c.heads} * c.v_dim();
  DeviceVector<std::byte> out(static_cast<size_t>(c.batches * c.queries * out_row * size_bytes(c.result)));
  const std::vector<int64_t> strides = mask_strides(c);
  CudaAttentionArgs args;
  args.q = in.q.bytes.data() + in.q.first, args.k = in.k.bytes.data() + in.k.first;
  args.v = in.v.bytes.data() + in.v.first, args.out = out.data(), args.sinks = in.sinks.data();
  args.mask = c.mask == Mask::added ? static_cast<void*>(in.added.data()) : in.chosen.data();
  args.k_scales = in.k.scales.data(), args.k_zero_points = in.k.zero_points.data();
  args.v_scales = in.v.scales.data(), args.v_zero_points = in.v.zero_points.data();
  args.table = in.pages.table.data();
  args.batches = c.batches, args.queries = c.queries, args.keys = c.keys;
  args.q_row = in.q.stride, args.k_row = in.k.stride, args.v_row = in.v.stride, args.out_row = out_row;
  args.mask_strides = {strides[0], strides[1], strides[2]};
  args.first_position = c.keys - c.queries, args.before = c.before, args.behind = c.behind;
  args.sequence_pages = in.pages.per_sequence, args.k_pages = args.v_pages = in.pages.count;
  DeviceVector<std::byte> shared(static_cast<size_t>(attention_shared_bytes(plan, target, args)));
  args.shared = shared.data();
  const DeviceBuffer buffers[] = {reads(in.q.bytes),       reads(in.k.bytes),       reads(in.v.bytes),
                                  reads(in.k.scales),      reads(in.k.zero_points), reads(in.v.scales),
                                  reads(in.v.zero_points), reads(in.added),         reads(in.chosen),
                                  reads(in.sinks),         reads(in.pages.table),   writes(out),
                                  writes(shared)};
  const CudaPlan kernel(plan, target);
  const ptx::Counts counts = kernel.run(to_args(args), buffers, backwards, sums);
  Ran ran{.bank_cycles = kernel.bank_cycles_over_least(counts),
          .products = counts.of(kernel.kernel(), "mma").executed,
          .executed = counts.all().executed};
  if (c.splits) {
    CudaAttentionPlan join = plan;
    join.task = Task::join;
    join.k_format = join.v_format = "", join.page_rows = 0;
    CudaPlan(join, target).run(to_args(args), buffers, backwards, sums);
  }
  const auto count = static_cast<size_t>(c.batches * c.queries * out_row);
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, out.data() + i * static_cast<size_t>(size_bytes(c.result)),
                static_cast<size_t>(size_bytes(c.result)));
    ran.values.push_back(c.result == DType::f32 ? std::bit_cast<float>(bits)
                                                : bf16_to_f32(static_cast<uint16_t>(bits)));
  }
  return ran;
}

ErrorRow exact(std::vector<double> values) {
  ErrorRow row{.value = std::move(values)};
  row.error.assign(row.value.size(), 0.0);
  return row;
}

// Keys or values by sequence.
std::vector<double> rows_in_order(const AttentionCase& c, const Operand& o, const Pages& pages, int64_t columns) {
  if (c.page_rows == 0) return o.values;
  std::vector<double> values;
  for (int64_t b = 0; b < c.batches; ++b)
    for (int64_t t = 0; t < c.keys; ++t) {
      const auto first = o.values.begin() + paged_row(c, pages, b, t) * columns;
      values.insert(values.end(), first, first + columns);
    }
  return values;
}

AttentionBound bound_of(const AttentionCase& c, const Inputs& in, bool rounds_weights) {
  AttentionBound bound{.q = exact(in.q.values),
                       .k = exact(rows_in_order(c, in.k, in.pages, int64_t{c.kv_heads} * c.head_dim)),
                       .v = exact(rows_in_order(c, in.v, in.pages, int64_t{c.kv_heads} * c.v_dim())),
                       .mask = exact(c.mask == Mask::added ? std::vector<double>(in.added.begin(), in.added.end())
                                                           : std::vector<double>(in.chosen.begin(), in.chosen.end())),
                       .batches = c.batches,
                       .queries = c.queries,
                       .keys = c.keys,
                       .heads = c.heads,
                       .kv_heads = c.kv_heads,
                       .columns = c.head_dim,
                       .value_columns = c.v_dim(),
                       .scale = double{0.3f},
                       .softcap = c.softcap,
                       .is_chosen = c.mask == Mask::chosen,
                       .blind_is_zero = c.blind_is_zero,
                       .rounds_weights = rounds_weights,
                       .first = c.keys - c.queries,
                       .before = c.before,
                       .behind = c.behind,
                       .sinks = exact({in.sinks.begin(), in.sinks.end()})};
  bound.mask_strides = mask_strides(c);
  bound.mask_strides.push_back(1);
  return bound;
}

Ran check(const AttentionCase& c, const CudaTarget& target, uint64_t seed) {
  Inputs in = random_inputs(c, seed);
  const Ran ran = run(c, in, target);
  const AttentionBound bound = bound_of(c, in, CudaAttentionShape(plan_of(c), target).by_mma);
  const std::vector<double> errors = bound.result();
  const int64_t d = c.v_dim();
  size_t at = 0;
  for (int64_t b = 0; b < c.batches; ++b)
    for (int64_t s = 0; s < c.queries; ++s)
      for (int64_t h = 0; h < c.heads; ++h) {
        const AttentionBound::Weights w = bound.weights(b, s, h);
        for (int64_t i = 0; i < d; ++i, ++at) {
          double want = 0;
          for (int64_t t = 0; t < c.keys; ++t)
            want += w.value[static_cast<size_t>(t)] *
                    bound.v.value[bound.key(b, t, h) * static_cast<size_t>(d) + static_cast<size_t>(i)];
          double allowed = errors[at];
          if (c.result == DType::bf16) allowed = rounded_bound(want, allowed, kEpsBf16);
          const std::string where = fmt::format("b {} s {} h {} column {}, sm_{}", b, s, h, i, target.capability());
          if (std::isnan(want)) EXPECT_TRUE(std::isnan(ran.values[at])) << where;
          else EXPECT_NEAR(ran.values[at], want, allowed) << where;
          if (testing::Test::HasFailure()) return ran;
        }
      }
  return ran;
}

// By mma, by fma of f32, and by fma of bf16.
struct Way {
  DType dtype;
  int capability;
};
constexpr Way kWays[] = {{DType::bf16, 80}, {DType::f32, 80}, {DType::bf16, 75}};

void check_ways(AttentionCase c, uint64_t seed) {
  for (const Way& way : kWays) {
    c.dtype = way.dtype;
    check(c, CudaTarget(way.capability), seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(CudaAttention, LengthsAndHeadSizesAroundTheTile) {
  for (auto [queries, keys, head_dim, value_dim] : {std::tuple<int64_t, int64_t, int, int>{1, 1, 1, 1},
                                                    {8, 16, 32, 32},
                                                    {9, 33, 64, 64},
                                                    {70, 130, 32, 32},
                                                    {66, 37, 20, 48},
                                                    {3, 70, 7, 9},
                                                    {17, 65, 128, 128}})
    check_ways(
        {.queries = queries, .keys = keys, .heads = 2, .kv_heads = 2, .head_dim = head_dim, .value_dim = value_dim}, 1);
}

TEST(CudaAttention, WideHeads) {
  check_ways({.queries = 3, .keys = 40, .heads = 1, .kv_heads = 1, .head_dim = 256}, 2);
  check_ways({.queries = 2, .keys = 20, .heads = 1, .kv_heads = 1, .head_dim = 192, .value_dim = 72}, 2);
}

TEST(CudaAttention, MasksOfEveryBroadcast) {
  for (const Mask mask : {Mask::added, Mask::chosen})
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{1, 1, 1, 19}, {2, 1, 10, 19}, {1, 3, 10, 19}, {2, 3, 10, 19}})
      check_ways({.batches = 2,
                  .queries = 10,
                  .keys = 19,
                  .heads = 3,
                  .kv_heads = 3,
                  .mask = mask,
                  .mask_shape = shape,
                  .blind_is_zero = true},
                 3);
}

TEST(CudaAttention, CausalAndLimitedWindows) {
  for (auto [queries, keys, before, behind] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{70, 70, kSeesAll, 0},
                                               {5, 100, kSeesAll, 0},
                                               {70, 150, 33, 0},
                                               {20, 90, 10, 7},
                                               {40, 10, kSeesAll, 0}})
    check_ways({.queries = queries,
                .keys = keys,
                .heads = 2,
                .kv_heads = 2,
                .head_dim = 16,
                .before = before,
                .behind = behind},
               4);
}

TEST(CudaAttention, HeadsOfQueriesShareHeadsOfKeys) {
  check_ways({.batches = 2, .queries = 6, .keys = 40, .heads = 6, .kv_heads = 2, .head_dim = 24, .result = DType::bf16},
             5);
  check_ways({.queries = 3, .keys = 40, .heads = 4, .kv_heads = 1, .head_dim = 32, .behind = 0, .few = true}, 6);
}

TEST(CudaAttention, SinksAndSoftcap) {
  check_ways(
      {.queries = 5, .keys = 40, .heads = 2, .kv_heads = 2, .head_dim = 16, .before = 20, .behind = 0, .sinks = true},
      7);
  check_ways({.queries = 5, .keys = 40, .heads = 2, .kv_heads = 2, .head_dim = 16, .softcap = 2.5f}, 8);
  check_ways(
      {.queries = 3, .keys = 20, .mask = Mask::added, .mask_shape = {1, 1, 3, 20}, .sinks = true, .softcap = 2.5f}, 9);
}

TEST(CudaAttention, FewQueriesOverLongKeysInRangesThatAreJoined) {
  for (const bool few : {true, false}) {
    check_ways({.batches = 2,
                .queries = 1,
                .keys = 700,
                .heads = 4,
                .kv_heads = 2,
                .head_dim = 64,
                .few = few,
                .splits = true},
               10);
    check_ways({.queries = 3,
                .keys = 520,
                .heads = 2,
                .kv_heads = 1,
                .head_dim = 20,
                .before = 300,
                .behind = 0,
                .sinks = true,
                .few = few,
                .splits = true},
               11);
  }
  check_ways({.queries = 2, .keys = 100, .heads = 2, .kv_heads = 2, .few = true, .splits = true}, 12);  // one range
}

TEST(CudaAttention, CachesInPages) {
  for (const int64_t page_rows : {7, 16, 64})
    check_ways({.batches = 2,
                .queries = 2,
                .keys = 90,
                .heads = 2,
                .kv_heads = 2,
                .head_dim = 16,
                .behind = 0,
                .page_rows = page_rows},
               13);
  check_ways({.batches = 2,
              .queries = 1,
              .keys = 600,
              .heads = 4,
              .kv_heads = 2,
              .head_dim = 32,
              .few = true,
              .splits = true,
              .page_rows = 16},
             14);
}

TEST(CudaAttention, PackedKeysAndValuesByTheirExpressions) {
  for (const auto& [k, v] :
       {std::pair("int8.g64", "int8.g64"), {"mxint8", "mxfp4"}, {"", "uint4.g32.asym"}, {"mxfp8_e4m3", ""}})
    check({.batches = 2,
           .queries = 4,
           .keys = 50,
           .heads = 4,
           .kv_heads = 2,
           .head_dim = 64,
           .behind = 0,
           .k_format = k,
           .v_format = v},
          CudaTarget(80), 15);
  check({.batches = 2,
         .queries = 1,
         .keys = 60,
         .heads = 2,
         .kv_heads = 2,
         .head_dim = 64,
         .few = true,
         .page_rows = 16,
         .k_format = "int8.g64",
         .v_format = "int8.g64"},
        CudaTarget(75), 16);
}

// Heads of other tensors, whose rows start between multiples of 16 bytes.
TEST(CudaAttention, RowsMayLieApartAndStartAnywhere) {
  for (const int64_t skipped : {1, 8})
    check_ways({.queries = 9, .keys = 33, .heads = 2, .kv_heads = 2, .head_dim = 32, .skipped = skipped}, 17);
}

TEST(CudaAttention, BlocksInAnyOrderAndRowsInAnyCompanyHaveTheSameBits) {
  for (const Way& way : kWays) {
    AttentionCase c{.batches = 2,
                    .queries = 3,
                    .keys = 600,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 32,
                    .dtype = way.dtype,
                    .splits = true};
    Inputs in = random_inputs(c, 18);
    const CudaTarget target(way.capability);
    const std::vector<float> forwards = run(c, in, target).values;
    EXPECT_EQ(run(c, in, target, true).values, forwards);
    c.few = true;
    EXPECT_EQ(run(c, in, target).values, forwards);
    EXPECT_EQ(run(c, in, CudaTarget(way.capability, 1, target.shared_bytes(), 0)).values, forwards);
  }
}

TEST(CudaAttention, SharedMemoryIsReadWithoutConflicts) {
  for (const int head_dim : {64, 128})
    for (const Way& way : kWays) {
      AttentionCase c{.queries = 64, .keys = 128, .heads = 1, .kv_heads = 1, .head_dim = head_dim, .dtype = way.dtype};
      const Ran ran = check(c, CudaTarget(way.capability), 19);
      EXPECT_EQ(ran.bank_cycles, 1) << head_dim << " sm_" << way.capability;
      // 64 x 128 x head_dim products and as many with values, of 16 x 8 x 16.
      EXPECT_EQ(ran.products, way.capability == 80 && way.dtype == DType::bf16 ? 2 * 64 * 128 * head_dim / 2048 : 0);
    }
}

// Issue slots of a product: what a further tile of keys costs over its products.
TEST(CudaAttention, FewInstructionsStandBesideProducts) {
  for (const int head_dim : {64, 128}) {
    AttentionCase c{.queries = 64, .keys = 128, .heads = 1, .kv_heads = 1, .head_dim = head_dim, .dtype = DType::bf16};
    Inputs few = random_inputs(c, 21);
    const Ran short_run = run(c, few, CudaTarget(80));
    c.keys = 384;
    Inputs many = random_inputs(c, 21);
    const Ran long_run = run(c, many, CudaTarget(80));
    const double slots = static_cast<double>(long_run.executed - short_run.executed) /
                         static_cast<double>(long_run.products - short_run.products);
    RecordProperty(fmt::format("slots_{}", head_dim), fmt::format("{:.2f}", slots));
    EXPECT_LE(slots, 6.5) << head_dim;
  }
}

// Sums of tensor cores may be cut off instead of rounded.
TEST(CudaAttention, BoundsHoldForTruncatedSums) {
  AttentionCase c{.queries = 20, .keys = 70, .heads = 1, .kv_heads = 1, .head_dim = 64, .dtype = DType::bf16};
  Inputs in = random_inputs(c, 20);
  const CudaTarget target(80);
  const std::vector<float> once = run(c, in, target).values;
  const std::vector<float> cut = run(c, in, target, false, ptx::Sums::truncated).values;
  const std::vector<double> errors = bound_of(c, in, true).result();
  for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(cut[i], once[i], 2 * errors[i]);
}

TEST(CudaAttention, SaysWhatItHasNoCodeFor) {
  const CudaDevice device(CudaTarget(80));
  CudaAttentionPlan plan = plan_of({.head_dim = 512});
  EXPECT_EQ(supports(device, plan).why, "heads of 512 and 512 columns; sums of up to 256 fit registers");
  plan = plan_of({.head_dim = 64, .dtype = DType::f16});
  EXPECT_EQ(supports(device, plan).why, "q, k and v of f16; f32 and bf16 are multiplied");
}

}  // namespace
}  // namespace hone

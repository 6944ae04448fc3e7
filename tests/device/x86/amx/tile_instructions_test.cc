// The machine code that a CPU with AMX gets, run on this one (trapped_tiles.h): encodings, configurations, strides, the
// order of what lies around tile instructions, and whether tiles are released. Each kernel has the bits of the same
// kernel with emulated tiles, which is held to bounds of its own here and elsewhere. On a CPU with AMX this compares
// its tiles with the software.
#include <gtest/gtest.h>
#include <signal.h>

#include <bit>
#include <thread>

#include "tests/device/x86/amx/tile_decoder.h"
#include "tests/device/x86/amx/trapped_tiles.h"
#include "tests/device/x86/attention_run.h"
#include "tests/device/x86/block_gemm_run.h"
#include "tests/device/x86/codes_run.h"
#include "tests/device/x86/conv_run.h"

namespace hone::test {
namespace {

class TileInstructions : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_features().has(Feature::avx512)) GTEST_SKIP() << "this CPU lacks AVX-512, which code with tiles uses";
    tiles_.emplace();
    if (tiles_->by() == TrappedTiles::By::neither) GTEST_SKIP() << "the system withholds this CPU's tiles";
  }
  void TearDown() override {
    if (tiles_) {
      EXPECT_EQ(tiles_->fault(), "");
    }
  }

  // What has just run did go through tiles, as instructions that a processor takes, and has released them.
  void expect_used(const std::string& what) {
    EXPECT_EQ(tiles_->fault(), "") << what;
    EXPECT_FALSE(tiles_->in_use()) << what << ": tiles that are not released are saved with each switch of threads";
    if (tiles_->by() == TrappedTiles::By::software) {
      EXPECT_GT(tiles_->trapped(), before_) << what << " by vectors";
    }
    before_ = tiles_->trapped();
  }

  void expect_same_bits(const std::vector<float>& got, const std::vector<float>& emulated, const std::string& what) {
    ASSERT_EQ(got.size(), emulated.size()) << what;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(emulated[i]))
          << what << ": output " << i << ": " << got[i] << " and, emulated, " << emulated[i];
  }

  std::optional<TrappedTiles> tiles_;
  int64_t before_ = 0;
  Philox rng_{1};
};

class GemmByTiles : public TileInstructions {
 protected:
  // The result by instructions.
  std::vector<float> check(const X86GemmPlan& plan, const Tensor& a, const Tensor& w, const std::string& what,
                           int64_t chunk = 0) {
    const X86Target real = target_with_tiles(), emulated = target_with_emulated_tiles();
    EXPECT_TRUE(fits_tiles(plan, real) && fits_tiles(plan, emulated)) << what;
    GemmRunner by_tiles(plan, real, w), by_software(plan, emulated, w);
    std::vector<float> got = by_tiles.run(a, chunk);
    expect_used(what);
    EXPECT_TRUE(by_tiles.intact()) << what;
    expect_same_bits(got, by_software.run(a, chunk), what);
    return got;
  }
};

std::string size_text(int64_t m, int64_t n, int64_t k) { return fmt::format("{}x{}x{}", m, n, k); }

// Strips of one height, of two, and of halves that share a row; panels of 16 columns and of 32; K of whole steps, with
// a rest, and of several blocks.
TEST_F(GemmByTiles, DenseWeights) {
  for (auto [m, n, k] : {std::array{9, 16, 32},
                         {16, 17, 31},
                         {17, 48, 100},
                         {33, 32, 64},
                         {35, 33, 65},
                         {49, 7, 130},
                         {70, 40, 1600},
                         {128, 64, 96}}) {
    const Tensor a = random_tensor(DType::bf16, {m, k}, rng_), w = random_tensor(DType::bf16, {n, k}, rng_);
    const X86GemmPlan plan = plain_plan(n, k, DType::bf16, DType::bf16);
    const std::vector<float> got = check(plan, a, w, size_text(m, n, k), n == 33 ? 1 : 0);
    EXPECT_EQ(first_fault(got, reference_products(a, w), k), "") << size_text(m, n, k);
  }
}

TEST_F(GemmByTiles, KnownRows) {
  for (int64_t m : {9, 31, 32, 49, 130}) {
    X86GemmPlan plan = plain_plan(48, 65, DType::bf16, DType::bf16);
    plan.rows = only_rows(plan, target_with_tiles(), m), plan.a_row_stride = plan.k;
    const Tensor a = random_tensor(DType::bf16, {m, 65}, rng_), w = random_tensor(DType::bf16, {48, 65}, rng_);
    const std::vector<float> got = check(plan, a, w, fmt::format("{} rows", m));
    EXPECT_EQ(first_fault(got, reference_products(a, w), 65), "") << m;
  }
}

TEST_F(GemmByTiles, AnEpilogueBehindTheSums) {
  for (auto [m, n, k] : {std::array{40, 48, 64}, {70, 33, 1600}}) {
    X86GemmPlan plan = plain_plan(n, k, DType::bf16, DType::bf16);
    const Expr x = Expr::arg(0, Scalar::f32);
    plan.program = flatten(x * tanh(x));
    const Tensor a = random_tensor(DType::bf16, {m, k}, rng_), w = random_tensor(DType::bf16, {n, k}, rng_);
    check(plan, a, w, size_text(m, n, k));
  }
}

// Scales in the panel, in the loop, and of the whole tensor.
TEST_F(GemmByTiles, PackedWeights) {
  bool in_loop = false, in_panel = false;
  for (const char* format : {"mxint8", "mxfp4", "mxint4", "int4.g32", "int8.channel", "uint4.g32.asym", "bfp8.g4x8",
                             "nvfp4", "int8.f6", "int4.g128"})
    for (auto [m, n, k] : {std::array{19, 35, 77}, {34, 32, 1088}}) {
      if (std::string_view(format) == "bfp8.g4x8" && n == 35) continue;
      const std::string what = fmt::format("{} {}", format, size_text(m, n, k));
      const X86GemmPlan plan = packed_plan(format, n, k, DType::bf16, 0);
      if (!fits_tiles(plan, target_with_tiles())) continue;
      const Tensor w = pack(parse_format(format), random_tensor(DType::f32, {n, k}, rng_));
      const Tensor a = random_tensor(DType::bf16, {m, k}, rng_);
      (gemm_shape(for_target(plan, target_with_tiles()), target_with_tiles()).scale_in_loop() ? in_loop : in_panel) =
          true;
      const std::vector<float> got = check(plan, a, w, what);
      EXPECT_EQ(first_fault(got, reference_products(a, w), k), "") << what;
    }
  EXPECT_TRUE(in_loop && in_panel);
}

TEST_F(GemmByTiles, CodesOfBothSigns) {
  for (DType dtype : {DType::i8, DType::u8})
    for (auto [m, n, k] : {std::array{9, 7, 3}, {17, 33, 64}, {49, 40, 131}, {33, 32, 36 * 64}}) {
      const Tensor w = random_codes(DType::i8, {n, k}, rng_), a = random_codes(dtype, {m, k}, rng_);
      X86GemmPlan plan = codes_plan(n, k, dtype);
      if (n == 32) plan.a_row_stride = k;
      const std::string what = fmt::format("{} {}", hone::to_string(dtype), size_text(m, n, k));
      const std::vector<float> got = check(plan, a, w, what, n == 40 ? 1 : 0);
      const std::vector<Products> want = reference_products(a, w);
      for (size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(std::bit_cast<int32_t>(got[i]), static_cast<int32_t>(want[i].sum)) << what << " output " << i;
    }
}

// For any extents and for these; rows of either factor that lie apart; A by columns; K of several blocks.
TEST_F(GemmByTiles, TwoActivations) {
  for (bool by_columns : {false, true})
    for (auto weights : {X86GemmPlan::Weights::activation_nk, X86GemmPlan::Weights::activation_kn}) {
      const X86Target real = target_with_tiles(), emulated = target_with_emulated_tiles();
      X86GemmPlan any = plain_plan(0, 0, DType::bf16, DType::bf16);
      any.weights = weights, any.a_by_columns = by_columns;
      ASSERT_TRUE(fits_tiles(any, real));
      any.by_tiles = true;
      CompiledPlan general(any, real);
      for (auto [m, n, k] : {std::array{9, 16, 31}, {40, 37, 64}, {33, 17, 1100}, {17, 70, 2}}) {
        const int64_t a_room = (by_columns ? m : k) + 3,
                      w_rows = weights == X86GemmPlan::Weights::activation_nk ? n : k, w_room = (n + k - w_rows) + 5;
        const Tensor a = random_tensor(DType::bf16, {by_columns ? k : m, a_room}, rng_),
                     w = random_tensor(DType::bf16, {w_rows, w_room}, rng_);
        const std::array<int64_t, 3> sizes{m, n, k};
        const std::string what = size_text(m, n, k) + (by_columns ? " by columns" : "");
        X86GemmPlan only = any;
        only.n = n, only.k = k, only.rows = only_rows(only, real, m);
        CompiledPlan special(only, real), software(only, emulated);
        const std::vector<float> got = product_of_two(general, a, w, sizes);
        expect_used(what);
        const std::vector<float> of_these = product_of_two(special, a, w, sizes);
        expect_used(what + " alone");
        expect_same_bits(of_these, got, what);
        expect_same_bits(got, product_of_two(software, a, w, sizes), what);
      }
    }
}

// Each thread has tiles of its own.
TEST_F(GemmByTiles, OnTwoThreadsAtOnce) {
  const Tensor a = random_tensor(DType::bf16, {70, 96}, rng_), w = random_tensor(DType::bf16, {40, 96}, rng_),
               other_a = random_tensor(DType::bf16, {45, 96}, rng_);
  const X86GemmPlan plan = plain_plan(40, 96, DType::bf16, DType::bf16);
  GemmRunner software(plan, target_with_emulated_tiles(), w);
  const std::vector<float> want = software.run(a), other_want = software.run(other_a);
  std::array<bool, 2> released{};
  std::array<std::vector<std::vector<float>>, 2> got;
  const auto work = [&](size_t thread) {
    GemmRunner gemm(plan, target_with_tiles(), w);
    for (int i = 0; i < 20; ++i) got[thread].push_back(gemm.run(thread ? other_a : a));
    released[thread] = !tiles_->in_use();
  };
  std::thread first(work, 0), second(work, 1);
  first.join(), second.join();
  expect_used("two threads");
  EXPECT_TRUE(released[0] && released[1]);
  for (const std::vector<float>& result : got[0]) expect_same_bits(result, want, "of the first thread");
  for (const std::vector<float>& result : got[1]) expect_same_bits(result, other_want, "of the second thread");
}

class ConvByTiles : public TileInstructions {
 protected:
  void check(const ConvCase& c, X86ConvPlan plan, const Tensor& x, const Tensor& w, int64_t chunk = 0,
             std::byte* outside = nullptr) {
    const X86Target real = target_with_tiles(), emulated = target_with_emulated_tiles();
    const std::string what = fmt::format("{} {}", hone::to_string(plan.product.a), to_string(c));
    ASSERT_TRUE(fits_tiles(plan, real) && fits_tiles(plan, emulated)) << what;
    const auto on = [&](const X86Target& target) {
      const X86ConvPlan chosen = for_target(plan, target);
      CompiledPlan kernel(chosen, target);
      const ConvArgs args{.epilogue = {nullptr, outside}};
      return run(kernel, chosen, plan.window, args, target, c.images, x, w, chunk);
    };
    const ConvResult got = on(real);
    expect_used(what);
    ASSERT_TRUE(got.intact) << what;
    expect_same_bits(got.values, on(emulated).values, what);
    if (outside) return;
    const std::vector<Products> want = reference(plan, c.images, x, w);
    if (plan.product.a == DType::bf16) {
      ASSERT_EQ(first_fault(got.values, want, plan.product.k), "") << what;
      return;
    }
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(std::bit_cast<int32_t>(got.values[i]), static_cast<int32_t>(want[i].sum)) << what << " output " << i;
  }
};

// Runs of whole steps and ones that are spread; one strip of two rows, pieces of a row, an odd row that is left over.
const ConvCase kTileCases[] = {
    {.height = 5, .width = 7, .channels = 64, .outputs = 40},
    {.images = 2, .height = 3, .width = 21, .channels = 32, .outputs = 16, .stride_x = 2},
    {.height = 4, .width = 37, .channels = 64, .outputs = 33, .stride_y = 2, .left = 2},
    {.height = 5,
     .width = 33,
     .channels = 64,
     .outputs = 20,
     .groups = 2,
     .kernel_height = 1,
     .kernel_width = 1,
     .top = 0,
     .left = 0,
     .bottom = 0,
     .right = 0},
    {.height = 15,
     .width = 17,
     .channels = 3,
     .outputs = 32,
     .kernel_height = 7,
     .kernel_width = 7,
     .stride_y = 2,
     .stride_x = 2,
     .top = 3,
     .left = 3,
     .bottom = 3,
     .right = 3},
    {.height = 9, .width = 5, .channels = 24, .outputs = 17},
};

TEST_F(ConvByTiles, OfBf16) {
  for (const ConvCase& c : kTileCases) {
    const Tensor x = random_tensor(DType::bf16, x_shape(c), rng_), w = random_tensor(DType::bf16, w_shape(c), rng_);
    check(c, plan_of(c, DType::bf16, DType::bf16), x, w, c.images == 2 ? 1 : 0);
  }
}

TEST_F(ConvByTiles, OfCodes) {
  for (DType dtype : {DType::i8, DType::u8})
    for (ConvCase c : kTileCases) {
      if (c.channels == 3) c.channels = 8, c.kernel_height = c.kernel_width = 3;
      const Tensor x = random_codes(dtype, x_shape(c), rng_), w = random_codes(DType::i8, w_shape(c), rng_);
      X86ConvPlan plan = plan_of(c, dtype, DType::i8);
      plan.product.program = flatten(Expr::arg(0, Scalar::i32)), plan.product.results = {DType::i32};
      check(c, plan, x, w);
      plan.has_x_zero = true;
      std::byte code{0x85};
      check(c, plan, x, w, 1, &code);
    }
}

TEST_F(ConvByTiles, OfPackedWeights) {
  for (const char* format : {"mxint8", "mxint4"}) {
    const ConvCase c{.height = 5, .width = 6, .channels = 64, .outputs = 24};
    const Tensor x = random_tensor(DType::bf16, x_shape(c), rng_),
                 w = pack(parse_format(format), random_tensor(DType::f32, w_shape(c), rng_));
    X86ConvPlan plan = plan_of(c, DType::bf16, DType::f32);
    plan.product.w_format = hone::to_string(*w.format());
    const X86Target real = target_with_tiles();
    ASSERT_TRUE(fits_tiles(plan, real)) << format;
    const ConvResult got = run(plan, real, 1, x, w);
    expect_used(format);
    expect_same_bits(got.values, run(plan, target_with_emulated_tiles(), 1, x, w).values, format);
    EXPECT_EQ(first_fault(got.values, reference(plan, 1, x, unpack(w)), plan.product.k), "") << format;
  }
}

TEST_F(ConvByTiles, OfAnyPlane) {
  const X86Target real = target_with_tiles(), emulated = target_with_emulated_tiles();
  std::optional<CompiledPlan> general;
  for (ConvCase c : {ConvCase{.channels = 64, .outputs = 24}, {.channels = 3, .outputs = 24, .kernel_height = 7}})
    for (auto [height, width] : {std::pair{6, 5}, {3, 17}, {4, 40}}) {
      if (c.channels == 3) c.kernel_width = 7, c.left = c.right = 3;
      c.height = height + 4, c.width = width;
      const X86ConvPlan own = for_target(plan_of(c, DType::bf16, DType::bf16), real);
      ASSERT_TRUE(own.by_tiles) << to_string(c);
      X86ConvPlan any = own;
      ConvArgs args;
      for_any_plane(any, args.window);
      if (height == 6) general.emplace(any, real);
      const Tensor x = random_tensor(DType::bf16, x_shape(c), rng_), w = random_tensor(DType::bf16, w_shape(c), rng_);
      const ConvResult got = run(*general, any, own.window, args, real, 1, x, w);
      expect_used(to_string(c));
      EXPECT_TRUE(got.intact);
      expect_same_bits(got.values, run(own, emulated, 1, x, w).values, to_string(c));
    }
}

TEST_F(TileInstructions, Attention) {
  AttentionCase cases[] = {
      {.queries = 17, .keys = 33, .heads = 2, .kv_heads = 2, .head_dim = 64},
      {.batches = 2, .queries = 20, .keys = 40, .heads = 4, .kv_heads = 2, .head_dim = 32},
      {.queries = 40, .keys = 40, .heads = 1, .kv_heads = 1, .head_dim = 96, .causal = true},
      {.queries = 3, .keys = 600, .heads = 2, .kv_heads = 1, .head_dim = 64},
      {.queries = 18, .keys = 19, .heads = 2, .kv_heads = 2, .head_dim = 32, .mask_shape = {1, 1, 18, 19}}};
  for (AttentionCase& c : cases) {
    c.dtype = DType::bf16;
    const AttentionInputs in = random_inputs(c, rng_);
    bool intact = false, software_intact = false;
    const std::vector<float> got = run(c, in, target_with_tiles(), 1, intact);
    const std::string what = fmt::format("{} queries, {} keys of {}", c.queries, c.keys, c.head_dim);
    expect_used(what);
    EXPECT_TRUE(intact) << what;
    expect_same_bits(got, run(c, in, target_with_emulated_tiles(), 1, software_intact), what);
  }
}

// Decoded to bf16 beside instructions of tiles, by vectors where sums need it.
TEST_F(TileInstructions, ProductsWithScalesOfBlocks) {
  for (const char* format : {"mxint8", "mxint4"})
    for (auto [m, n, k] : {std::array<int64_t, 3>{19, 33, 64}, {40, 32, 77}, {33, 16, 700}}) {
      const Tensor x = activations(rng_, {m, k}, "mxint8"), w = random_packed(rng_, {n, k}, format);
      const std::string what = fmt::format("{} {}x{}x{}", format, m, n, k);
      const X86Target real = target_with_tiles(), emulated = target_with_emulated_tiles();
      const X86BlockGemmPlan plan = plan_of(x, w, real);
      ASSERT_TRUE(plan.by_tiles && plan_of(x, w, emulated).by_tiles) << what;
      const Tensor got = computed(plan, real, x, w, 0);
      expect_used(what);
      EXPECT_TRUE(got.same_bits(computed(plan, emulated, x, w, 0))) << what;
      EXPECT_TRUE(got.same_bits(defined(x, w))) << what;
    }
}

// What the trap itself does, without a kernel.
class TileTrap : public TileInstructions {
 protected:
  void SetUp() override {
    TileInstructions::SetUp();
    if (!IsSkipped() && tiles_->by() != TrappedTiles::By::software) GTEST_SKIP() << "this CPU has tiles";
  }
  static void configure(const TileConfig& config) { __asm__ volatile("ldtilecfg %0" : : "m"(config)); }
  static void release() { __asm__ volatile("tilerelease"); }
};

TEST_F(TileTrap, KeepsAThreadsConfiguration) {
  TileConfig config{.palette = 1}, kept;
  config.rows[3] = 2, config.row_bytes[3] = 8;
  configure(config);
  EXPECT_TRUE(tiles_->in_use());
  bool elsewhere = true;
  std::thread([&] { elsewhere = tiles_->in_use(); }).join();
  EXPECT_FALSE(elsewhere);
  __asm__ volatile("sttilecfg %0" : "=m"(kept));
  EXPECT_EQ(std::memcmp(&kept, &config, sizeof kept), 0);
  const std::array<int32_t, 6> from{1, 2, 3, 4, 5, 6};
  std::array<int32_t, 6> to{};
  __asm__ volatile("tileloadd (%0,%1,4), %%tmm3" : : "r"(from.data()), "r"(int64_t{3}) : "memory");
  __asm__ volatile("tilestored %%tmm3, 4(%0,%1)" : : "r"(to.data()), "r"(int64_t{8}) : "memory");
  EXPECT_EQ(to, (std::array<int32_t, 6>{0, 1, 2, 4, 5, 0}));
  release();
  EXPECT_FALSE(tiles_->in_use());
  EXPECT_EQ(tiles_->trapped(), 5);
}

TEST_F(TileTrap, NotesWhatAProcessorWouldRefuse) {
  const auto fault = [&] {
    const std::string text = tiles_->fault();
    tiles_->forget_fault();
    return text;
  };
  __asm__ volatile("tilezero %tmm0");
  EXPECT_EQ(fault(), "tilezero without a configuration");
  TileConfig config{.palette = 1};
  config.rows[0] = 17, config.row_bytes[0] = 64;
  configure(config);
  EXPECT_EQ(fault(), "ldtilecfg: tile 0 of 17 rows of 64 bytes");
  EXPECT_FALSE(tiles_->in_use());
  for (int t : {0, 1, 2}) config.rows[t] = 2, config.row_bytes[t] = 8;
  configure(config);
  __asm__ volatile("tdpbf16ps %tmm2, %tmm1, %tmm0");
  EXPECT_EQ(fault(), "");
  __asm__ volatile(".byte 0xc4, 0xe2, 0x72, 0x5c, 0xc1");  // assemblers refuse it, too
  EXPECT_EQ(fault(), "tdpbf16ps of tiles 0, 1, 1");
  __asm__ volatile("tdpbuud %tmm2, %tmm1, %tmm0");
  EXPECT_EQ(fault(), "no software does tdpbuud");
  release();
}

volatile sig_atomic_t others_signals = 0;
void count_signal(int, siginfo_t*, void* context) {
  others_signals = others_signals + 1;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 2;  // over ud2
}

TEST(TileTrapAmongOthers, PassesOnWhatIsNoTileInstructionAndStepsAside) {
  struct sigaction own = {}, original;
  own.sa_sigaction = count_signal, own.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGILL, &own, &original), 0);
  others_signals = 0;
  {
    const TrappedTiles tiles;
    const sig_atomic_t before = others_signals;
    __asm__ volatile("ud2");
    EXPECT_EQ(others_signals, before + 1);
    EXPECT_EQ(tiles.trapped(), 0);
  }
  const sig_atomic_t before = others_signals;
  __asm__ volatile("ud2");
  EXPECT_EQ(others_signals, before + 1);
  ASSERT_EQ(sigaction(SIGILL, &original, nullptr), 0);
}

TEST(TileTrapAmongOthers, LeavesAnIllegalInstructionDeadly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_illegal = [] {
    const TrappedTiles tiles;
    __asm__ volatile("ud2");
  };
  const auto receive = [] {
    const TrappedTiles tiles;
    raise(SIGILL);
  };
  EXPECT_EXIT(run_illegal(), testing::KilledBySignal(SIGILL), "");
  EXPECT_EXIT(receive(), testing::KilledBySignal(SIGILL), "");
}

}  // namespace
}  // namespace hone::test

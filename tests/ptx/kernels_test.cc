// A product as a device's kernel does it: asynchronous copies into two stages of swizzled shared memory, ldmatrix, mma.
// Its results, what it is counted as, and what is found when a part of it is missing.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "tests/ptx/run_kernel.h"

namespace hone::ptx::test {
namespace {

// p0: y f32 [M][N] = p1: x bf16 [M][K] · p2: w bf16 [N][K]ᵀ; n: K, a multiple of 32. Blocks of 128 threads, 64 x 64 of
// y. Rows of a stage have 64 bytes, x's 64 rows before w's; the chunks of 16 bytes of row r are swapped by r / 2 % 4.
std::string product_text() {
  std::string t = R"(.shared .align 1024 .b8 s[16384];
mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x; shr.u32 %r5, %r1, 5; and.b32 %r6, %r1, 31;
shl.b32 %r7, %r0, 1; mov.u32 %r8, s; mov.u32 %r9, 0; mov.u32 %r30, 0;
)";
  // Chunks that this thread copies: %r10, %r11 their places in a stage; %rd10 … x's, %rd12 … w's bytes.
  for (int j = 0; j < 2; ++j)
    t += fmt::format(R"(add.u32 %r40, %r1, {0}; shr.u32 %r41, %r40, 2; and.b32 %r42, %r40, 3; bfe.u32 %r43, %r41, 1, 2;
xor.b32 %r43, %r42, %r43; shl.b32 %r43, %r43, 4; mad.lo.u32 %r1{1}, %r41, 64, %r43; add.u32 %r1{1}, %r1{1}, %r8; shl.b32 %r44, %r42, 4;
mad.lo.u32 %r45, %r2, 64, %r41; mad.lo.u32 %r46, %r45, %r7, %r44; cvt.u64.u32 %rd20, %r46; add.s64 %rd1{1}, %rd1, %rd20;
mad.lo.u32 %r45, %r3, 64, %r41; mad.lo.u32 %r46, %r45, %r7, %r44; cvt.u64.u32 %rd20, %r46; add.s64 %rd1{2}, %rd2, %rd20;
)",
                     128 * j, j, j + 2);
  const auto fetch = [&](std::string_view guard, std::string_view stage) {
    for (int j = 0; j < 2; ++j)
      t += fmt::format(
          "{0}add.u32 %r47, %r1{2}, {1}; {0}cp.async.cg.shared.global [%r47], [%rd1{2}], 16;\n"
          "{0}cp.async.cg.shared.global [%r47+4096], [%rd1{3}], 16; {0}add.s64 %rd1{2}, %rd1{2}, 64; {0}add.s64 "
          "%rd1{3}, %rd1{3}, 64;\n",
          guard, stage, j, j + 2);
    t += "cp.async.commit_group;\n";
  };
  // Rows that this lane names to ldmatrix, and how their chunks are swapped: a's, b's.
  t +=
      R"(shl.b32 %r50, %r5, 4; and.b32 %r51, %r6, 15; add.u32 %r50, %r50, %r51; bfe.u32 %r52, %r50, 1, 2; shr.u32 %r53, %r6, 4;
mad.lo.u32 %r54, %r50, 64, %r8; and.b32 %r55, %r6, 7; shl.b32 %r56, %r53, 3; add.u32 %r55, %r55, %r56; bfe.u32 %r57, %r55, 1, 2;
bfe.u32 %r58, %r6, 3, 1; mad.lo.u32 %r59, %r55, 64, %r8; add.u32 %r59, %r59, 4096;
)";
  for (int i = 0; i < 32; ++i) t += fmt::format("mov.f32 %f{}, 0f00000000; ", i);
  t += "\n";
  fetch("", "%r9");
  t += "$step: add.u32 %r31, %r30, 32; setp.lt.u32 %p1, %r31, %r0; xor.b32 %r32, %r9, 8192;\n";
  fetch("@%p1 ", "%r32");
  t += "cp.async.wait_group 1;\nbar.sync 0;\n";
  for (int kk = 0; kk < 2; ++kk) {
    t += fmt::format(
        "add.u32 %r60, %r53, {0}; xor.b32 %r60, %r60, %r52; shl.b32 %r60, %r60, 4; add.u32 %r60, %r60, %r54; add.u32 "
        "%r60, %r60, %r9;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r70, %r71, %r72, %r73}}, [%r60];\n"
        "add.u32 %r61, %r58, {0}; xor.b32 %r61, %r61, %r57; shl.b32 %r61, %r61, 4; add.u32 %r61, %r61, %r59; add.u32 "
        "%r61, %r61, %r9;\n",
        2 * kk);
    for (int pair = 0; pair < 4; ++pair) {
      t +=
          fmt::format("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r80, %r81, %r82, %r83}}, [%r61+{}];\n", pair * 1024);
      for (int half = 0; half < 2; ++half) {
        const int f = 4 * (2 * pair + half);
        t += fmt::format(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{%f{0}, %f{1}, %f{2}, %f{3}}}, {{%r70, %r71, %r72, "
            "%r73}}, {{%r8{4}, %r8{5}}}, {{%f{0}, %f{1}, %f{2}, %f{3}}};\n",
            f, f + 1, f + 2, f + 3, 2 * half, 2 * half + 1);
      }
    }
  }
  t += "bar.sync 0; // before the stage is filled again\n"
       "mov.u32 %r9, %r32; mov.u32 %r30, %r31; @%p1 bra $step;\n";
  t +=
      R"(mad.lo.u32 %r62, %r2, 64, 0; shl.b32 %r63, %r5, 4; add.u32 %r62, %r62, %r63; shr.u32 %r63, %r6, 2; add.u32 %r62, %r62, %r63;
shl.b32 %r64, %r3, 6; and.b32 %r65, %r6, 3; shl.b32 %r65, %r65, 1; add.u32 %r64, %r64, %r65; shl.b32 %r66, %r4, 6;
mad.lo.u32 %r67, %r62, %r66, %r64; mad.wide.u32 %rd21, %r67, 4, %rd0; mad.wide.u32 %rd22, %r66, 32, %rd21;
)";
  for (int j = 0; j < 8; ++j)
    t +=
        fmt::format("st.global.v2.f32 [%rd21+{0}], {{%f{1}, %f{2}}}; st.global.v2.f32 [%rd22+{0}], {{%f{3}, %f{4}}};\n",
                    32 * j, 4 * j, 4 * j + 1, 4 * j + 2, 4 * j + 3);
  return kernel_text(t);
}

struct Product {
  int m, n, k;
  Vector<uint16_t> x, w;
  Vector<float> y;
  Product(int rows, int columns, int depth)
      : m(rows),
        n(columns),
        k(depth),
        x(static_cast<size_t>(m * k)),
        w(static_cast<size_t>(n * k)),
        y(static_cast<size_t>(m * n), -1) {
    std::mt19937 random(9);
    for (auto* values : {&x, &w})
      for (uint16_t& v : *values) v = f32_to_bf16(static_cast<float>(static_cast<int>(random() % 15) - 7));
  }
  Kept run(const std::string& text, bool backwards = false, Sums sums = Sums::once) {
    Memory memory;
    const Params params{.pointers = {memory.add(std::span(y)), memory.add(std::span(x), Memory::Access::read),
                                     memory.add(std::span(w), Memory::Access::read)},
                        .n = static_cast<uint32_t>(k)};
    return run_text(text,
                    {.grid = {static_cast<uint32_t>(n / 64), static_cast<uint32_t>(m / 64), 1},
                     .block = {128, 1, 1},
                     .sums = sums,
                     .backwards = backwards},
                    params, memory);
  }
};

TEST(PtxKernels, AProductIsExactInAnyOrderAndConflictFree) {
  for (const int k : {32, 128, 160}) {
    Product p(128, 192, k);
    std::vector<float> expected;
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < p.n; ++j) {
        float sum = 0;
        for (int c = 0; c < k; ++c)
          sum += bf16_to_f32(p.x[static_cast<size_t>(i * k + c)]) * bf16_to_f32(p.w[static_cast<size_t>(j * k + c)]);
        expected.push_back(sum);
      }
    for (const bool backwards : {false, true})
      for (const Sums sums : {Sums::once, Sums::truncated}) {
        const Kept kept = p.run(product_text(), backwards, sums);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), p.y.begin())) << k;
        EXPECT_EQ(kept.of("mma").executed, 6 * 4 * 16 * k / 32);
        const LineCounts all = kept.counts.all();
        EXPECT_EQ(all.bank_cycles, all.bank_least);
        EXPECT_EQ(all.sectors * 32, all.bytes);
      }
  }
}

TEST(PtxKernels, ThatLackAPartAreFaults) {
  const std::tuple<std::string_view, std::string_view, std::string_view> planted[] = {
      {"cp.async.wait_group 1;\nbar.sync 0;", "cp.async.wait_group 1;", "nothing wrote"},
      {"cp.async.wait_group 1;", "", "before the copy to it was waited for"},
      {"cp.async.wait_group 1;", "cp.async.wait_group 2;", "before the copy to it was waited for"},
      {"bar.sync 0; // before", "// before", "before the copy to it was waited for"},
      {"xor.b32 %r32, %r9, 8192;", "mov.u32 %r32, %r9;", "a copy to this shared memory is under way"},
      {"setp.lt.u32 %p1, %r31, %r0;", "setp.le.u32 %p1, %r31, %r0;", "lies in no buffer"},
      {"mov.f32 %f17, 0f00000000;", "", "uses %f17, which nothing set"},
      {"mma.sync", "@%p1 mma.sync", "lanes"},
  };
  const std::string text = product_text();
  for (const auto& [from, to, said] : planted) {
    std::string damaged = text;
    const size_t at = damaged.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    damaged.replace(at, from.size(), to);
    if (said == "lanes")
      damaged.insert(damaged.find("$step"), "setp.lt.u32 %p9, %r6, 9;\n"),
          damaged.replace(damaged.find("@%p1 mma"), 8, "@%p9 mma");
    Product p(64, 64, 96);
    try {
      p.run(damaged);
      ADD_FAILURE() << "nothing was found: " << from;
    } catch (const Fault& fault) {
      EXPECT_NE(std::string_view(fault.what()).find(said), std::string_view::npos) << fault.what();
    }
  }
}

// How fast the interpreter is, as a property of the test's report: by the processor's time of this thread.
TEST(PtxKernels, SpeedIsReported) {
  const auto seconds = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  Product p(128, 128, 512);
  const Module module = parse(product_text());
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(p.y)), memory.add(std::span(p.x)), memory.add(std::span(p.w))},
                      .n = 512};
  const std::vector<std::byte> bytes = params.bytes();
  const double start = seconds();
  const Counts counts = run(module, module.kernels[0], {.grid = {2, 2, 1}, .block = {128, 1, 1}}, bytes, memory);
  const int64_t executed = counts.all().executed;
  RecordProperty("warp_instructions", std::to_string(executed));
  RecordProperty("million_a_second", fmt::format("{:.1f}", static_cast<double>(executed) / (seconds() - start) / 1e6));
  EXPECT_GT(executed, 10000);
}

}  // namespace
}  // namespace hone::ptx::test

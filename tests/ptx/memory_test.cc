// Loads, stores, copies and atomics; what they are counted as.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/ptx/run_kernel.h"

namespace hone::ptx::test {
namespace {

TEST(PtxAccess, VectorsOfAnyElement) {
  Vector<uint16_t> in(256);
  std::iota(in.begin(), in.end(), 0);
  Vector<uint16_t> out(256);
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(out)), memory.add(std::span(in), Memory::Access::read)}};
  const Kept kept = run_text(
      kernel_text("mul.wide.u32 %rd5, %r1, 16; add.s64 %rd6, %rd1, %rd5; add.s64 %rd7, %rd0, %rd5;"
                  "ld.global.nc.v4.u16 {%h0, %h1, %h2, %h3}, [%rd6]; ld.global.v4.b16 {%h4, %h5, %h6, %h7}, [%rd6+8];"
                  "st.global.v2.u16 [%rd7], {%h0, %h1}; st.global.u16 [%rd7+4], %h2; mov.b32 %r2, {%h3, %h4};"
                  "st.global.u16 [%rd7+6], %h3; st.global.v4.u16 [%rd7+8], {%h4, %h5, %h6, %h7};"),
      {}, params, memory);
  EXPECT_EQ(out, in);
  // 8 bytes of each 16: twice the sectors that the bytes need.
  EXPECT_EQ(kept.of("ld.global").sectors * 32, 2 * kept.of("ld.global").bytes);
}
TEST(PtxAccess, SectorsTellSplitStretchesFromWholeOnes) {
  Vector<uint32_t> data(256);
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(data))}};
  const auto ratio = [&](std::string_view body) {
    const LineCounts c = run_text(kernel_text(body), {}, params, memory).of("ld");
    return std::pair(c.sectors, c.bytes);
  };
  EXPECT_EQ(ratio("add.s64 %rd5, %rd0, %rd4; ld.global.u32 %r2, [%rd5];"), std::pair(int64_t{4}, int64_t{128}));
  EXPECT_EQ(ratio("mad.wide.u32 %rd5, %r1, 32, %rd0; ld.global.u32 %r2, [%rd5];"),
            std::pair(int64_t{32}, int64_t{128}));
  EXPECT_EQ(ratio("ld.global.u32 %r2, [%rd0];"), std::pair(int64_t{1}, int64_t{128}));
  EXPECT_EQ(ratio("xor.b32 %r3, %r1, 5; mad.wide.u32 %rd5, %r3, 4, %rd0; ld.global.u32 %r2, [%rd5];"),
            std::pair(int64_t{4}, int64_t{128}));
}
TEST(PtxAccess, BankConflictsAreCyclesBeyondTheLeast) {
  const auto cycles = [](int stride, int bytes) {
    Memory memory;
    const char* vector = bytes == 16  ? ".v4.u32 [%r4], {%r1, %r1, %r1, %r1}"
                         : bytes == 8 ? ".v2.u32 [%r4], {%r1, %r1}"
                                      : ".u32 [%r4], %r1";
    const LineCounts c =
        run_text(kernel_text(fmt::format(".shared .align 16 .b8 s[8192]; mov.u32 %r3, s; mad.lo.u32 %r4, %r1, "
                                         "{}, %r3; st.shared{};",
                                         stride, vector)),
                 {}, {}, memory)
            .of("st.shared");
    return std::pair(c.bank_cycles, c.bank_least);
  };
  EXPECT_EQ(cycles(4, 4), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(cycles(8, 4), std::pair(int64_t{2}, int64_t{1}));
  EXPECT_EQ(cycles(128, 4), std::pair(int64_t{32}, int64_t{1}));
  EXPECT_EQ(cycles(16, 16), std::pair(int64_t{4}, int64_t{4}));
  EXPECT_EQ(cycles(32, 16), std::pair(int64_t{8}, int64_t{4}));
  EXPECT_EQ(cycles(8, 8), std::pair(int64_t{2}, int64_t{2}));
}
TEST(PtxAccess, LocalMemoryIsALanesOwnAndConstantsAreTheModules) {
  const auto out = words_of(
      ".local .align 16 .b8 depot[64]; mov.u64 %rd5, depot; and.b32 %r3, %r1, 3; mad.wide.u32 %rd6, %r3, 4, %rd5;"
      "st.local.u32 [%rd6], %r1; ld.local.u32 %r4, [%rd6]; cvta.local.u64 %rd7, %rd6; ld.u32 %r5, [%rd7];"
      "mov.u64 %rd8, table; mad.wide.u32 %rd9, %r3, 2, %rd8; ld.const.s16 %r6, [%rd9]; mov.u64 %rd10, more;"
      "mad.wide.u32 %rd11, %r3, 1, %rd10; ld.global.nc.u8 %r7, [%rd11];"
      "add.u32 %r2, %r4, %r5; add.u32 %r2, %r2, %r6; add.u32 %r2, %r2, %r7;"
      "add.s64 %rd12, %rd0, %rd4; st.global.u32 [%rd12], %r2;",
      {}, ".const .align 2 .s16 table[4] = {1, -2, 3, 0x10}; .global .align 1 .b8 more[4] = {10, 20, 30, 40};");
  const int table[] = {1, -2, 3, 16}, more[] = {10, 20, 30, 40};
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(static_cast<int>(out[i]), static_cast<int>(2 * i) + table[i % 4] + more[i % 4]);
}
TEST(PtxAccess, DynamicSharedMemoryBeginsBehindTheFixedOne) {
  const auto out = words_of(
      ".shared .align 4 .b8 fixed[4]; mov.u32 %r3, more; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4; st.shared.u32 "
      "[%r4], %r1;"
      "st.shared.u32 [fixed], 7; bar.warp.sync -1; mov.u64 %rd5, more; cvta.shared.u64 %rd6, %rd5; ld.u32 %r2, "
      "[%rd6+124];"
      "ld.shared.u32 %r5, [fixed]; add.u32 %r2, %r2, %r5; add.s64 %rd12, %rd0, %rd4; st.global.u32 [%rd12], %r2;",
      {.shared_bytes = 128}, ".extern .shared .align 128 .b8 more[];");
  EXPECT_EQ(out[0], 38u);
}

TEST(PtxCopies, AreThereWhenTheirGroupHasBeenWaitedFor) {
  Vector<uint32_t> in(128), out(128);
  std::iota(in.begin(), in.end(), 1);
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(out)), memory.add(std::span(in).first(126))}};
  // Two groups; of the last lane only 8 bytes are read, the rest becomes zeros.
  run_text(kernel_text(".shared .align 16 .b8 s[512]; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;"
                       "mad.wide.u32 %rd5, %r1, 16, %rd1; mad.wide.u32 %rd6, %r1, 16, %rd0; setp.lt.u32 %p1, %r1, 16;"
                       "setp.eq.u32 %p2, %r1, 31; selp.b32 %r5, 8, 16, %p2;\n"
                       "@%p1 cp.async.cg.shared.global [%r4], [%rd5], 16; cp.async.commit_group;"
                       "@!%p1 cp.async.cg.shared.global [%r4], [%rd5], 16, %r5; cp.async.commit_group;\n"
                       "cp.async.wait_group 1; @%p1 ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4];"
                       "cp.async.wait_all; @!%p1 ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4];"
                       "st.global.v4.u32 [%rd6], {%r6, %r7, %r8, %r9};"),
           {}, params, memory);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i < 126 ? i + 1 : 0u);
}

TEST(PtxAtomics, EveryOperation) {
  const auto left = [](std::string_view operation, uint32_t start) {
    Vector<uint32_t> cell{start, 0};
    Memory memory;
    const Params params{.pointers = {memory.add(std::span(cell))}};
    run_text(kernel_text(operation), {}, params, memory);
    return cell[0];
  };
  EXPECT_EQ(left("red.global.add.u32 [%rd0], %r1;", 4), 500u);
  EXPECT_EQ(left("atom.relaxed.gpu.global.max.s32 %r2, [%rd0], %r1;", static_cast<uint32_t>(-5)), 31u);
  EXPECT_EQ(left("atom.global.min.u32 %r2, [%rd0], %r1;", 9), 0u);
  EXPECT_EQ(left("atom.global.xor.b32 %r2, [%rd0], %r1;", 9), 9u);
  EXPECT_EQ(left("atom.global.inc.u32 %r2, [%rd0], 9;", 0), 2u);
  EXPECT_EQ(left("atom.global.dec.u32 %r2, [%rd0], 9;", 0), 8u);
  EXPECT_EQ(left("atom.global.exch.b32 %r2, [%rd0], %r1;", 0), 31u);
  EXPECT_EQ(left("atom.global.cas.b32 %r2, [%rd0], %r1, 77;", 5), 77u);
  EXPECT_EQ(left("mov.f32 %f1, 0f3F800000; red.global.add.f32 [%rd0], %f1;", 0), std::bit_cast<uint32_t>(32.0f));
}
TEST(PtxAtomics, GiveTheOldValueAndServeAllWarpsOfABlock) {
  const auto out = words_of(
      ".shared .align 4 .b8 s[4]; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;"
      "atom.shared.add.u32 %r2, [s], 1; bar.sync 0; ld.shared.u32 %r3, [s]; mul.lo.u32 %r2, %r2, 1000; add.u32 %r2, "
      "%r2, %r3;"
      "add.s64 %rd5, %rd0, %rd4; st.global.u32 [%rd5], %r2;",
      {.block = {96, 1, 1}});
  std::vector<uint32_t> tickets;
  for (const uint32_t v : out) {
    EXPECT_EQ(v % 1000, 96u);
    tickets.push_back(v / 1000);
  }
  std::sort(tickets.begin(), tickets.end());
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(tickets[i], i);
}

}  // namespace
}  // namespace hone::ptx::test

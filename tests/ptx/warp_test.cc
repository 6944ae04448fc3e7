// Warps: ways that part and meet, barriers, and what lanes tell each other.
#include <gtest/gtest.h>

#include "tests/ptx/run_kernel.h"

namespace hone::ptx::test {
namespace {

constexpr std::string_view kStore = " add.s64 %rd5, %rd0, %rd4; st.global.u32 [%rd5], %r2; ret;";

std::string with_store(std::string_view body) { return std::string(body) + std::string(kStore); }

TEST(PtxWarps, LanesMeetAgainBehindABranch) {
  const auto out = words_of(
      with_store("and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra $even; mov.u32 %r4, 100; bra.uni $join;"
                 "$even: mov.u32 %r4, 200; $join: shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1; add.s32 %r2, %r4, %r5;"));
  for (const uint32_t v : out) EXPECT_EQ(v, 300u);
}
TEST(PtxWarps, ACodeBlockPutBehindTheEndStillMeetsTheOthers) {  // as LLVM places what is rarely run
  const auto out = words_of(
      "setp.eq.u32 %p1, %r1, 3; mov.u32 %r2, 1; @%p1 bra $cold; $join: vote.sync.ballot.b32 %r2, %p1, -1;"
      "add.s64 %rd5, %rd0, %rd4; st.global.u32 [%rd5], %r2; ret; $cold: mov.u32 %r2, 7; bra.uni $join;");
  for (const uint32_t v : out) EXPECT_EQ(v, 8u);
}
TEST(PtxWarps, LoopsOfDifferentLengths) {
  const auto out = words_of(with_store(
      "mov.u32 %r2, 0; mov.u32 %r3, 0; $again: add.u32 %r2, %r2, %r3; add.u32 %r3, %r3, 1; setp.le.u32 %p1, %r3, %r1;"
      "@%p1 bra $again;"));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i * (i + 1) / 2);
}
TEST(PtxWarps, BlocksOfThreeDimensions) {
  Vector<uint32_t> out(24);
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(out))}};
  run_text(
      kernel_text("mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mad.lo.u32 %r4, %r3, 3, %r2; mad.lo.u32 %r4, %r4, 2, %r1;"
                  "mov.u32 %r5, %ctaid.y; mad.lo.u32 %r4, %r5, 12, %r4; mad.wide.u32 %rd5, %r4, 4, %rd0;"
                  "mov.u32 %r6, %ntid.z; add.u32 %r4, %r4, %r6; st.global.u32 [%rd5], %r4;"),
      {.grid = {1, 2, 1}, .block = {2, 3, 2}}, params, memory);
  for (uint32_t i = 0; i < 24; ++i) EXPECT_EQ(out[i], i + 2);
}
TEST(PtxWarps, ShufflesInSegments) {
  const auto shuffled = [](std::string_view how) {
    return words_of(with_store(fmt::format("shfl.sync.{}; selp.b32 %r3, 100, 0, %p1; add.u32 %r2, %r2, %r3;", how)));
  };
  const auto up = shuffled("up.b32 %r2|%p1, %r1, 2, 0, -1"), down = shuffled("down.b32 %r2|%p1, %r1, 1, 31, -1");
  const auto index = shuffled("idx.b32 %r2|%p1, %r1, 5, 0x181f, -1"),
             flip = shuffled("bfly.b32 %r2|%p1, %r1, 8, 31, -1");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i < 2 ? i : i - 2 + 100);
    EXPECT_EQ(down[i], i == 31 ? i : i + 1 + 100);
    EXPECT_EQ(index[i], i / 8 * 8 + 5 + 100);  // segments of eight lanes
    EXPECT_EQ(flip[i], (i ^ 8) + 100);
  }
}
TEST(PtxWarps, VotesReductionsAndMatches) {
  EXPECT_EQ(words_of(with_store("setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, %p1, -1;"))[31], 31u);
  EXPECT_EQ(
      words_of(with_store("setp.lt.u32 %p1, %r1, 5; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r2, 1, 0, %p2;"))[9],
      1u);
  EXPECT_EQ(
      words_of(with_store("setp.lt.u32 %p1, %r1, 5; vote.sync.all.pred %p2, !%p1, -1; selp.b32 %r2, 1, 0, %p2;"))[9],
      0u);
  EXPECT_EQ(words_of(with_store("redux.sync.add.s32 %r2, %r1, -1;"))[7], 496u);
  EXPECT_EQ(words_of(with_store("redux.sync.max.u32 %r2, %r1, -1;"))[7], 31u);
  EXPECT_EQ(words_of(with_store("redux.sync.xor.b32 %r2, %r1, -1;"))[7], 0u);
  EXPECT_EQ(words_of(with_store("and.b32 %r3, %r1, 15; match.any.sync.b32 %r2, %r3, -1;"))[3], 0x00080008u);
}
TEST(PtxWarps, TwoHalvesOfAWarpShuffleOnTheirOwn) {
  const auto out = words_of(with_store(
      "setp.lt.u32 %p1, %r1, 16; selp.b32 %r3, 0xffff, 0xffff0000, %p1; shfl.sync.bfly.b32 %r2, %r1, 1, 31, %r3;"));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i ^ 1);
}

// Sums of a block by a tree in shared memory, any number of warps, either order of warps.
TEST(PtxBarriers, AReductionOverABlock) {
  for (const bool backwards : {false, true}) {
    Vector<uint32_t> out(3);
    Memory memory;
    const Params params{.pointers = {memory.add(std::span(out))}};
    const Kept kept = run_text(
        kernel_text(".shared .align 4 .b8 s[512]; mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.u32 %r4, %r3, %r4;"
                    "mov.u32 %r9, %ctaid.x; add.u32 %r5, %r1, %r9; st.shared.u32 [%r4], %r5; mov.u32 %r6, 256;\n"
                    "$again: bar.sync 0; setp.ge.u32 %p1, %r1, 64; shr.u32 %r7, %r6, 2; setp.lt.u32 %p2, %r1, %r7;"
                    "@!%p2 bra $next; add.u32 %r8, %r4, %r6; ld.shared.u32 %r10, [%r8]; ld.shared.u32 %r11, [%r4];"
                    "add.u32 %r11, %r10, %r11; st.shared.u32 [%r4], %r11;\n"
                    "$next: shr.u32 %r6, %r6, 1; setp.ge.u32 %p3, %r6, 4; @%p3 bra $again; setp.eq.u32 %p4, %r1, 0;"
                    "mad.wide.u32 %rd5, %r9, 4, %rd0; @%p4 st.global.u32 [%rd5], %r11;"),
        {.grid = {3, 1, 1}, .block = {128, 1, 1}, .backwards = backwards}, params, memory);
    for (uint32_t b = 0; b < 3; ++b) EXPECT_EQ(out[b], 127u * 64 + 128 * b);
    EXPECT_EQ(kept.of("bar").executed, 3 * 4 * 7);
    EXPECT_EQ(kept.of("ld.shared").bank_cycles, kept.of("ld.shared").bank_least);
  }
}
TEST(PtxBarriers, NamedOnesHoldTheWarpsThatTheyName) {  // warps 0 and 1 of four exchange words; the others go on
  const auto out = words_of(
      ".shared .align 4 .b8 s[512]; mov.u32 %r3, s; shl.b32 %r4, %r1, 2; xor.b32 %r5, %r4, 128; add.u32 %r4, %r3, %r4;"
      "add.u32 %r5, %r3, %r5; mov.u32 %r2, 0; setp.ge.u32 %p1, %r1, 64; @%p1 bra $end; st.shared.u32 [%r4], %r1;"
      "bar.sync 1, 64; ld.shared.u32 %r2, [%r5]; $end: add.s64 %rd5, %rd0, %rd4; st.global.u32 [%rd5], %r2;",
      {.block = {128, 1, 1}});
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i < 64 ? (i ^ 32) : 0u);
}
TEST(PtxBarriers, WarpsThatEndedAreNotWaitedFor) {
  const auto out =
      words_of(with_store("setp.ge.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0; mov.u32 %r2, 9;"), {.block = {96, 1, 1}});
  EXPECT_EQ(out[31], 9u);
  EXPECT_EQ(out[32], 0u);
}
TEST(PtxBarriers, AWaitInALoopLetsOtherWarpsRun) {
  const auto out = words_of(
      ".shared .align 4 .b8 s[4]; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;"
      "setp.ge.u32 %p2, %r1, 32; @%p2 bra $other; $wait: atom.shared.or.b32 %r2, [s], 0; setp.eq.u32 %p3, %r2, 0;"
      "@%p3 bra $wait; add.s64 %rd5, %rd0, %rd4; st.global.u32 [%rd5], %r2; ret; $other: atom.shared.or.b32 %r3, [s], "
      "5;",
      {.block = {64, 1, 1}});
  EXPECT_EQ(out[17], 5u);
}

}  // namespace
}  // namespace hone::ptx::test

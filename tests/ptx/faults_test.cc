// Planted faults: each is found, with the line of PTX. The bodies begin at line 10.
#include <gtest/gtest.h>

#include "tests/ptx/run_kernel.h"

namespace hone::ptx::test {
namespace {

// p0: 64 words of the kernel's; p1: 64 words that are only read.
struct Planted {
  std::string_view name, body, said;
  int line;
  uint32_t threads = 64;
  std::string_view before = "";  // a line that the body begins with
};

constexpr std::string_view kShared =
    ".shared .align 16 .b8 s[1024]; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;\n";
constexpr std::string_view kHalfOfWarp = "mov.u32 %r9, %laneid; setp.lt.u32 %p9, %r9, 16;\n";

const Planted kPlanted[] = {
    {"BeyondAllBuffers", "\nst.global.u32 [%rd4], 1;", "lies in no buffer", 11},
    {"NullPointer", "ld.global.u32 %r2, [0];", "0x0 lies in no buffer", 10},
    {"EndOfABuffer", "add.s64 %rd5, %rd0, 248;\nld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd5];", "not aligned to 16",
     11},
    {"PastTheEnd", "add.s64 %rd5, %rd0, 256;\nld.global.u32 %r2, [%rd5];", "lies in no buffer", 11},
    {"Unaligned", "\n\nld.global.u32 %r2, [%rd0+2];", "not aligned to 4 bytes", 12},
    {"WriteToWhatIsOnlyRead", "st.global.u32 [%rd1], %r1;", "only read", 10},
    {"WriteThroughParameters", "mov.u64 %rd5, p0; cvta.param.u64 %rd5, %rd5;\nst.u32 [%rd5], %r1;",
     "writes to parameters", 11},
    {"SharedNeverWritten", ".shared .b8 s[512];\nld.shared.u32 %r2, [s+8];", "nothing wrote", 11},
    {"BeyondSharedMemory", ".shared .align 4 .b8 s[512];\nst.shared.u32 [s+512], %r1;", "beyond shared memory", 11},
    {"GenericAddressTakenForShared",
     ".shared .align 4 .b8 s[512]; mov.u64 %rd5, s; cvta.shared.u64 %rd5, %rd5;\nst.shared.u32 [%rd5], %r1;",
     "beyond shared memory", 11},
    {"BeyondLocalMemory", ".local .align 4 .b8 l[16]; mov.u64 %rd5, l;\nst.local.u32 [%rd5+16], %r1;", "beyond local",
     11},
    {"TwoWarpsWrite", ".shared .align 4 .b8 s[4];\nst.shared.u32 [s], %r1;", "another warp wrote", 11},
    {"ReadWithoutABarrier",
     "xor.b32 %r5, %r4, 128; setp.gt.u32 %p1, %r1, 31;\nst.shared.u32 [%r4], %r1;\n@%p1 ld.shared.u32 %r6, [%r5];",
     "without a barrier", 13, 64, kShared},
    {"WriteWhatOthersMayStillRead",
     "mov.u32 %r6, %warpid; st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r5, %r4, 128; setp.eq.u32 %p1, %r6, 1;\n"
     "@%p1 ld.shared.u32 %r7, [%r5];\n@!%p1 st.shared.u32 [%r4], %r1;",
     "may still read", 13, 64, kShared},
    {"AsyncReadBeforeItsWait",
     "shl.b32 %r5, %r1, 4; and.b32 %r5, %r5, 240; add.u32 %r6, %r2, %r5; cvt.u64.u32 %rd6, %r5; add.s64 %rd7, %rd0, "
     "%rd6;\n"
     "cp.async.cg.shared.global [%r6], [%rd7], 16; cp.async.commit_group;\nld.shared.u32 %r7, [%r6];",
     "before the copy", 13, 16, kShared},
    {"WaitForOneGroupTooFew",
     "shl.b32 %r5, %r1, 4; add.u32 %r6, %r2, %r5; mul.wide.u32 %rd6, %r1, 16; add.s64 %rd7, %rd0, %rd6;\n"
     "cp.async.ca.shared.global [%r6], [%rd7], 16; cp.async.commit_group;\n"
     "cp.async.ca.shared.global [%r6+256], [%rd7], 16; cp.async.commit_group; cp.async.wait_group 1;\n"
     "ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r6+4];\nld.shared.u32 %r7, [%r6+256];",
     "before the copy", 15, 16, kShared},
    {"WriteWhileACopyIsUnderWay",
     "mul.wide.u32 %rd6, %r1, 4; add.s64 %rd7, %rd0, %rd6; cp.async.ca.shared.global [%r4], [%rd7], 4;\n"
     "st.shared.u32 [%r4], %r1;",
     "under way", 12, 32, kShared},
    {"CopyOfMoreThanThereIsRoomFor", "mov.u32 %r6, 20;\ncp.async.cg.shared.global [s], [%rd0], 16, %r6;",
     "reads 20 bytes for 16", 12, 1, kShared},
    {"AtomicOnWhatNothingWrote", "atom.shared.add.u32 %r6, [%r4], 1;", "nothing wrote", 11, 64, kShared},
    {"PlainReadOfOthersAtomics",
     "setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.u32 [%r4], 0; bar.sync 0;\nred.shared.add.u32 [s], 1;\n@%p1 "
     "ld.shared.u32 %r6, [s];",
     "without a barrier", 13, 64, kShared},
    {"AtomicsOnWhatOthersMayStillRead",
     "setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.u32 [%r4], 0; bar.sync 0;\nred.shared.add.u32 [s], 1;\nld.shared.u32 "
     "%r6, [s];",
     "may still read", 12, 64, kShared},
    {"HalfOfAWarpMultiplies",
     "mov.f32 %f1, 0f00000000; mov.b32 %r2, 0;\n"
     "@%p9 mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f2,%f3,%f4,%f5}, {%r2,%r2}, {%r2}, {%f1,%f1,%f1,%f1};",
     "lanes 16-31 of the warp are missing", 12, 64, kHalfOfWarp},
    {"HalfOfAWarpAtABarrier", "@%p9 bar.sync 0;", "lanes 16-31 of the warp are missing", 11, 64, kHalfOfWarp},
    {"HalfOfAWarpEndsBeforeABarrierOfTheWarp", "@%p9 bra $low;\nbar.warp.sync -1; ret;\n$low: trap;", "traps", 13, 64,
     kHalfOfWarp},
    {"LanesThatNeverCome", "@%p9 bra $low;\nbar.warp.sync -1; ret;\n$low: bar.sync 0; ret;", "never come", 12, 64,
     kHalfOfWarp},
    {"MatricesAfterHalfOfTheWarpEnded", "@%p9 exit;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];",
     "lanes 0-15 of the warp are missing", 12, 64, kHalfOfWarp},
    {"ShuffleFromALaneThatIsNotThere", "@!%p9 bra $end;\nshfl.sync.idx.b32 %r2, %r1, 20, 31, 0xffff;\n$end: ret;",
     "from lane 20, which is not here", 12, 64, kHalfOfWarp},
    {"ALaneOutsideOfItsOwnMask", "vote.sync.ballot.b32 %r2, %p9, 0xffff;", "leaves out", 11, 64, kHalfOfWarp},
    {"UnsetRegister", "\nadd.s32 %r2, %r1, %r77;", "uses %r77, which nothing set", 11},
    {"UnsetInOneBranchOnly", "@%p9 mov.u32 %r5, 1;\nadd.s32 %r6, %r5, 1;", "thread 16: it uses %r5", 12, 64,
     kHalfOfWarp},
    {"UnsetAfterAMove", "mov.u32 %r5, %r77;\nmov.b64 %rd5, {%r5, %r1};\nst.global.u64 [%rd0], %rd5;", "uses %rd5", 12},
    {"UnsetInPart", "bfi.b32 %r5, %r77, %r1, 8, 8;\nadd.u32 %r6, %r5, 1;", "uses %r5, which nothing set", 11},
    {"UnsetBitsOfAStore", "bfi.b32 %r5, %r77, %r1, 8, 8;\nst.global.u32 [%rd0], %r5;", "uses %r5", 11},
    {"UnsetGuard", "@%p50 add.s32 %r2, %r1, 1;", "uses %p50", 10},
    {"BarriersThatMissEachOther", "setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1;\n@!%p1 bar.sync 0;",
     "never come to this barrier", 11},
    {"BarrierOfAPartOfAWarp", "bar.sync 1, 40;", "whole warps", 10},
    {"BarrierThatDoesNotExist", "mov.u32 %r2, 16;\nbar.sync %r2;", "barriers 0 to 15", 11},
    {"DivisionByZero", "sub.s32 %r2, %r1, 5;\ndiv.u32 %r3, %r1, %r2;", "thread 5: division by zero", 11},
    {"EndlessLoop", "$again: bra $again;", "longer than the launch allows", 10},
};

class PtxFaults : public testing::TestWithParam<Planted> {};

TEST_P(PtxFaults, IsFoundWithItsLine) {
  const Planted& planted = GetParam();
  const std::string body = std::string(planted.before) + std::string(planted.body);
  Vector<uint32_t> own(64), other(64);
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(own)), memory.add(std::span(other), Memory::Access::read)}};
  try {
    run_text(kernel_text(body), {.block = {planted.threads, 1, 1}, .most_instructions = 100000}, params, memory);
    FAIL() << "nothing was found";
  } catch (const Fault& fault) {
    EXPECT_NE(std::string_view(fault.what()).find(planted.said), std::string_view::npos) << fault.what();
    EXPECT_EQ(fault.line(), planted.line) << fault.what();
  }
}
INSTANTIATE_TEST_SUITE_P(Planted, PtxFaults, testing::ValuesIn(kPlanted),
                         [](const auto& planted) { return std::string(planted.param.name); });

TEST(PtxLaunches, ThatNoDeviceTakesAreRefused) {
  const Module module = parse(kernel_text(""));
  const auto refused = [&](const Launch& launch, size_t bytes) -> std::string {
    try {
      run(module, module.kernels[0], launch, std::vector<std::byte>(bytes), {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused({}, 36), "");
  EXPECT_EQ(refused({.block = {2048, 1, 1}}, 36), "k: 2048 threads a block; accepted: 1 to 1024");
  EXPECT_EQ(refused({.grid = {1, 0, 1}}, 36), "k: a grid of 0 blocks in one direction");
  EXPECT_EQ(refused({}, 32), "k: 32 bytes of parameters; it takes 36");
  EXPECT_EQ(refused({.shared_bytes = 300000}, 36), "k: 0 + 300000 bytes of shared memory; at most 232448");
}

TEST(PtxMemory, BuffersDoNotOverlap) {
  std::array<std::byte, 64> bytes;
  Memory memory;
  memory.add(100, bytes);
  EXPECT_THROW(memory.add(90, bytes), Error);
  EXPECT_THROW(memory.add(163, bytes), Error);
  memory.add(164, bytes);
  EXPECT_EQ(memory.find(164)->begin, 164u);
  EXPECT_EQ(memory.find(99), nullptr);
}

}  // namespace
}  // namespace hone::ptx::test

// What is no PTX, or none that is known, is refused by its line; nothing that is read makes the parser fall.
#include <gtest/gtest.h>

#include <random>

#include "tests/ptx/run_kernel.h"
#include "tests/support/error_of.h"

namespace hone::ptx::test {
namespace {

using hone::test::error_of;

std::string refused(std::string_view body, std::string_view before = "") {
  return error_of([&] { parse(kernel_text(body, before)); });
}

TEST(PtxText, NamesVersionTargetAndKernels) {
  const Module module = parse(kernel_text("", ".extern .shared .align 128 .b8 more[];"));
  EXPECT_EQ(module.version, 78);
  EXPECT_EQ(module.target, "sm_90");
  ASSERT_EQ(module.kernels.size(), 1u);
  EXPECT_EQ(module.kernels[0].param_bytes, 36);
  EXPECT_EQ(module.kernels[0].parameters[4].offset, 32);
  EXPECT_NE(module.find("k"), nullptr);
  EXPECT_EQ(module.find("other"), nullptr);
}

TEST(PtxText, IsRefusedByItsLine) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"frobnicate.u32 %r2, %r1;", "line 10: the instruction frobnicate.u32 is not known"},
      {"\nadd.s32 %r2, %r1;", "line 11: add.s32: 2 operands; it takes 3"},
      {"add.bogus.s32 %r2, %r1, 1;", "line 10: add.bogus.s32: a type is missing after \"add\""},
      {"add.s32.cc %r2, %r1, 1;", "line 10: add.s32.cc: \".cc\" is not known there"},
      {"add.s32 %r2, %rd1, 1;", "line 10: add.s32: %rd1 has another width than 32 bits"},
      {"add.s32 %r2, %h1, 1;", "line 10: add.s32: %h1 has another width than 32 bits"},
      {"add.s32 %r2, %r999, 1;", "line 10: add.s32: nothing is called %r999"},
      {"add.s32 7, %r1, 1;", "line 10: add.s32: its result goes to no register"},
      {"add.s32 %tid.x, %r1, 1;", "line 10: add.s32: its result goes to no register"},
      {"add.f32 %f1, %f1, 0d3ff0000000000000;", "line 10: add.f32: a float of another width than 32 bits"},
      {"ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd0];", "line 10: ld.global.v4.u64: more than 16 bytes a lane"},
      {"ld.global.v2.u32 %r1, [%rd0];", "line 10: ld.global.v2.u32: operand 1 is no group of 2"},
      {"ld.global.u32 %r1, %rd0;", "line 10: ld.global.u32: operand 2 is no [address]"},
      {"st.param.u32 [p0], %r1;", "line 10: st.param.u32: what is only read"},
      {"bra nowhere;", "line 10: no label nowhere"},
      {"x: x: ret;", "line 10: another label is expected, not \"x\""},
      {"@%r1 ret;", "line 10: ret: %r1 is no predicate"},
      {"add.s32 %r2, %r1, 99999999999999999999;",
       "line 10: 99999999999999999999 is no number of 64 bits; accepted: integers, 0f and 8 digits, 0d and 16"},
      {"mma.sync.aligned.m16n8k16.row.col.f32.s8.s8.f32 {%f1,%f2,%f3,%f4}, {%r1,%r1}, {%r1}, {%f1,%f2,%f3,%f4};",
       "line 10: mma.sync.aligned.m16n8k16.row.col.f32.s8.s8.f32: these types in this shape are not known"},
      {"cvt.f16.f32 %h1, %f1;", "line 10: cvt.f16.f32: a rounding is missing"},
      {"wgmma.fence.sync.aligned;", "line 10: the instruction wgmma.fence.sync.aligned is not known"},
      {"call foo;", "line 10: the instruction call is not known"},
      {"ret", "line 11: a name is expected, not \"}\""},
      {"#", "line 10: byte 35 begins nothing"},
      {"/* no end", "line 10: a comment that does not end"},
      {".shared .b8 s[999999999];", "line 10: 0 to 16777216 is expected, not \"999999999\""},
      {".reg .b32 %q<99999999>;", "line 10: 0 to 1048576 is expected, not \"99999999\""},
  };
  for (const auto& [body, message] : cases) EXPECT_EQ(refused(body), message);
  EXPECT_EQ(error_of([] { parse(""); }), "line 1: no .version, not \"\"");
  EXPECT_EQ(error_of([] { parse(".version 7.8\n.target sm_80\n.func f() { ret; }"); }),
            "line 3: a variable or .entry is expected, not \".func\"");
  EXPECT_EQ(refused("", ".visible .entry k() { ret; }"), "line 5: k is defined twice, not \"(\"");
}

// Bytes and words of a text that is right, changed, doubled and cut out: what is read is refused or parsed, and what is
// parsed runs to an end, or to a fault.
TEST(PtxText, DamagedIsRefusedOrRuns) {
  const std::string text = kernel_text(
      ".shared .align 16 .b8 s[1024]; .local .b8 l[16]; { .reg .b16 t; mov.b32 {t, _}, %r1; }\n"
      "mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; cp.async.cg.shared.global [%r4], [%rd0+16], 16;\n"
      "cp.async.wait_all; bar.sync 0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r4];\n"
      "mov.f32 %f1, 0f3F800000; setp.eq.u32 %p3, %r1, 99; setp.lt.and.u32 %p1|%p2, %r1, 0, !%p3; @%p1 bra $x;\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f2,%f3,%f4,%f5}, {%r10,%r11}, {%r12}, {%f1,%f1,%f1,%f1};\n"
      "$x: atom.global.add.u32 %r5, [%rd0], 1; cvt.rn.bf16x2.f32 %r6, %f1, %f1; shfl.sync.bfly.b32 %r7|%p4, %r1, 1, "
      "31, -1;\n"
      "fma.rn.bf16x2 %r8, %r6, %r6, %r6; ret;",
      ".const .align 4 .b8 table[4] = {1, 2, 3, 4};");
  std::mt19937 random(11);
  Vector<uint32_t> data(64);
  int parsed = 0, ran = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (uint32_t change = random() % 3 + 1; change > 0; --change) {
      const size_t at = random() % damaged.size(), n = random() % 12;
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, n);
          break;
        case 2:
          damaged.insert(random() % damaged.size(), damaged.substr(at, n));
          break;
        default:
          damaged[at] = "0123456789{}[];,.%$@!-"[random() % 22];
      }
    }
    try {
      const Module module = parse(damaged);
      ++parsed;
      for (const Kernel& kernel : module.kernels) {
        Memory memory;
        std::vector<std::byte> params(static_cast<size_t>(kernel.param_bytes));
        const uint64_t address = memory.add(std::span(data));
        if (params.size() >= 8) std::memcpy(params.data(), &address, 8);
        run(module, kernel, {.most_instructions = 2000}, params, memory);
        ++ran;
      }
    } catch (const Error&) {
    }
  }
  EXPECT_GT(parsed, 50);
  EXPECT_GT(ran, 10);
}

}  // namespace
}  // namespace hone::ptx::test

// mma.sync and ldmatrix against plain loops over the layouts that the manual of PTX gives.
#include <gtest/gtest.h>

#include <random>

#include "tests/ptx/run_kernel.h"

namespace hone::ptx::test {
namespace {

struct Case {
  std::string_view name, types;
  int m, k, bits;
  bool a_signed, b_signed;
};
constexpr Case kCases[] = {
    {"m16n8k8", "f32.f16.f16.f32", 16, 8, 16, false, false},
    {"m16n8k16", "f32.f16.f16.f32", 16, 16, 16, false, false},
    {"m16n8k8", "f32.bf16.bf16.f32", 16, 8, 16, false, false},
    {"m16n8k16", "f32.bf16.bf16.f32", 16, 16, 16, false, false},
    {"m16n8k4", "f32.tf32.tf32.f32", 16, 4, 32, false, false},
    {"m16n8k8", "f32.tf32.tf32.f32", 16, 8, 32, false, false},
    {"m16n8k16", "f16.f16.f16.f16", 16, 16, 16, false, false},
    {"m8n8k16", "s32.s8.s8.s32", 8, 16, 8, true, true},
    {"m16n8k16", "s32.u8.s8.s32", 16, 16, 8, false, true},
    {"m16n8k32", "s32.s8.s8.s32", 16, 32, 8, true, true},
    {"m16n8k32", "s32.u8.u8.s32", 16, 32, 8, false, false},
    {"m8n8k32", "s32.s4.s4.s32", 8, 32, 4, true, true},
    {"m16n8k64", "s32.s4.u4.s32", 16, 64, 4, true, false},
};

// A number of the case's type, small enough that all sums are exact, and its code.
struct Element {
  uint32_t code;
  int value;
};
Element element(const Case& c, bool has_sign, std::mt19937& random) {
  const int most = c.bits == 4 ? (has_sign ? 7 : 15) : 31;
  const int v = static_cast<int>(random() % static_cast<uint32_t>(most + 1)) - (has_sign || c.bits > 8 ? most / 2 : 0);
  if (c.bits == 32) return {std::bit_cast<uint32_t>(static_cast<float>(v)), v};
  if (c.bits == 16)
    return {
        c.types.find("bf16") != c.types.npos ? f32_to_bf16(static_cast<float>(v)) : f32_to_f16(static_cast<float>(v)),
        v};
  return {static_cast<uint32_t>(v) & ((1u << c.bits) - 1), v};
}

std::string group(std::string_view prefix, int n) {
  std::string text = "{";
  for (int i = 0; i < n; ++i) text += fmt::format("{}{}{}", i ? ", " : "", prefix, i);
  return text + "}";
}

// The registers of each operand are loaded from [lane][register], as the layouts below fill them.
TEST(PtxProducts, AllShapesAndTypes) {
  std::mt19937 random(3);
  for (const Case& c : kCases) {
    const int side = 32 / c.bits, na = c.m * c.k * c.bits / 1024, nb = 8 * c.k * c.bits / 1024;
    const bool in_half = c.types.starts_with("f16"), floats = c.types.starts_with("f");
    const int nc = c.m * 8 / 32 / (in_half ? 2 : 1);
    std::vector<std::vector<int>> a(16, std::vector<int>(64)), b(64, std::vector<int>(8)),
        expected(16, std::vector<int>(8));
    Vector<uint32_t> ra(32 * 4), rb(32 * 4), rc(32 * 4), out(32 * 4);
    for (int lane = 0; lane < 32; ++lane) {
      for (int r = 0; r < na; ++r)
        for (int e = 0; e < side; ++e) {
          const Element v = element(c, c.a_signed, random);
          // Registers alternate between rows g and g + 8 (of 16), then go on in k.
          const int rows = c.m / 8, row = lane / 4 + 8 * (r % rows), k = (lane % 4) * side + e + r / rows * 4 * side;
          ra[static_cast<size_t>(lane * 4 + r)] |= v.code << (c.bits % 32 * e);
          a[static_cast<size_t>(row)][static_cast<size_t>(k)] = v.value;
        }
      for (int r = 0; r < nb; ++r)
        for (int e = 0; e < side; ++e) {
          const Element v = element(c, c.b_signed, random);
          rb[static_cast<size_t>(lane * 4 + r)] |= v.code << (c.bits % 32 * e);
          b[static_cast<size_t>(lane % 4 * side + e + r * 4 * side)][static_cast<size_t>(lane / 4)] = v.value;
        }
    }
    for (int row = 0; row < c.m; ++row)
      for (int n = 0; n < 8; ++n) {
        const int start = row - n;
        int& sum = expected[static_cast<size_t>(row)][static_cast<size_t>(n)];
        sum = start;
        for (int k = 0; k < c.k; ++k)
          sum +=
              a[static_cast<size_t>(row)][static_cast<size_t>(k)] * b[static_cast<size_t>(k)][static_cast<size_t>(n)];
      }
    const auto place = [&](int lane, int i) { return std::pair(lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2); };
    const auto sum_word = [&](int lane, int r, auto value_at) {
      if (!in_half) {
        const auto [row, n] = place(lane, r);
        const int v = value_at(row, n);
        return floats ? std::bit_cast<uint32_t>(static_cast<float>(v)) : static_cast<uint32_t>(v);
      }
      uint32_t word = 0;
      for (int e = 0; e < 2; ++e) {
        const auto [row, n] = place(lane, 2 * r + e);
        word |= uint32_t{f32_to_f16(static_cast<float>(value_at(row, n)))} << (16 * e);
      }
      return word;
    };
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < nc; ++r)
        rc[static_cast<size_t>(lane * 4 + r)] = sum_word(lane, r, [](int row, int n) { return row - n; });
    std::string body =
        "mul.wide.u32 %rd4, %r1, 16; add.s64 %rd0, %rd0, %rd4; add.s64 %rd1, %rd1, %rd4; add.s64 %rd2, %rd2, "
        "%rd4; add.s64 %rd3, %rd3, %rd4;\n";
    body +=
        "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1]; ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd2];"
        "ld.global.v4.u32 {%r30, %r31, %r32, %r33}, [%rd3]; mov.u32 %r40, 0; mov.u32 %r41, 0; mov.u32 %r42, 0; mov.u32 "
        "%r43, 0;\n";
    body += fmt::format("mma.sync.aligned.{}.row.col.{} {}, {}, {}, {};\n", c.name, c.types, group("%r4", nc),
                        group("%r1", na), group("%r2", nb), group("%r3", nc));
    body += "st.global.v4.u32 [%rd0], {%r40, %r41, %r42, %r43};";
    for (const Sums sums : {Sums::once, Sums::truncated}) {
      Memory memory;
      const Params params{.pointers = {memory.add(std::span(out)), memory.add(std::span(ra)), memory.add(std::span(rb)),
                                       memory.add(std::span(rc))}};
      run_text(kernel_text(body), {.sums = sums}, params, memory);
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < nc; ++r)
          ASSERT_EQ(
              out[static_cast<size_t>(lane * 4 + r)],
              sum_word(lane, r,
                       [&](int row, int n) { return expected[static_cast<size_t>(row)][static_cast<size_t>(n)]; }))
              << c.name << " " << c.types << " lane " << lane << " register " << r;
    }
  }
}

// Row 0 of a is 1, x, 0, …; column 0 of b is all ones; what d[0][0] is.
float first_sum(float c, float x, Sums sums) {
  Vector<uint32_t> out(1);
  Memory memory;
  const Params params{.pointers = {memory.add(std::span(out))}};
  run_text(kernel_text(fmt::format("setp.eq.u32 %p1, %r1, 0; mov.b32 %r2, {}; selp.b32 %r2, %r2, 0, %p1; mov.b32 %r3, "
                                   "0; mov.b32 %r4, 0x3f803f80;"
                                   "mov.b32 %r9, {}; mov.b32 %f1, %r9;\n"
                                   "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {{%f2, %f3, %f4, %f5}}, {{%r2, "
                                   "%r3}}, {{%r4}}, {{%f1, %f1, "
                                   "%f1, %f1}};\n@%p1 st.global.f32 [%rd0], %f2;",
                                   0x3f80u | uint32_t{f32_to_bf16(x)} << 16, std::bit_cast<uint32_t>(c))),
           {.sums = sums}, params, memory);
  return std::bit_cast<float>(out[0]);
}
TEST(PtxProducts, AreRoundedOnceOrCutOff) {
  const float almost = std::ldexp(1.0f, -24) + std::ldexp(1.0f, -31);
  // 2 + 1.5 ulp of it: to nearest even up, cut down.
  EXPECT_EQ(first_sum(1.0f, std::ldexp(1.5f, -22), Sums::once), 2 + std::ldexp(2.0f, -22));
  EXPECT_EQ(first_sum(1.0f, std::ldexp(1.5f, -22), Sums::truncated), 2 + std::ldexp(1.0f, -22));
  // Terms below the last kept bit of the largest are gone: 2^20 takes what is under 2^-5 away before 1 and -2^20 meet.
  EXPECT_EQ(first_sum(-1048576.0f, 1048576.0f, Sums::truncated), 1.0f);
  EXPECT_EQ(first_sum(almost, 0.0f, Sums::once), 1 + std::ldexp(1.0f, -23));
  EXPECT_EQ(first_sum(almost, 0.0f, Sums::truncated), 1.0f);
}

TEST(PtxMatrices, AreLoadedInRowsOrTransposed) {
  for (const bool transposed : {false, true}) {
    Vector<uint32_t> out(128);
    Memory memory;
    const Params params{.pointers = {memory.add(std::span(out))}};
    // Element [r][c] of matrix i is 64 i + 8 r + c; each lane writes row `lane` of four matrices of eight rows.
    std::string body =
        ".shared .align 16 .b8 s[512]; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 16, %r2; shl.b32 %r4, %r1, 3;\n";
    for (int i = 0; i < 4; ++i)
      body += fmt::format("add.u32 %r5, %r4, {}; add.u32 %r6, %r4, {}; shl.b32 %r6, %r6, 16; or.b32 %r1{}, %r5, %r6;\n",
                          2 * i, 2 * i + 1, i);
    body += fmt::format(
        "st.shared.v4.b32 [%r3], {{%r10, %r11, %r12, %r13}}; bar.warp.sync -1;\n"
        "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%r20, %r21, %r22, %r23}}, [%r3];\n"
        "mad.wide.u32 %rd5, %r1, 16, %rd0; st.global.v4.u32 [%rd5], {{%r20, %r21, %r22, %r23}};",
        transposed ? ".trans" : "");
    const Kept kept = run_text(kernel_text(body), {}, params, memory);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t r = lane / 4, c = lane % 4 * 2;
        const uint32_t low = 64 * i + (transposed ? 8 * c + r : 8 * r + c), high = low + (transposed ? 8 : 1);
        EXPECT_EQ(out[lane * 4 + i], low | high << 16);
      }
    EXPECT_EQ(kept.of("ldmatrix").bank_cycles, 4);
    EXPECT_EQ(kept.of("mma").executed, 0);
  }
}

}  // namespace
}  // namespace hone::ptx::test

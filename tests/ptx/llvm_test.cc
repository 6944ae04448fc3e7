// PTX that LLVM's NVPTX back end writes: parsed whole, run, and compared with the same operations on this CPU.
#include <gtest/gtest.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/ptx/run_kernel.h"

namespace hone::ptx::test {
namespace {

// The text for a capability, or an Error that says what LLVM does.
std::string ptx_of(const std::string& ir, const char* cpu, const char* features) {
  static const bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
  const auto check = [](bool failed, char* message) {
    if (failed) fail("LLVM: {}", message ? message : "?");
  };
  const LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = nullptr;
  char* message = nullptr;
  LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir.data(), ir.size(), "kernel.ll");
  check(LLVMParseIRInContext(context, text, &module, &message), message);
  LLVMTargetRef target = nullptr;
  check(LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &message), message);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
      target, "nvptx64-nvidia-cuda", cpu, features, LLVMCodeGenLevelDefault, LLVMRelocDefault, LLVMCodeModelDefault);
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  const LLVMErrorRef error = LLVMRunPasses(module, "default<O1>", machine, options);
  if (error) fail("LLVM: passes failed");
  LLVMMemoryBufferRef out = nullptr;
  check(LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &message, &out), message);
  std::string ptx(LLVMGetBufferStart(out), LLVMGetBufferSize(out));
  LLVMDisposeMemoryBuffer(out);
  LLVMDisposePassBuilderOptions(options);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return ptx;
}

constexpr std::string_view kHead =
    "target triple = \"nvptx64-nvidia-cuda\"\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n";

// A sigmoid-like body over vectors of eight: a product, rounding by a large number, a polynomial by fma, exponent bits,
// a division and a choice.
TEST(PtxOfLlvm, PointwiseResultsHaveTheBitsOfThisCpu) {
  const std::string ir = std::string(kHead) + R"(
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
define ptx_kernel void @k(ptr addrspace(1) %px, ptr addrspace(1) %py) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %ax = getelementptr <8 x float>, ptr addrspace(1) %px, i64 %i
  %x = load <8 x float>, ptr addrspace(1) %ax, align 16
  %a = fmul <8 x float> %x, splat (float 0x3FF7154760000000)
  %m = fadd <8 x float> %a, splat (float 12582912.0)
  %n = fsub <8 x float> %m, splat (float 12582912.0)
  %f = fsub <8 x float> %a, %n
  %p0 = call <8 x float> @llvm.fma.v8f32(<8 x float> %f, <8 x float> splat (float 0.25), <8 x float> splat (float 0.75))
  %p1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %p0, <8 x float> %f, <8 x float> splat (float 1.0))
  %mi = bitcast <8 x float> %m to <8 x i32>
  %sh = shl <8 x i32> %mi, splat (i32 23)
  %pi = bitcast <8 x float> %p1 to <8 x i32>
  %ri = add <8 x i32> %pi, %sh
  %e = bitcast <8 x i32> %ri to <8 x float>
  %d = fadd <8 x float> %e, splat (float 1.0)
  %q = fdiv <8 x float> %x, %d
  %c = fcmp olt <8 x float> %x, splat (float -2.0)
  %y = select <8 x i1> %c, <8 x float> %e, <8 x float> %q
  %ay = getelementptr <8 x float>, ptr addrspace(1) %py, i64 %i
  store <8 x float> %y, ptr addrspace(1) %ay, align 16
  ret void
})";
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  Vector<float> x(2048), y(2048);
  for (float& v : x) v = normal(random);
  for (const auto& [cpu, features] : {std::pair("sm_75", "+ptx63"), {"sm_80", "+ptx70"}, {"sm_90", "+ptx78"}}) {
    const Module module = parse(ptx_of(ir, cpu, features));
    ASSERT_EQ(module.target, cpu);
    Memory memory;
    const uint64_t params[] = {memory.add(std::span(x), Memory::Access::read), memory.add(std::span(y))};
    const Counts counts =
        run(module, module.kernels.at(0), {.block = {256, 1, 1}}, std::as_bytes(std::span(params)), memory);
    for (size_t i = 0; i < x.size(); ++i) {
      const float a = x[i] * std::bit_cast<float>(0x3fb8aa3bu), m = a + 12582912.0f, f = a - (m - 12582912.0f);
      const float p = std::fma(std::fma(f, 0.25f, 0.75f), f, 1.0f);
      const float e = std::bit_cast<float>(std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(m) << 23));
      ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(x[i] < -2 ? e : x[i] / (e + 1))) << x[i];
    }
    EXPECT_EQ(counts.of(module.kernels[0], "fma.rn.f32").executed, 8 * 2 * 8);  // warps, steps, elements of a lane
  }
}

// Many forms at once: constants, local and shared memory, calls of intrinsics that become instructions, atomics,
// shuffles, votes, integers of 128 bits, halves.
TEST(PtxOfLlvm, FormsOfTheBackEndAreKnown) {
  const std::string ir = std::string(kHead) + R"(
@table = internal addrspace(4) constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0], align 16
@bytes = internal addrspace(1) constant [8 x i8] c"\01\02\03\FC\05\06\07\08", align 8
@sm = internal addrspace(3) global [32 x float] undef, align 16
declare void @llvm.nvvm.barrier0()
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare float @llvm.sqrt.f32(float)
declare float @llvm.floor.f32(float)
declare float @llvm.roundeven.f32(float)
declare float @llvm.minimum.f32(float, float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.copysign.f32(float, float)
declare half @llvm.fma.f16(half, half, half)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.bswap.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n, i8 %b, i16 %h) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %depot = alloca [16 x float], align 16
  %px = getelementptr float, ptr addrspace(1) %x, i64 %i
  %v = load float, ptr addrspace(1) %px
  %ai = and i32 %t, 3
  %ap = getelementptr float, ptr %depot, i32 %ai
  store float %v, ptr %ap
  %v2 = load volatile float, ptr %ap
  %tp = getelementptr float, ptr addrspace(4) @table, i32 %ai
  %v3 = load float, ptr addrspace(4) %tp
  %gp = getelementptr i8, ptr addrspace(1) @bytes, i32 %ai
  %v4 = load i8, ptr addrspace(1) %gp
  %v5 = sitofp i8 %v4 to float
  %sp = getelementptr float, ptr addrspace(3) @sm, i32 %t
  store float %v3, ptr addrspace(3) %sp
  call void @llvm.nvvm.barrier0()
  %at = atomicrmw fadd ptr addrspace(3) %sp, float %v5 monotonic
  %sum = load float, ptr addrspace(3) %sp
  %c = fcmp ogt float %v2, 4.0
  %bal = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %c)
  %sh = call {i32, i1} @llvm.nvvm.shfl.sync.down.i32p(i32 -1, i32 %t, i32 1, i32 31)
  %sh0 = extractvalue {i32, i1} %sh, 0
  %sh1 = extractvalue {i32, i1} %sh, 1
  %rx = call i32 @llvm.nvvm.redux.sync.add(i32 %sh0, i32 -1)
  %sq = call float @llvm.sqrt.f32(float %v)
  %fl = call float @llvm.floor.f32(float %sq)
  %ri = call float @llvm.roundeven.f32(float %v3)
  %mi = call float @llvm.minimum.f32(float %fl, float %ri)
  %ma = call float @llvm.maxnum.f32(float %mi, float %at)
  %cs = call float @llvm.copysign.f32(float %ma, float %v5)
  %hf = fptrunc float %cs to half
  %hg = call half @llvm.fma.f16(half %hf, half %hf, half 0xH4000)
  %hgf = fpext half %hg to float
  %bf = fptrunc float %hgf to bfloat
  %bff = fpext bfloat %bf to float
  %iv = fptosi float %bff to i32
  %pc = call i32 @llvm.ctpop.i32(i32 %iv)
  %lz = call i32 @llvm.ctlz.i32(i32 %iv, i1 false)
  %br = call i32 @llvm.bitreverse.i32(i32 %lz)
  %bs = call i32 @llvm.bswap.i32(i32 %br)
  %fs = call i32 @llvm.fshl.i32(i32 %bs, i32 %pc, i32 %t)
  %q = udiv i32 %fs, %n
  %r = srem i32 %q, 77
  %hx = sext i16 %h to i32
  %bx = zext i8 %b to i32
  %s1 = add i32 %r, %hx
  %s2 = add i32 %s1, %bx
  %s3 = add i32 %s2, %rx
  %s4 = select i1 %sh1, i32 %s3, i32 %bal
  %big = zext i32 %s4 to i128
  %big2 = mul i128 %big, 12345678901234567890123
  %big3 = lshr i128 %big2, 64
  %big4 = trunc i128 %big3 to i32
  %s5 = xor i32 %s4, %big4
  %d = uitofp i32 %s5 to double
  %dd = fdiv double %d, 3.0
  %df = fptrunc double %dd to float
  %o = fadd float %df, %sum
  %py = getelementptr float, ptr addrspace(1) %y, i64 %i
  switch i32 %ai, label %plain [ i32 0, label %zero
    i32 1, label %one ]
zero:
  store float 1.0, ptr addrspace(1) %py
  br label %done
one:
  store volatile float 2.0, ptr addrspace(1) %py
  br label %done
plain:
  store float %o, ptr addrspace(1) %py
  br label %done
done:
  ret void
})";
  Vector<float> x(32), y(32);
  for (int i = 0; i < 32; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i);
  const Module module = parse(ptx_of(ir, "sm_80", "+ptx70"));
  Memory memory;
  std::vector<std::byte> params(24);
  const uint64_t addresses[] = {memory.add(std::span(x)), memory.add(std::span(y))};
  const uint32_t n = 3;
  const int16_t h = -5;
  std::memcpy(params.data(), addresses, 16);
  std::memcpy(params.data() + 16, &n, 4);
  params[20] = std::byte{200};
  std::memcpy(params.data() + 22, &h, 2);
  run(module, module.kernels.at(0), {}, params, memory);
  const float table[] = {1, 2, 3, 4}, bytes[] = {1, 2, 3, -4};
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t a = t % 4;
    const float v = static_cast<float>(t);
    const float m = std::copysign(std::fmax(std::fmin(std::floor(std::sqrt(v)), table[a]), table[a]), bytes[a]);
    const auto iv = static_cast<uint32_t>(static_cast<int32_t>(bf16_to_f32(f32_to_bf16(m * m + 2))));
    uint32_t reversed = 0;
    const uint32_t zeros = iv ? static_cast<uint32_t>(std::countl_zero(iv)) : 32;
    for (int i = 0; i < 32; ++i) reversed |= (zeros >> i & 1) << (31 - i);
    const uint64_t both = uint64_t{__builtin_bswap32(reversed)} << 32 | static_cast<uint32_t>(std::popcount(iv));
    const auto fs = static_cast<uint32_t>(both << (t & 31) >> 32);
    const uint32_t s3 = static_cast<uint32_t>(static_cast<int32_t>(fs / 3) % 77 - 5 + 200) + 496 + 31;
    const uint32_t s4 = t < 31 ? s3 : 0xffffffe0u;
    const auto product =
        static_cast<unsigned __int128>(s4) * ((static_cast<unsigned __int128>(669) << 64) + 4807115922877859019u);
    const uint32_t s5 = s4 ^ static_cast<uint32_t>(product >> 64);
    const float expected = static_cast<float>(s5 / 3.0) + (table[a] + bytes[a]);
    EXPECT_EQ(y[t], a == 0 ? 1.0f : a == 1 ? 2.0f : expected) << t;
  }
}

}  // namespace
}  // namespace hone::ptx::test

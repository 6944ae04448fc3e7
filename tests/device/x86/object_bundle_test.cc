// Machine code that a model's file carries: used where it fits, left aside with a reason where it does not.
#include "device/llvm/object_bundle.h"

#include <gtest/gtest.h>

#include "device/x86/compiler.h"
#include "device/x86/machine.h"
#include "tests/device/x86/kernel_runner.h"

namespace hone {
namespace {

using namespace test;

struct Outcome {
  CompileStatistics statistics;
  float result = 0;
  std::string bundle;
};
// x * factor for x = 3.
Outcome multiply(float factor, std::vector<std::string> bundled) {
  X86Compiler library(host_target(), {.cache_folder = {}, .bundled = std::move(bundled), .keep_objects = true});
  const KernelPlan plans[] = {flat_plan(flatten(Expr::arg(0, Scalar::f32) * factor))};
  const KernelFn kernel = function_of(library.compile(plans)[0]);
  float x = 3, y = 0;
  void* const in[] = {&x};
  void* const out[] = {&y};
  const KernelArgs args = flat_args(in, out, 1);
  kernel(&args, 0, 1, nullptr);
  return {library.statistics(), y, library.bundle()};
}

TEST(ObjectBundle, WhatItHoldsIsNotCompiledAgain) {
  const Outcome first = multiply(2, {}), second = multiply(2, {first.bundle}), other = multiply(5, {first.bundle});
  EXPECT_EQ(first.statistics.compiled, 1);
  EXPECT_EQ(second.statistics.compiled, 0);
  EXPECT_EQ(second.statistics.bundled, 1);
  EXPECT_EQ(second.statistics.bundle_note, "");
  EXPECT_EQ(second.result, 6);
  EXPECT_EQ(second.bundle, first.bundle) << "what is bundled can be bundled on";
  EXPECT_EQ(other.statistics.compiled, 1);
  EXPECT_EQ(other.result, 15);
}

TEST(ObjectBundle, AnyDamagedByteMeansCompilingAgain) {
  const std::string good = multiply(2, {}).bundle;
  const size_t start = good.find('\n') + 1;
  for (size_t at : {size_t{0}, start, start + 8, start + 20, start + 40, (start + good.size()) / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const Outcome outcome = multiply(2, {bad});
    EXPECT_EQ(outcome.statistics.compiled, 1) << at;
    EXPECT_EQ(outcome.result, 6) << at;
    // A key that names another kernel is whole, and of no use.
    EXPECT_EQ(outcome.statistics.bundle_note.empty(), at == start + 20) << at;
  }
  for (size_t size : {size_t{0}, start - 1, start + 17, good.size() - 1}) {
    const Outcome outcome = multiply(2, {good.substr(0, size)});
    EXPECT_EQ(outcome.statistics.compiled, 1) << size;
    EXPECT_NE(outcome.statistics.bundle_note, "") << size;
  }
}

TEST(ObjectBundle, CodeForAnotherTargetIsLeftAsideWithBothNames) {
  std::string other = multiply(2, {}).bundle;
  const size_t llvm = other.find(" llvm ");
  other.insert(llvm + 6, "9");
  const Outcome outcome = multiply(2, {other});
  EXPECT_EQ(outcome.statistics.compiled, 1);
  EXPECT_NE(outcome.statistics.bundle_note.find("llvm 9"), std::string::npos) << outcome.statistics.bundle_note;
  EXPECT_NE(outcome.statistics.bundle_note.find(code_target(host_target())), std::string::npos);
}

}  // namespace
}  // namespace hone

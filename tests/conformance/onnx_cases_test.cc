// ONNX's own node tests, and our cases of newer operators (tests/data/onnx.tar): none may come out wrong, whatever the
// level of optimisation, the instruction set and the passes.
#include <gtest/gtest.h>
#include <algorithm>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/registry.h"
#include "jobs/onnx_test.h"
#include "passes/registry.h"

namespace hone {
namespace {

constexpr const char* kStandard = "/usr/share/libonnx-testdata/data";  // the package libonnx-testdata

std::vector<std::string> folders() {
  std::vector<std::string> found{HONE_ONNX_CASES};
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"})
    found.push_back(std::string(kStandard) + "/" + kind);
  return found;
}

std::string faults_of(const OnnxTestResult& result) {
  std::string text;
  for (const OnnxCase& each : result.cases)
    if (each.result == OnnxCase::Result::wrong) text += fmt::format("\n  {}: {}", each.name, each.reason);
  return text;
}

void expect_none_wrong(const SessionOptions& session, double least_share = 0.92) {
  const OnnxTestResult result = run_onnx_tests(folders(), {.session = session});
  EXPECT_EQ(result.wrong, 0) << faults_of(result);
  EXPECT_GE(result.pass, least_share * static_cast<double>(result.cases.size()));
  EXPECT_GE(result.cases.size(), 1072u) << "are all cases of libonnx-testdata installed?";
  for (const OnnxCase& each : result.cases)
    EXPECT_TRUE(each.result != OnnxCase::Result::unsupported || !each.reason.empty()) << each.name;
}

SessionOptions at_level(int optimise) {
  SessionOptions options;
  options.optimise = optimise;
  options.pipeline.verify = true;
  return options;
}

TEST(OnnxCases, AreRightAsTheyStand) { expect_none_wrong(at_level(0)); }
TEST(OnnxCases, AreRightInCanonicalForm) { expect_none_wrong(at_level(1)); }

class OnnxCasesCompiled : public testing::TestWithParam<const char*> {};
TEST_P(OnnxCasesCompiled, AreRightOnEveryInstructionSetOfThisMachine) {
  const std::vector<Target> levels = target_levels();
  const auto level = std::ranges::find(levels, std::string(GetParam()), [](const Target& t) { return to_string(t); });
  if (level == levels.end()) GTEST_SKIP() << "this CPU lacks " << GetParam();
  SessionOptions options = at_level(2);
  options.target = *level;
  expect_none_wrong(options);
}
INSTANTIATE_TEST_SUITE_P(Levels, OnnxCasesCompiled, testing::Values("avx2", "avx512", "avx512_bf16"),
                         [](const auto& test) { return std::string(test.param); });

TEST(OnnxCases, AreRightOnTwoThreads) {
  SessionOptions options = at_level(2);
  options.threads = 2;
  expect_none_wrong(options);
}

// Takes a quarter of an hour: `make test-full`.
TEST(OnnxCases, AreRightWithoutAnyOnePass) {
  if (!std::getenv("HONE_TEST_FULL")) GTEST_SKIP() << "HONE_TEST_FULL is not set";
  for (const std::string& pass : names_of<PassDef>(passes::all())) {
    SCOPED_TRACE("without " + pass);
    SessionOptions options = at_level(2);
    options.pipeline.disabled = {pass};
    expect_none_wrong(options, 0.9);
  }
}

}  // namespace
}  // namespace hone

// ONNX's own node tests, and our cases of newer operators (tests/data/onnx.tar): none may come out wrong, and those
// that tests/data/onnx_passing.txt lists pass and no others, whatever the level of optimisation, the instruction set
// and the passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/atomic_file.h"
#include "base/registry.h"
#include "device/x86/device.h"
#include "jobs/onnx_test.h"
#include "passes/registry.h"
#include "tests/conformance/passing_cases.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using test::PassingCases;
using test::RanCases;

constexpr const char* kStandard = "/usr/share/libonnx-testdata/data";  // the package libonnx-testdata
const std::string kPassing = std::string(test::kTestData) + "/onnx_passing.txt";

// Of an installed package: "1.12.0" where dpkg knows "1.12.0-2", whose last part is the packager's; "unknown" without.
std::string package_version(const std::string& package) {
  const std::string known = "/var/lib/dpkg/status";
  const std::string status = std::filesystem::exists(known) ? "\n" + read_file(known) : "";
  const size_t begin = status.find("\nPackage: " + package + "\n"), end = status.find("\n\n", begin);
  const std::string key = "\nVersion: ";
  const size_t at = status.find(key, begin);
  if (begin == std::string::npos || at > end) return "unknown";
  const std::string version = status.substr(at + key.size(), status.find('\n', at + 1) - at - key.size());
  return version.substr(0, version.rfind('-'));
}

struct Source {
  test::CaseSource source;
  std::string root;
  std::vector<std::string> folders;  // below it

  RanCases run(const OnnxTestOptions& options) const {
    std::vector<std::string> paths;
    for (const std::string& folder : folders) paths.push_back((std::filesystem::path(root) / folder).string());
    RanCases ran;
    for (OnnxCase& each : run_onnx_tests(paths, options).cases)
      ran.emplace(std::filesystem::path(each.path).lexically_relative(root).string(), std::move(each));
    return ran;
  }
};

std::vector<Source> sources() {
  return {{{"onnx.tar", ""}, test::kOnnxCases, {""}},
          {{"libonnx-testdata", package_version("libonnx-testdata")},
           kStandard,
           {"node", "simple", "pytorch-converted", "pytorch-operator"}}};
}

void expect_recorded_results(const SessionOptions& session) {
  const PassingCases passing = test::parse_passing(read_file(kPassing));
  for (const Source& source : sources()) {
    ASSERT_TRUE(std::filesystem::exists(source.root)) << source.root << ": missing; scripts/deps.sh build installs it";
    const RanCases ran = source.run({.session = session});
    const auto [faults, notes] = test::compare_with(passing, source.source, ran);
    EXPECT_TRUE(faults.empty()) << "the first lines of " << kPassing << " tell how to record:" << faults;
    if (!notes.empty()) std::cout << "not recorded:" << notes << "\n";
    for (const auto& [name, each] : ran)
      EXPECT_TRUE(each.result != OnnxCase::Result::unsupported || !each.reason.empty()) << name;
  }
}

SessionOptions at_level(int optimise) {
  SessionOptions options;
  options.optimise = optimise;
  options.pipeline.verify = true;
  return options;
}

void record_passing() {
  PassingCases passing = test::parse_passing(read_file(kPassing));
  for (const Source& source : sources()) {
    std::set<std::string>& names = passing[source.source.name()];
    names.clear();
    for (const auto& [name, each] : source.run({.session = at_level(0)}))
      if (each.result == OnnxCase::Result::pass) names.insert(name);
  }
  write_file(kPassing, test::print_passing(passing));
}

TEST(OnnxCases, AreRightAsTheyStand) {
  if (std::getenv("HONE_UPDATE")) record_passing();
  expect_recorded_results(at_level(0));
}

TEST(OnnxCases, AreRightInCanonicalForm) { expect_recorded_results(at_level(1)); }

class OnnxCasesCompiled : public testing::TestWithParam<const char*> {};
TEST_P(OnnxCasesCompiled, AreRightOnEveryInstructionSetOfThisMachine) {
  const std::vector<X86Target> levels = target_levels();
  const auto level =
      std::ranges::find(levels, std::string(GetParam()), [](const X86Target& t) { return to_string(t); });
  if (level == levels.end()) GTEST_SKIP() << "this CPU lacks " << GetParam();
  SessionOptions options = at_level(2);
  options.device = x86_device(*level);
  expect_recorded_results(options);
}
INSTANTIATE_TEST_SUITE_P(Levels, OnnxCasesCompiled, testing::Values("avx2", "avx512", "avx512_bf16"),
                         [](const auto& test) { return std::string(test.param); });

TEST(OnnxCases, AreRightOnTwoThreads) {
  SessionOptions options = at_level(2);
  options.threads = 2;
  expect_recorded_results(options);
}

// Takes a quarter of an hour: `make test-full`.
TEST(OnnxCases, AreRightWithoutAnyOnePass) {
  if (!std::getenv("HONE_TEST_FULL")) GTEST_SKIP() << "HONE_TEST_FULL is not set";
  for (const std::string& pass : names_of<PassDef>(passes::all())) {
    SCOPED_TRACE("without " + pass);
    SessionOptions options = at_level(2);
    options.pipeline.disabled = {pass};
    expect_recorded_results(options);
  }
}

}  // namespace
}  // namespace hone

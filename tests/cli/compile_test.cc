// hone compile as users type it.
#include <filesystem>

#include "base/cpu.h"
#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

class Compile : public CliTest {
 protected:
  Json probed(const std::string& file, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"probe", file, "--batch", "2", "--seq", "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = hone_program(arguments, {.environment = {{"HONE_CACHE", ""}}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out.substr(result.out.find('\n') + 1), "hone probe");
  }
};

TEST_F(Compile, ACompiledModelStartsWithoutCompilingAndWithoutACache) {
  const std::string file = out + "/compiled.safetensors";
  expect_done(hone_program({"compile", model, "-o", file, "--batch", "2", "--seq", "16", "--no-cache"}));
  EXPECT_GT(probed(model)["kernels_compiled"], 0);
  EXPECT_EQ(probed(file, {"--trust-code"})["kernels_compiled"], 0);
  EXPECT_GT(probed(file)["kernels_compiled"], 0);
}

// The check of the written file runs a session of its own.
TEST_F(Compile, WithoutACacheNothingIsWrittenToOneNorByTheCheck) {
  const std::string cache = out + "/cache", chosen = out + "/chosen";
  const auto compile = [&](std::vector<std::string> flags) {
    std::vector<std::string> arguments{"compile", model, "-o", out + "/m.safetensors", "--batch", "2", "--seq", "16"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    expect_done(hone_program(arguments, {.environment = {{"HONE_CACHE", cache}}}));
  };
  compile({"--no-cache"});
  compile({"--cache", chosen});
  EXPECT_FALSE(std::filesystem::exists(cache));
  EXPECT_TRUE(std::filesystem::exists(chosen));
  compile({});
  EXPECT_TRUE(std::filesystem::exists(cache));
}

TEST_F(Compile, FeaturesThatTheEnvironmentHidesAreNotUsed) {
  const auto run = [&](const std::string& hidden, const std::string& target) {
    return hone_program({"run", model, "--batch", "2", "--seq", "16", "--isa", target},
                        {.environment = {{"HONE_WITHOUT", hidden}}});
  };
  expect_refusal(run("avx513", "avx2"), {"HONE_WITHOUT", "'avx513'", "avx512_bf16"});
  if (!cpu_features().has(Feature::avx512)) GTEST_SKIP() << "this CPU lacks AVX-512";
  expect_refusal(run("avx512_vnni,avx512", "avx512"), {"HONE_WITHOUT=avx512_vnni,avx512 hides avx512"});
  expect_done(run("avx512_vnni,avx512", "avx2"));
}

TEST_F(Compile, CodeInAFileRunsOnlyWhereItIsTrusted) {
  const std::string file = out + "/compiled.safetensors";
  expect_done(hone_program({"compile", model, "-o", file, "--batch", "2", "--seq", "16", "--no-cache"}));
  const std::vector<std::string> run{"run", file, "--batch", "2", "--seq", "16"};
  const ProgramResult plain = hone_program(run);
  expect_done(plain);
  EXPECT_THAT(plain.err, testing::AllOf(testing::HasSubstr("--trust-code"), testing::HasSubstr("left aside")));
  std::vector<std::string> trusting = run;
  trusting.push_back("--trust-code");
  EXPECT_EQ(hone_program(trusting).err.find("left aside"), std::string::npos);
}

TEST_F(Compile, RefusesAnOutputOfAnotherKind) {
  expect_refusal(hone_program({"compile", model, "-o", out + "/compiled.onnx"}), {"compiled.onnx", ".safetensors"});
}

}  // namespace
}  // namespace hone

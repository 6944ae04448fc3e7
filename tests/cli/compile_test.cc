// hone compile as users type it.
#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

class Compile : public CliTest {
 protected:
  Json probed(const std::string& file) const {
    const ProgramResult result =
        hone_program({"probe", file, "--batch", "2", "--seq", "16"}, {.environment = {{"HONE_CACHE", ""}}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out.substr(result.out.find('\n') + 1), "hone probe");
  }
};

TEST_F(Compile, ACompiledModelStartsWithoutCompilingAndWithoutACache) {
  const std::string file = out + "/compiled.safetensors";
  expect_done(hone_program({"compile", model, "-o", file, "--batch", "2", "--seq", "16", "--no-cache"}));
  EXPECT_GT(probed(model)["kernels_compiled"], 0);
  EXPECT_EQ(probed(file)["kernels_compiled"], 0);
}

TEST_F(Compile, RefusesAnOutputOfAnotherKind) {
  expect_refusal(hone_program({"compile", model, "-o", out + "/compiled.onnx"}), {"compiled.onnx", ".safetensors"});
}

}  // namespace
}  // namespace hone

// hone build as a user types it.
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using Build = CliTest;

TEST_F(Build, WritesAModelThatRuns) {
  const ProgramResult built = hone_program({"build", "convnet", "--set", "widths=[4]", "--set", "image_size=8",
                                            "--seed", "3", "-o", out + "/net.safetensors"});
  expect_done(built);
  EXPECT_THAT(built.out, testing::HasSubstr("random weights, seed 3"));
  const ProgramResult ran = hone_program({"run", out + "/net.safetensors", "--batch", "2", "--no-cache"});
  expect_done(ran);
  EXPECT_THAT(ran.out, testing::HasSubstr("f32[2,10]"));
}

TEST_F(Build, RefusesWhatItDoesNotKnow) {
  expect_refusal(hone_program({"build", "convnett", "-o", out + "/net.safetensors"}), {"Did you mean convnet"});
  expect_refusal(hone_program({"build", "convnet", "--set", "widths", "-o", out + "/net.safetensors"}), {"name=value"});
  expect_refusal(hone_program({"build", "convnet", "-o", out + "/net.bin"}), {".safetensors or .onnx"});
}

}  // namespace
}  // namespace hone

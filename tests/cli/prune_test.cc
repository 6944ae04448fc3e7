#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

class PruneCli : public CliTest {};

TEST_F(PruneCli, WritesWhatItSays) {
  const ProgramResult result =
      hone_program({"prune", model, "--structure", "2:4", "-o", folder / "sparse.safetensors"});
  expect_done(result);
  EXPECT_THAT(result.out, testing::HasSubstr("(50.00 %)"));
  const ProgramResult help = hone_program({"prune", "--help"});
  EXPECT_THAT(help.out, testing::HasSubstr("sparsegpt"));
}

TEST_F(PruneCli, RefusesBeforeAnythingIsWritten) {
  const std::string to = out + "/x.safetensors";
  expect_refusal(hone_program({"prune", model, "--sparsity", "1", "-o", to}), {"sparsity is 1", "0 to below 1"});
  expect_refusal(hone_program({"prune", model, "--sparsity", "-0.1", "-o", to}), {"sparsity is -0.1"});
  expect_refusal(hone_program({"prune", model, "--method", "wand", "-o", to}), {"Did you mean wanda"});
  expect_refusal(hone_program({"prune", model, "--method", "wanda", "-o", to}), {"give --data FILE"});
  expect_refusal(hone_program({"prune", model, "--structure", "channels", "--rule", "output.dense", "-o", to}),
                 {"can't be pruned", "model's output"});
}

TEST_F(PruneCli, AConfigurationOfMaseSaysWhatFlagsLeave) {
  const std::string config = folder.put(
      "mase.toml",
      "[passes.prune.weight]\nscope = 'local'\ngranularity = 'elementwise'\nmethod = 'random'\nsparsity = 0.25\n");
  const auto pruned = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"prune", model, "--mase-config", config, "-o", folder / "sparse.safetensors"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = hone_program(words);
    expect_done(result);
    return result.out;
  };
  EXPECT_THAT(pruned({}), testing::HasSubstr("(25.00 %)"));
  EXPECT_THAT(pruned({"--sparsity", "0.5"}), testing::HasSubstr("(50.00 %)"));
}

}  // namespace
}  // namespace hone

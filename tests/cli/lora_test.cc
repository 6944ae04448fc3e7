#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

class LoraCli : public CliTest {};

TEST_F(LoraCli, InsertsExportsImportsAndFuses) {
  const std::string adapted = folder / "adapted.safetensors", adapter = folder / "adapter";
  expect_done(hone_program({"lora", "insert", model, "--rule", "query", "--rank", "2", "-o", adapted}));
  expect_done(hone_program({"lora", "export", adapted, "--prefix", "bert.", "-o", adapter}));
  expect_done(hone_program({"lora", "import", model, "--adapter", adapter, "-o", folder / "back.safetensors"}));
  expect_done(hone_program({"lora", "fuse", folder / "back.safetensors", "-o", folder / "fused.safetensors"}));
}

TEST_F(LoraCli, RefusesWhatItCanNotDo) {
  const std::string to = out + "/x.safetensors";
  expect_refusal(hone_program({"lora", "insert", model, "-o", to}), {"insert_lora.rule"});
  expect_refusal(hone_program({"lora", "insert", model, "--rule", "qury", "-o", to}), {"matches no layer"});
  expect_refusal(hone_program({"lora", "fuse", model, "-o", to}), {"no adapters to fuse"});
  expect_refusal(hone_program({"lora", "export", model, "-o", out + "/folder"}), {"has no adapters"});
  expect_refusal(hone_program({"lora", "import", model, "--adapter", model, "-o", to}), {"has no adapter_config.json"});
  expect_refusal(hone_program({"lora", "fuse", model, "--rank", "3", "-o", to}), {"--rank"}, 2);
  expect_refusal(hone_program({"lora", model}), {}, 2);
}

}  // namespace
}  // namespace hone

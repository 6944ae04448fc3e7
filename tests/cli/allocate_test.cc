// hone allocate: plans keep to budgets of whole files and of measured time, or nothing is written.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "tests/cli/train_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Allocate : public CliTest {
 protected:
  ProgramResult allocate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"allocate", model, "--formats", "mxint4,mxint8", "--calib", texts, "--calib-batch", "2",
                      "--trials", "1", "--seconds", "0.2", "--seq", "16", "-o", plan});
    return hone_program(arguments);
  }
  const std::string texts =
      folder.put("texts.txt", "the cat\na dog and a bird\nbirds\nthe dogs and cats\ncats\na bird\n");
  const std::string plan = folder / "plan.toml";
};

TEST_F(Allocate, WhatQuantizeMakesOfAPlanKeepsToItsBytes) {
  for (const char* target : {"safetensors", "onnx"}) {
    expect_done(allocate({"--budget", "bytes=200kB", "--for", target}));
    const std::string file = out + "/small." + target;
    const ProgramResult made = hone_program({"quantize", model, "--config", plan, "-o", file});
    expect_done(made);
    EXPECT_LE(std::filesystem::file_size(file), 200'000U);
    EXPECT_THAT(made.out, testing::Not(HasSubstr("more than the plan's")));
  }
  std::string text = read_file(plan);
  text.replace(text.find("bytes = 200000"), 14, "bytes = 1000");
  const ProgramResult over =
      hone_program({"quantize", model, "--config", folder.put("plan.toml", text), "-o", out + "/b.onnx"});
  expect_done(over);
  EXPECT_THAT(over.out, HasSubstr("more than the plan's 1000"));
}

TEST_F(Allocate, BudgetsThatCantBeMetLeaveNothingBehind) {
  expect_refusal(allocate({"--budget", "bytes=1"}),
                 {"no choice of formats meets the budget", "mxint4, mxint8", " bytes ("});
  expect_refusal(allocate({"--budget", "latency=0.0001x"}), {"no choice of formats meets the budget", "[1,16]"});
  EXPECT_FALSE(std::filesystem::exists(plan));
  expect_refusal(allocate({"--budget", "bytes=1MB", "--for", "gguf"}), {"--for"}, 2);
  expect_refusal(allocate({"--budget", "latency=0x"}), {"no number above 0"});
}

TEST_F(Allocate, APlanIsNotWrittenOverItsConfiguration) {
  folder.put("plan.toml", "skip = [\"pooler\"]\n");
  expect_refusal(allocate({"--budget", "avg-bits=8", "--config", plan}), {"is read as --config"});
  EXPECT_THAT(read_file(plan), HasSubstr("pooler"));
}

class AllocateImages : public TrainTest {};

TEST_F(AllocateImages, APlanLearntFromAFolderIsMadeOfIt) {
  const std::string data = put_fashion(), plan = folder / "plan.toml", network = folder / "network.safetensors";
  expect_done(hone_program({"build", "convnet", "--set", "widths=[8]", "--set", "num_channels=1", "--set",
                            "image_size=28", "-o", network}));
  expect_done(hone_program({"allocate", network, "--data", data, "--method", "gptq", "--formats", "int{4,8}.channel",
                            "--budget", "avg-bits=12", "--trials", "1", "-o", plan}));
  EXPECT_THAT(read_file(plan), HasSubstr("calib = "));
  const ProgramResult made =
      hone_program({"quantize", network, "--config", plan, "-o", out + "/small.safetensors", "--json"});
  expect_done(made);
  const Json files = parse_json(made.out, "hone quantize").at("manifest");
  EXPECT_EQ(files.at(1).at("path"), data);
  EXPECT_EQ(files.at(1).at("sha256").get<std::string>().size(), 64u);
}

}  // namespace
}  // namespace hone

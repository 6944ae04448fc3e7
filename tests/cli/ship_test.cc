// hone ship: one command, a verdict on a screen, a file with the TOML that makes it again, and refusals.
#include <fmt/format.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "base/json.h"
#include "base/philox.h"
#include "tests/cli/cli_fixture.h"
#include "tests/cli/small_disk.h"
#include "tests/support/running_program.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

class ShipVerb : public CliTest {
 protected:
  // Pairs of texts, of which the second is nearly the first: an encoder finds most of them.
  ShipVerb() {
    static const std::vector<std::string> kWords = {"the", "and", "that", "with", "from", "this", "were", "some"};
    Philox random(11);
    std::string text = "text,text2\n";
    for (int i = 0; i < 64; ++i) {
      std::vector<std::string> words;
      for (int w = 0; w < 6; ++w) words.push_back(kWords[random.below(8)]);
      const std::string first = fmt::format("{}", fmt::join(words, " "));
      words[random.below(6)] = "house";
      text += fmt::format("{},{}\n", first, fmt::join(words, " "));
    }
    pairs = folder.put("pairs.csv", text);
  }

  std::vector<std::string> command(std::vector<std::string> more) const {
    std::vector<std::string> all{"ship", model, "--data", pairs, "-o", small, "--seq", "16", "--time", "30s"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> quick(std::vector<std::string> more) const {
    more.insert(more.end(), {"--formats", "mxint8"});
    return command(more);
  }

  std::string pairs, small = out + "/small.safetensors", toml = out + "/small.toml", report = out + "/r.html";
};

TEST_F(ShipVerb, PrintsAVerdictThatFitsAScreen) {
  const ProgramResult result = hone_program(quick({"--report", report}));
  expect_done(result);
  EXPECT_LE(std::ranges::count(result.out, '\n'), 12);
  for (const char* part : {"small.safetensors: mxint8", "size: ", "time: ", "recall: ", "took no part in the choice",
                           "again: hone ship ", "--config "})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(read_file(report), HasSubstr("keeps the promises"));
  EXPECT_FALSE(std::filesystem::exists(small + ".ship"));

  const ProgramResult again =
      hone_program({"ship", model, "--config", toml, "-o", out + "/again.safetensors", "--verbose", "--time", "30s"});
  expect_done(again);
  EXPECT_EQ(read_file(small), read_file(out + "/again.safetensors"));
  EXPECT_THAT(again.out, HasSubstr("Candidates, on the rows to choose on"));
  expect_done(hone_program({"embed", small, "--text", "it runs alone", "-o", out + "/e.npy"}));
}

TEST_F(ShipVerb, ResultsAreJson) {
  const ProgramResult result = hone_program(quick({"--json", "--max-drop", "50%"}));
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_GE(json["candidates"].size(), 2u);
  EXPECT_TRUE(json["candidates"][0]["bytes"].is_number());
  EXPECT_EQ(json["manifest"][1]["role"], "output");
  EXPECT_LE(json["findings"].size(), 11u);
}

TEST_F(ShipVerb, ADryRunWritesNothing) {
  const ProgramResult result = hone_program(quick({"--dry-run"}));
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr("this is a dry run"));
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

TEST_F(ShipVerb, PromisesAndTimesAreRead) {
  expect_refusal(hone_program(quick({"--max-size", "small"})), {"--max-size small", "2MB"});
  expect_refusal(hone_program(quick({"--max-latency", "5"})), {"--max-latency 5", "5ms", "0.7x"});
  expect_refusal(hone_program(quick({"--max-drop", "a bit"})), {"a bit", "0.5%"});
  expect_refusal(hone_program(quick({"--min-metric", "high"})), {"--min-metric high", "0.91"});
  expect_refusal(hone_program({"ship", model, "--data", pairs, "-o", small, "--time", "soon"}),
                 {"--time soon", "10min"});
  expect_refusal(hone_program(command({"--formats", "mxint99"})), {"mxint99"});
  expect_refusal(hone_program({"ship", model, "-o", small}), {"there are no data", "--data"});
}

TEST_F(ShipVerb, DataThatCantBeDealtOutAreRefused) {
  const auto with = [&](const std::string& data) {
    return hone_program({"ship", model, "--data", data, "-o", small, "--seq", "16"});
  };
  expect_refusal(with(folder / "none.csv"), {"none.csv"});
  expect_refusal(with(folder.put("empty.txt", "\n\n")), {"empty.txt", "holds no texts"});
  expect_refusal(with(folder.put("few.csv", "text,label\na,x\nb,y\nc,x\n")), {"few.csv", "3 rows are too few", "32"});
}

TEST_F(ShipVerb, AMetricThatDoesNotFitTheDataIsRefused) {
  expect_refusal(hone_program(quick({"--metric", "accuracy"})), {"accuracy", "does not fit the data"});
  expect_refusal(hone_program(quick({"--metric", "recal@1"})), {"recal"});
  expect_refusal(hone_program(quick({"--train"})), {"--train", "no labels"});
}

TEST_F(ShipVerb, WhatIsReadIsNotWrittenOver) {
  const std::string weights = model + "/model.safetensors", before = read_file(weights);
  EXPECT_EQ(hone_program({"ship", model, "--data", pairs, "-o", weights}).exit_code, 1);
  EXPECT_EQ(read_file(weights), before);
  const std::string config = folder.put("small.toml", "data = \"pairs.csv\"\n");
  const ProgramResult result =
      hone_program({"ship", model, "--config", config, "-o", folder / "small.safetensors", "--seq", "16"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("small.toml"));
}

TEST_F(ShipVerb, AnotherEndingIsRefused) {
  expect_refusal(hone_program({"ship", model, "--data", pairs, "-o", out + "/small.bin"}),
                 {"small.bin", ".safetensors"});
}

TEST_F(ShipVerb, OfABadConfigTheKeyIsNamed) {
  const auto with = [&](const std::string& toml_text) {
    return hone_program({"ship", model, "--data", pairs, "--config", folder.put("c.toml", toml_text), "-o", small});
  };
  expect_refusal(with("[recipe]\nformat = \"mxint4\"\n"), {"c.toml", "unknown option format"});
  expect_refusal(with("[recipe]\ntrain = \"hard\"\n"), {"c.toml", "option train", "qat"});
  expect_refusal(with("max-sise = \"2MB\"\n"), {"c.toml", "max-sise", "max-size"});
}

TEST_F(ShipVerb, ADeviceThatIsNotThereIsRefused) {
  const ProgramResult result =
      hone_program(quick({"--device", "cuda"}), {.environment = {{"HONE_CUDA_DRIVER", "/no/such/libcuda.so.1"}}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("libcuda"));
  EXPECT_FALSE(std::filesystem::exists(small));
}

TEST_F(ShipVerb, AnUnmetPromiseEndsWithOneAndWritesNothing) {
  const ProgramResult result = hone_program(quick({"--max-size", "1kB"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("--max-size 1.00 kB: the smallest of"));
  EXPECT_FALSE(std::filesystem::exists(small));
  EXPECT_FALSE(std::filesystem::exists(toml));
}

TEST_F(ShipVerb, AKilledRunLeavesNothingHalfWrittenAndGoesOn) {
  const std::string known = small + ".ship/measurements.txt";
  const std::vector<std::string> arguments = command({"--report", report, "--json"});
  RunningProgram program(HONE_PROGRAM, arguments);
  const bool alive = program.until([&] {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(known, none);
    return !none && bytes > 600;  // some candidates
  });
  ASSERT_TRUE(alive) << program.err();
  program.send(SIGKILL);
  ASSERT_EQ(program.end(), -SIGKILL);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(out)) left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, testing::ElementsAre("small.safetensors.ship"));

  const ProgramResult resumed = hone_program(arguments);
  expect_done(resumed);
  EXPECT_THAT(resumed.out, HasSubstr("after what an earlier run had measured"));
  for (const std::string& file : {small, toml, report}) EXPECT_TRUE(std::filesystem::exists(file)) << file;
  EXPECT_FALSE(std::filesystem::exists(small + ".ship"));
}

TEST_F(ShipVerb, ADiskThatIsFullLeavesNothingHalfWritten) {
  const OnSmallDisk found = on_small_disk(out, 24 << 10, [&] {
    const ProgramResult result = hone_program(quick({}));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("space"));
    EXPECT_FALSE(std::filesystem::exists(small));
    EXPECT_FALSE(std::filesystem::exists(toml));
  });
  if (found == OnSmallDisk::not_allowed) GTEST_SKIP() << "no disk of our own can be mounted here";
  EXPECT_EQ(found, OnSmallDisk::passed);
}

}  // namespace
}  // namespace hone

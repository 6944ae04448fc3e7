// hone evaluate, and --data of the verbs that measure: the keys that scripts read, and refusals.
#include <filesystem>

#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Evaluate : public CliTest {
 protected:
  // Of each pair the texts are the same, so every encoder finds the second.
  std::string put_pairs() const {
    std::string csv = "text,text2,split\n";
    for (char c = 'a'; c < 'y'; ++c) csv += fmt::format("the {0} cup,the {0} cup,{1}\n", c, c < 'm' ? "train" : "test");
    return folder.put("pairs.csv", csv);
  }
  // A program that prints 1 when it is first run, and `later` from then on.
  std::string put_score(const std::string& later) const {
    const std::string seen = folder / "seen",
                      file =
                          folder.put("score.sh", fmt::format("#!/bin/sh\nif [ -e {0} ]; then echo {1}; else touch {0}; "
                                                             "echo 1; fi\n",
                                                             seen, later));
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
};

TEST_F(Evaluate, SeveralModelsAndMetricsAreOneTable) {
  const std::string small = folder / "small.safetensors";
  expect_done(hone_program({"quantize", model, "--to", "mxint8", "-o", small}));
  const ProgramResult result = hone_program(
      {"evaluate", model, small, "--data", put_pairs(), "--metric", "retrieval,agreement", "--batch", "5", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_EQ(json["evaluation"].size(), 2u);
  const Json &first = json["evaluation"][0], &second = json["evaluation"][1];
  for (const char* key : {"recall", "recall_10", "mrr"}) EXPECT_EQ(first.at(key), 1) << key;
  EXPECT_EQ(first["rows"], 12);  // the test split
  EXPECT_EQ(second["mrr_difference"], 0);
  EXPECT_EQ(second["mrr_difference_ci95"].size(), 2u);
  EXPECT_EQ(json["agreement"][0]["rows"], 12);
  EXPECT_EQ(json["agreement"][0]["neighbours"], 5);  // ten are asked for, of eleven others
  EXPECT_EQ(json["manifest"].size(), 3u);
}

TEST_F(Evaluate, ReportsAreWritten) {
  const std::string report = out + "/r.html";
  expect_done(
      hone_program({"evaluate", model, "--data", put_pairs(), "--split", "train", "--limit", "7", "--report", report}));
  EXPECT_THAT(read_file(report), HasSubstr("7 of 12 rows of train of"));
}

TEST_F(Evaluate, BadRequestsAreRefused) {
  const std::string data = put_pairs();
  EXPECT_EQ(hone_program({"evaluate", model}).exit_code, 2);
  expect_refusal(hone_program({"evaluate", model, "--data", "none.csv"}), {"none.csv"});
  expect_refusal(hone_program({"evaluate", model, "--data", data, "--metric", "accuracy"}),
                 {"metric accuracy", "judged by pairs: retrieval would"});
  expect_refusal(hone_program({"evaluate", model, "--data", data, "--metric", "recal"}), {"Did you mean recall?"});
  expect_refusal(hone_program({"evaluate", model, "--data", data, "--metric", "agreement"}), {"is between models"});
  expect_refusal(hone_program({"evaluate", model, "--data", data, "--split", "dev"}),
                 {"no split \"validation\"", "train, test"});
  expect_refusal(hone_program({"evaluate", model, "--data", data, "--metric", "cmd:false"}),
                 {"cmd:false: ended with code 1"});
  expect_refusal(hone_program({"evaluate", model, "--data", data, "--report", data}), {"--report"});
  expect_refusal(hone_program({"bench", model, "--metric", "mrr"}), {"give --data"});
  expect_refusal(hone_program({"squeeze", model, "--to", "mxint8", "-o", out + "/s.safetensors", "--max-drop", "1%"}),
                 {"of what? Give --data"});
  expect_refusal(
      hone_program({"squeeze", model, "--to", "mxint8", "-o", out + "/s.safetensors", "--max-drop", "a bit"}),
      {"\"a bit\" is no drop"});
}

TEST_F(Evaluate, BenchReportsWhatAnswersAreWorth) {
  const ProgramResult result = hone_program({"bench", model, model, "--seq", "16", "--seconds", "0.1", "--no-probe",
                                             "--data", put_pairs(), "--data-limit", "10", "--metric", "mrr", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_EQ(json["evaluation"].size(), 2u);
  EXPECT_EQ(json["evaluation"][1]["mrr_difference"], 0);
  EXPECT_EQ(json["evaluation"][0]["rows"], 10);
}

TEST_F(Evaluate, SqueezeWritesNothingThatLosesTooMuch) {
  const std::string data = put_pairs(), small = out + "/small.safetensors";
  const std::vector<std::string> command{"squeeze", model,        "--to",      "mxint8",  "-o",     small,
                                         "--seq",   "16",         "--seconds", "0.1",     "--data", data,
                                         "--json",  "--max-drop", "10%",       "--metric"};
  std::vector<std::string> worse = command, same = command;
  worse.push_back("cmd:" + put_score("0.5"));
  expect_refusal(hone_program(worse), {"is 0.5, of the original 1", "more is lost than --max-drop 10% allows"});
  same.push_back("mrr");
  const ProgramResult result = hone_program(same);
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  EXPECT_EQ(json["evaluation"].size(), 2u);
  EXPECT_THAT(json["findings"].dump(), HasSubstr("Within --max-drop 10%: mean reciprocal rank is 1"));
  EXPECT_TRUE(std::filesystem::exists(small));
}

}  // namespace
}  // namespace hone

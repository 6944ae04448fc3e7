// hone generate: what it prints as it comes, as JSON, of lines, and what it refuses.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/cli/cli_fixture.h"
#include "tests/generate/letter_model.h"
#include "tests/support/running_program.h"

namespace hone {
namespace {

using test::LetterModel;
using testing::HasSubstr;

class GenerateVerb : public CliTest {
 protected:
  std::string put(const LetterModel& made = {}) const {
    made.write(folder / "letters.safetensors");
    return folder / "letters.safetensors";
  }
  static std::vector<std::string> command(const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words{"generate", file, "--no-cache", "-O", "1", "--max-tokens", "12"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static ProgramResult run(const std::string& file, const std::vector<std::string>& more,
                           const std::string& input = "") {
    return hone_program(command(file, more), {.input = input});
  }
  static Json json_of(const ProgramResult& result) { return parse_json(result.out, "stdout"); }
};

TEST_F(GenerateVerb, PrintsTheAnswerAndInJsonItsTokens) {
  const std::string file = put();
  const std::vector<std::string> sampled{"fgh", "--temperature", "3", "--seed", "5"};
  const ProgramResult text = run(file, sampled);
  expect_done(text);
  EXPECT_EQ(text.err, "");
  std::vector<std::string> as_json = sampled;
  as_json.push_back("--json");
  const ProgramResult result = run(file, as_json);
  expect_done(result);
  const Json json = json_of(result);
  ASSERT_EQ(json["answers"].size(), 1u);
  EXPECT_EQ(json["answers"][0]["text"].get<std::string>() + "\n", text.out);
  EXPECT_EQ(json["answers"][0]["end"], "max tokens");
  EXPECT_EQ(json["answers"][0]["prompt_tokens"], 3);
  ASSERT_EQ(json["tokens"].size(), 12u);
  std::string joined;
  for (const Json& token : json["tokens"]) {
    joined += token["text"].get<std::string>();
    EXPECT_LT(token["log_probability"].get<double>(), 0);
    EXPECT_GT(token["ms"].get<double>(), 0);
  }
  EXPECT_EQ(joined + "\n", text.out);
  EXPECT_EQ(json["run"]["kv_cache"], "f32");
}

TEST_F(GenerateVerb, TheSeedDecides) {
  const std::string file = put();
  const auto answer = [&](const char* seed) { return run(file, {"fgh", "--temperature", "5", "--seed", seed}).out; };
  EXPECT_EQ(answer("1"), answer("1"));
  EXPECT_NE(answer("1"), answer("2"));
}

TEST_F(GenerateVerb, FiltersLeaveTheLikeliestToken) {
  const std::string file = put(), likeliest = run(file, {"fgh"}).out;
  for (const char* filter : {"--top-k", "--min-p"})
    EXPECT_EQ(run(file, {"fgh", "--temperature", "5", filter, "1"}).out, likeliest) << filter;
  EXPECT_EQ(run(file, {"fgh", "--temperature", "5", "--top-p", "1e-9"}).out, likeliest);
  EXPECT_NE(run(file, {"fgh", "--repeat-penalty", "50"}).out, likeliest);
}

TEST_F(GenerateVerb, AStopEndsTheAnswerBeforeIt) {
  const std::string file = put(), all = run(file, {"fgh", "--temperature", "5"}).out;
  const size_t at = all.find_first_of("fghijklmnopqrst");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(run(file, {"fgh", "--temperature", "5", "--stop", all.substr(at, 1)}).out, all.substr(0, at) + "\n");
}

TEST_F(GenerateVerb, AChatTakesTheModelsTemplate) {
  const std::string file = put({.chat_template = test::kLetterTemplate});
  EXPECT_EQ(run(file, {"gh", "--chat", "--system", "ii"}).out, run(file, {"<s>iighf"}).out);
  expect_refusal(run(file, {"gh", "--system", "ii"}), {"--system", "--chat"}, 2);
}

TEST_F(GenerateVerb, LinesOfStandardInputAreAnsweredOneByOneOrSeveralAtOnce) {
  const std::string file = put(), lines = "fgh\r\n\ni\njjkl";
  const std::string each = run(file, {"fgh"}).out + run(file, {"i"}).out + run(file, {"jjkl"}).out;
  EXPECT_EQ(run(file, {}, lines).out, each);
  EXPECT_EQ(run(file, {"--sequences", "2"}, lines).out, each);
  const Json json = json_of(run(file, {"--json"}, lines));
  ASSERT_EQ(json["answers"].size(), 3u);
  EXPECT_EQ(json["tokens"][20]["prompt"], 1);
  expect_refusal(run(file, {"--json"}, "\n\n"), {"standard input has no prompt"});
  expect_refusal(run(file, {}), {"standard input has no prompt"});
}

// What it said until then stands, and its last line is whole.
TEST_F(GenerateVerb, ASignalEndsTheAnswer) {
  std::vector<std::string> endless = command(put({.context = 1 << 20}), {"fgh", "--temperature", "3"});
  *std::find(endless.begin(), endless.end(), "12") = std::to_string(1 << 20);
  RunningProgram program(HONE_PROGRAM, endless);
  ASSERT_TRUE(program.until([&] { return !program.out().empty(); })) << program.err();
  program.send(SIGINT);
  EXPECT_EQ(program.end(), 128 + SIGINT);
  EXPECT_EQ(program.err(), "hone: interrupted\n");
  EXPECT_TRUE(program.out().ends_with('\n'));
}

TEST_F(GenerateVerb, WhatDoesNotFitIsRefused) {
  const std::string file = put({.context = 8});
  expect_refusal(run(file, {"ffffffffff"}), {"10 tokens, 2 more than the 8 of the context; --truncate"});
  EXPECT_EQ(json_of(run(file, {"ffffffffff", "--truncate", "--json"}))["answers"][0]["prompt_left_out"], 2);
  expect_refusal(run(file, {"f", "--context", "9"}), {"context: expected 2 to 8"});
  expect_refusal(run(file, {"f", "--kv-cache", "int9000"}), {"keys and values as \"int9000\""});
  expect_refusal(run(file, {""}), {"the prompt has no token"});
  expect_refusal(run(model, {"f"}), {"is no language model"});
  expect_refusal(run(put({.tokens = 0}), {"f"}), {"has no tokenizer"});
  expect_refusal(run(put({.tokens = 24}), {"f"}), {"24 tokens", "vocabulary 20"});
  expect_refusal(run(put(), {"f", "--chat"}), {"no chat template"});
  expect_refusal(run(put({.chat_template = "{% for x in range(100000000) %}{% endfor %}"}), {"f", "--chat"}),
                 {"template"});
}

}  // namespace
}  // namespace hone

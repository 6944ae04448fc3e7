#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/atomic_file.h"
#include "cli/registry.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/paths.h"
#include "tests/support/run_program.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string help(std::vector<std::string> words) {
  words.insert(words.begin(), "help");
  const ProgramResult result = hone_program(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

TEST(Help, ThePageOfVerbsIsWhatTheTablesSay) {
  EXPECT_TRUE(help({"--as", "markdown"}) == read_file(test::kSourceDir + std::string("/docs/cli.md")))
      << "make docs writes it";
}

TEST(Help, LinesOfThePageAreShortButForExamples) {
  std::istringstream lines(help({"--as", "markdown"}));
  bool quoted = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) quoted = !quoted;
    if (quoted || line.find(' ', 2) == line.npos) continue;
    EXPECT_LE(line.size(), 100) << line;
  }
}

TEST(Help, OfAVerbIsWhatTheVerbSays) {
  EXPECT_EQ(help({"quantize"}), hone_program({"quantize", "--help"}).out);
  EXPECT_EQ(help({"lora", "insert"}), hone_program({"lora", "insert", "--help"}).out);
  EXPECT_EQ(help({}), hone_program({"--help"}).out);
}

TEST(Help, VerbsStandUnderTheTaskThatTheyServe) {
  const std::string all = help({});
  EXPECT_LT(all.find("Make a model smaller:"), all.find("quantize"));
  EXPECT_LT(all.find("quantize"), all.find("Train and search:"));
  for (const VerbDef* verb : cli::all())
    EXPECT_TRUE(verb->task != VerbTask::other || std::string_view(verb->name) == "help") << verb->name;
}

TEST(Help, UnknownVerbsAreRefusedWithTheNearest) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"help", "qantize"}, {"help", "--as", "man", "qantize"}}) {
    const ProgramResult result = hone_program(words);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("no verb qantize. Did you mean quantize?"));
  }
  EXPECT_THAT(hone_program({"help", "--as", "bash", "quantize"}).err, HasSubstr("takes no verb; found \"quantize\""));
}

TEST(Help, AManPageHasNameOptionsAndExamples) {
  const std::string page = help({"--as", "man", "quantize"});
  EXPECT_TRUE(page.starts_with(".TH HONE\\-QUANTIZE 1\n")) << page.substr(0, 100);
  for (const char* part :
       {".SH NAME\nhone\\-quantize \\- ", ".B \\-\\-to TEXT", ".B \\-\\-max\\-memory", ".SH EXAMPLES"})
    EXPECT_THAT(page, HasSubstr(part));
}

TEST(Help, BashCompletesVerbsActionsOptionsAndChoices) {
  TemporaryFolder folder;
  write_file(folder / "hone.bash", help({"--as", "bash"}));
  const auto completed = [&](const std::string& words, int number) {
    const ProgramResult result = run_program(
        "/bin/bash", {"-c", "source '" + (folder / "hone.bash") + "'; COMP_WORDS=(" + words +
                                "); COMP_CWORD=" + std::to_string(number) + "; _hone; echo ${COMPREPLY[@]}"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(completed("hone qu", 1), "quantize\n");
  EXPECT_EQ(completed("hone lora ins", 2), "insert\n");
  EXPECT_EQ(completed("hone lora insert --ran", 3), "--rank\n");
  EXPECT_EQ(completed("hone bench --protocol f", 3), "fair\n");
  EXPECT_EQ(completed("hone squeeze --max-m", 2), "--max-memory\n");
}

TEST(Help, FishKnowsEachVerbAndItsOptions) {
  const std::string script = help({"--as", "fish"});
  EXPECT_THAT(script, HasSubstr("-n __fish_use_subcommand -a quantize -d "));
  EXPECT_THAT(script, HasSubstr("-n '__fish_seen_subcommand_from bench' -l protocol -r -f -a 'fair lab' -d "));
  EXPECT_TRUE(help({"--as", "zsh"}).starts_with("#compdef hone\n"));
}

}  // namespace
}  // namespace hone

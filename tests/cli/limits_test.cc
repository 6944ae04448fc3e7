// How a run ends before it is done: by a signal, by --timeout, by --max-memory. With the code that says so, one line,
// and nothing left behind.
#include <fmt/format.h>

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "cli/registry.h"
#include "io/artefact.h"
#include "io/numpy.h"
#include "tests/cli/cli_fixture.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/running_program.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// Never ends: the body's condition is what it was given.
constexpr const char* kEndless = R"(graph endless {
  %x : f32[N,4] = input "x"
  %w : f32[4,4] = const "w" {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}
  %h = linear %x, %w
  %last = loop _, _, %h {carried=1} do
    graph body {
      %i : i64[] = input "i"
      %go : bool[] = input "go"
      %v : f32[N,4] = input "v"
      %next = mul %v, 1.0
      return %go as "0", %next as "1"
    }
  return %last as "y"
})";

// 4 GB from a few bytes.
constexpr const char* kLarge = R"(graph large {
  %x : f32[N,1] = input "x"
  %shape : i64[2] = const {32768,32768}
  %y = expand %x, %shape
  %z = mul %y, %y
  return %z as "y"
})";

class Limits : public CliTest {
 protected:
  std::string put(const std::string& name, const char* text) {
    save_artefact(folder / name, test::parse(text));
    return folder / name;
  }
  std::string samples() {
    write_npy(folder / "x.npy", Tensor(DType::f32, {2, 4}));
    return folder / "x.npy";
  }

  // Each way of running an endless model, and where it writes.
  std::vector<std::vector<std::string>> endless_verbs() {
    const std::string endless = put("endless.safetensors", kEndless);
    return {
        {"run", endless, "--no-cache", "--output-dir", out},
        {"run", endless, "--no-cache", "-O0"},
        {"profile", endless, "--no-cache", "--report", out + "/r.html", "--trace", out + "/t.json"},
        {"quantize", endless, "--to", "int8", "--method", "gptq", "--calib", samples(), "-o", out + "/q.safetensors"}};
  }
  void expect_left_nothing() const { EXPECT_TRUE(fs::is_empty(out)) << fs::directory_iterator(out)->path(); }
};

TEST_F(Limits, ASignalEndsTheRunWithItsCodeAndLeavesNothing) {
  for (const std::vector<std::string>& command : endless_verbs())
    for (const int signal : {SIGINT, SIGTERM}) {
      SCOPED_TRACE(fmt::format("{} {}", fmt::join(command, " "), signal));
      RunningProgram program(HONE_PROGRAM, command);
      EXPECT_TRUE(program.until([&] { return program.catches(signal); }));
      program.send(signal);
      EXPECT_EQ(program.end(), 128 + signal) << program.err();
      EXPECT_EQ(program.err(), "hone: interrupted\n");
      expect_left_nothing();
    }
}

// Who reads the output has enough (`| head`): as quiet as the signal alone, but nothing that was begun is left.
TEST_F(Limits, AReaderThatGoesAwayEndsTheRunWithoutAWord) {
  for (const std::vector<std::string>& command : endless_verbs()) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(command, " ")));
    RunningProgram program(HONE_PROGRAM, command);
    EXPECT_TRUE(program.until([&] { return program.catches(SIGPIPE); }));
    program.send(SIGPIPE);
    EXPECT_EQ(program.end(), 128 + SIGPIPE) << program.err();
    EXPECT_EQ(program.err(), "");
    expect_left_nothing();
  }
}

void expect_limits(std::vector<std::string> words, const VerbDef& verb) {
  words.emplace_back(verb.name);
  std::vector<std::string> help = words;
  help.emplace_back("--help");
  const std::string text = hone_program(help).out;
  for (const char* option : {"--max-memory", "--timeout", "--quiet"})
    EXPECT_THAT(text, testing::HasSubstr(option)) << fmt::format("{}", fmt::join(words, " "));
  for (const VerbDef* action : verb.actions) expect_limits(words, *action);
}

TEST_F(Limits, QuietLeavesTheResultAndNoNotes) {
  const std::vector<std::string> run{"run", model, "--device", "auto", "--no-cache", "-O0"};
  EXPECT_THAT(hone_program(run).err, testing::HasSubstr("--device auto is "));
  std::vector<std::string> quiet = run;
  quiet.emplace_back("-q");
  const ProgramResult result = hone_program(quiet);
  expect_done(result);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out, "");
}

TEST_F(Limits, EveryVerbAndEachOfItsActionsTakesThem) {
  for (const VerbDef* verb : cli::all()) expect_limits({}, *verb);
}

TEST_F(Limits, AnActionIsHeldToThem) {
  const std::vector<std::string> insert{"lora", "insert", model, "--rule", "op:linear", "-o", out + "/a.safetensors"};
  std::vector<std::string> little = insert, enough = insert;
  little.insert(little.end(), {"--max-memory", "2MB"});
  enough.insert(enough.end(), {"--max-memory", "2GB", "--timeout", "60"});
  expect_refusal(hone_program(little), {"--max-memory SIZE sets the limit"});
  expect_done(hone_program(enough));
}

TEST_F(Limits, ASignalTakesTheFilesThatAreBegun) {
  const std::vector<std::string> command = endless_verbs()[2];
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningProgram program(HONE_PROGRAM, command);
    EXPECT_TRUE(program.until([&] { return std::distance(fs::directory_iterator(out), {}) == 2; })) << program.err();
    program.send(signal);
    EXPECT_EQ(program.end(), 128 + signal) << program.err();
    expect_left_nothing();
  }
}

TEST_F(Limits, ASecondSignalEndsItAtOnce) {
  RunningProgram program(HONE_PROGRAM, endless_verbs()[0]);
  EXPECT_TRUE(program.until([&] { return program.catches(SIGINT); }));
  program.send(SIGINT);
  program.send(SIGINT);
  EXPECT_EQ(program.end(), 128 + SIGINT) << program.err();
  expect_left_nothing();
}

TEST_F(Limits, TheTimeLimitIsAnErrorThatNamesTheFlag) {
  for (std::vector<std::string> command : endless_verbs()) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(command, " ")));
    command.insert(command.end(), {"--timeout", "0.2"});
    expect_refusal(hone_program(command), {"the time limit is reached; --timeout SECONDS sets it"});
  }
}

TEST_F(Limits, TheMemoryLimitIsAnErrorThatSaysWhatNeedsHowMuch) {
  const std::string large = put("large.safetensors", kLarge);
  for (const char* level : {"-O0", "-O1", "-O2"})
    expect_refusal(hone_program({"run", large, "--no-cache", level, "--max-memory", "500MB"}),
                   {"500 MB is the limit", "--max-memory SIZE sets it"});
}

TEST_F(Limits, TheLimitsThemselvesAreChecked) {
  for (const char* seconds : {"20s", "20", "30000ms", "1min"})
    EXPECT_EQ(hone_program({"info", model, "--timeout", seconds}).exit_code, 0) << seconds;
  for (const char* seconds : {"0", "-1", "nan", "inf", "1e400", "x", "", "20 parsecs"})
    expect_refusal(hone_program({"info", model, "--timeout", seconds}), {"--timeout"}, 2);
  for (const char* size : {"0", "-1", "x", "1e30", "nan", "5 parsecs"})
    expect_refusal(hone_program({"info", model, "--max-memory", size}), {"--max-memory"});
}

}  // namespace
}  // namespace hone

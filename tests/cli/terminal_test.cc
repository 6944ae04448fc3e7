// What a file holds does not reach the terminal as it is: no escape sequences, and no megabytes of a name.
#include <fmt/format.h>

#include <gtest/gtest.h>

#include "io/artefact.h"
#include "tests/cli/cli_fixture.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kEscape = "\x1b]0;title\x07\x1b[2J";

class Terminal : public CliTest {
 protected:
  // A model whose names hold `name`.
  std::string named(const std::string& name) const {
    Graph graph = test::parse(R"(
      %x : f32[N,4] = input "x"
      %w : f32[4,4] = const "w" {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}
      %y = linear %x, %w
      return %y as "y")");
    graph.set_label(graph.find_constant("w"), name + ".weight");
    graph.metadata["note"] = name;
    save_artefact(folder / "named.safetensors", graph);
    return folder / "named.safetensors";
  }
  static void expect_clean(const ProgramResult& result) {
    for (const std::string& text : {result.out, result.err})
      for (char c : text)
        EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') << static_cast<int>(c) << text;
  }
};

TEST_F(Terminal, NamesOfAModelAreShownEscaped) {
  const std::string file = named(kEscape);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"info", file},
           {"info", file, "--json"},
           {"print", file},
           {"doctor", file},
           {"explain", file},
           {"run", file, "--no-cache", "--print-after", "all"},
           {"quantize", file, "--to", "int8", "-o", folder / "q.safetensors"},
           {"quantize", file, "--to", "int8", "--rule", "zzzz=keep", "-o", folder / "q.safetensors"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(command, " ")));
    const ProgramResult result = hone_program(command);
    EXPECT_EQ(result.signal, 0);
    expect_clean(result);
  }
  EXPECT_THAT(hone_program({"print", file}).out, HasSubstr("\\x1b"));
}

TEST_F(Terminal, JsonStaysJsonOfTheSameNames) {
  const std::string file = named("a\x1b\u202e\u009b");
  const ProgramResult result =
      hone_program({"quantize", file, "--to", "int8", "-o", folder / "q.safetensors", "--json"});
  expect_done(result);
  EXPECT_THAT(result.out, Not(HasSubstr("\u202e")));
  EXPECT_EQ(parse_json(result.out, "stdout")["tensors"][0]["name"], "a\x1b\u202e\u009b.weight");
}

TEST_F(Terminal, WhatWasTypedIsShownEscaped) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{kEscape},
                                             {"info", kEscape},
                                             {"info", model, kEscape},
                                             {"info", model, std::string("--") + kEscape},
                                             {"embed", model, "--text", "a", "-o", folder / "absent" + "/" + kEscape},
                                             {"quantize", model, "--to", kEscape, "-o", folder / "q.safetensors"}})
    expect_clean(hone_program(command));
}

TEST_F(Terminal, ADrawingHoldsNoControlCharacters) {
  expect_done(hone_program({"draw", named(kEscape), "-o", out + "/g.dot"}));
  EXPECT_THAT(content_of(out + "/g.dot"), Not(HasSubstr("\x1b")));
}

TEST_F(Terminal, AReportHoldsNoControlCharacters) {
  expect_done(
      hone_program({"profile", named(kEscape), "--no-cache", "--seconds", "0.01", "--report", out + "/r.html"}));
  EXPECT_THAT(content_of(out + "/r.html"), Not(HasSubstr("\x1b")));
}

TEST_F(Terminal, AVeryLongNameIsShortenedInTablesAndErrors) {
  const std::string file = named(std::string(2'000'000, 'x'));
  const ProgramResult error =
      hone_program({"quantize", file, "--to", "int8", "--rule", "zzzz=keep", "-o", out + "/q.safetensors"});
  EXPECT_EQ(error.exit_code, 1);
  EXPECT_LT(error.err.size(), 1000u);
  for (const char* verb : {"info", "doctor", "explain"}) {
    const ProgramResult result = hone_program({verb, file});
    EXPECT_LT(result.out.size(), 20'000u) << verb;
    EXPECT_LT(result.err.size(), 2'000u) << verb;
  }
}

}  // namespace
}  // namespace hone

// Golden texts: golden/*.txt hold cases `# passes: names  a sentence`, `in:` and `out:`. HONE_UPDATE=1 rewrites the out
// parts. Every case also checks that the result verifies, and that it computes what the input computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/text.h"
#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/same_outputs.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

struct Case {
  std::string header;
  std::vector<std::string> passes;
  std::string in, out;
};

Case read_case(const std::string& text) {
  const size_t line = text.find('\n'), in = text.find("\nin:"), out = text.find("\nout:");
  EXPECT_TRUE(in != std::string::npos && out != std::string::npos && in < out) << text;
  Case c{text.substr(0, line), {}, text.substr(in + 4, out - in - 4), text.substr(out + 5)};
  const size_t names = c.header.find(':') + 1, end = c.header.find("  ", names);
  for (const std::string& name : split(trim(c.header.substr(names, end - names)), ' ')) c.passes.push_back(name);
  return c;
}

std::vector<Case> read_cases(const std::string& text) {
  std::vector<Case> cases;
  const std::string mark = "# passes:";
  for (size_t at = text.find(mark); at != std::string::npos;) {
    const size_t next = text.find("\n" + mark, at);
    cases.push_back(read_case(text.substr(at, next == std::string::npos ? next : next - at)));
    at = next == std::string::npos ? next : next + 1;
  }
  return cases;
}

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(test::kSourceDir) + "/tests/passes/golden"))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Golden : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, TextIsWhatThePassesGive) {
  const bool update = std::getenv("HONE_UPDATE") != nullptr;
  const std::vector<Case> cases = read_cases(read_file(GetParam()));
  ASSERT_FALSE(cases.empty());
  std::string rewritten;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.header);
    const Graph before = parse_graph(c.in, test::op_context(), "in");
    Graph after = before;
    for (const std::string& name : c.passes)
      after = run_pass(std::move(after), name, {}, {.disabled = {}, .verify = true, .after = {}});
    if (!update) {
      EXPECT_EQ(print(after), print(parse_graph(c.out, test::op_context(), "out")));
    }
    test::expect_same_outputs(before, after, 0x1p-18);  // passes regroup a few f32 operations of 2^-24 each
    rewritten +=
        (rewritten.empty() ? "" : "\n") + c.header + "\nin:\n  " + std::string(trim(c.in)) + "\nout:\n" + print(after);
  }
  if (update) write_file(GetParam(), rewritten);
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(golden_files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace hone

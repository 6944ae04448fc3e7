// The files of examples/ do what their first lines say, or say what makes what they read.
#include <fmt/format.h>

#include <set>

#include "base/atomic_file.h"
#include "base/shell.h"
#include "base/text.h"
#include "io/toml.h"
#include "tests/cli/train_fixture.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// The comment that a file begins with, without what marks it.
std::vector<std::string> first_lines(const std::string& path) {
  std::vector<std::string> lines;
  for (const std::string& line : split(read_file(path), '\n')) {
    if (line.starts_with("#!")) continue;
    if (!line.starts_with("#") && !line.starts_with("//")) break;
    lines.push_back(line.substr(line.starts_with("#") ? 1 : 2));
  }
  return lines;
}

// What is to be typed stands further in than what is to be read.
std::vector<std::string> commands_of(const std::string& path) {
  std::vector<std::string> commands;
  for (const std::string& line : first_lines(path))
    if (line.starts_with("   ")) commands.emplace_back(trim(line));
  return commands;
}

// A copy of the searches beside a trained network and tiny data in the places that they name.
class Examples : public TrainTest {
 protected:
  Examples() {
    fs::create_directories(root + "/examples");
    for (const char* part : {"searches", "labs"})
      fs::copy(fmt::format("{}/examples/{}", test::kSourceDir, part), fmt::format("{}/examples/{}", root, part),
               fs::copy_options::recursive);
  }

  std::vector<std::string> searches() const {
    return {"searches/supernet.toml",   "labs/lab2/nas.toml",     "labs/lab2/compression.toml",
            "labs/lab3/precision.toml", "labs/lab3/formats.toml", "labs/lab3/lambda.toml"};
  }
  std::string path_of(const std::string& name) const { return root + "/examples/" + name; }

  ProgramResult in_root(std::vector<std::string> words) const {
    return run_program("/bin/sh", {"-c", "cd \"$0\" && " + shell_line(words), root});
  }
  // A command of the first lines, by the program under test and with more words.
  ProgramResult run_example(const std::string& command, const Arguments& more = {}) const {
    Arguments words = shell_words(command) + more;
    EXPECT_EQ(words[0], "hone") << command;
    words[0] = HONE_PROGRAM;
    return in_root(words);
  }

  const std::string root = folder / "checkout";
};

TEST_F(Examples, SearchesBeginWithTheirCommandAndNameWhatTheyRead) {
  for (const std::string& name : searches()) {
    SCOPED_TRACE(name);
    const std::vector<std::string> commands = commands_of(path_of(name));
    ASSERT_FALSE(commands.empty());
    EXPECT_THAT(commands[0], testing::StartsWith("hone search --config examples/" + name + " "));
    const std::string said = fmt::format("{}", fmt::join(first_lines(path_of(name)), "\n"));
    const Json tree = read_toml_file(path_of(name));
    for (const char* key : {"model", "data"}) {
      const std::string value = tree.at(key);
      if (value.find('/') == value.npos && value.find('.') == value.npos) continue;
      EXPECT_THAT(said, HasSubstr(fs::path(value).filename().string())) << key;
    }
    for (const std::string& command : commands)  // what is run lies in the checkout, or is built into it
      for (const std::string& word : split(command, ' '))
        EXPECT_TRUE(!word.starts_with("examples/") || fs::exists(std::string(test::kSourceDir) + "/" + word)) << word;
  }
}

TEST_F(Examples, AMissingFileIsSaidToBeNone) {
  const ProgramResult result = run_example(commands_of(path_of("labs/lab3/formats.toml"))[0]);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              testing::AllOf(HasSubstr("build/searches/fashion.safetensors: there is no such file"),
                             HasSubstr("first lines of examples/labs/lab3/formats.toml may say what makes it")));
  const ProgramResult data = run_example(commands_of(path_of("labs/lab2/nas.toml"))[0]);
  EXPECT_THAT(data.err, testing::AllOf(HasSubstr("data build/labs/reviews.csv: there is no such file"),
                                       HasSubstr("first lines of examples/labs/lab2/nas.toml")));
  const ProgramResult flag = hone_program({"search", "missing.onnx", "--objective", "bits"});
  EXPECT_THAT(flag.err, HasSubstr("missing.onnx: there is no such file"));
}

TEST_F(Examples, SearchesOfATrainedNetworkRun) {
  const std::string data = put_fashion();
  const ProgramResult made = in_root({"examples/labs/lab3/train.sh", HONE_PROGRAM, data});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const char* name : {"labs/lab3/precision.toml", "labs/lab3/lambda.toml"}) {
    SCOPED_TRACE(name);
    const ProgramResult result =
        run_example(commands_of(path_of(name))[0], {"--data", data, "--trials", "1", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

TEST_F(Examples, SearchesThatBuildTheirNetworksRun) {
  const std::string data = put_fashion();
  const ProgramResult result =
      run_example(commands_of(path_of("labs/lab2/compression.toml"))[0], {"--data", data, "--trials", "1", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// A program's first lines build it and run it.
TEST_F(Examples, ProgramsSayHowTheyAreBuiltAndRun) {
  for (const char* path : {"examples/cpp/main.cc", "examples/demo/debian_tsv.cc", "examples/demo/main.cc"}) {
    SCOPED_TRACE(path);
    const std::string whole = std::string(test::kSourceDir) + "/" + path;
    EXPECT_THAT(read_file(whole), HasSubstr("int main("));
    EXPECT_THAT(fmt::format("{}", fmt::join(commands_of(whole), "\n")), HasSubstr("build/"));
  }
}

}  // namespace
}  // namespace hone

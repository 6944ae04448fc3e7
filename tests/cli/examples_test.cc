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
    fs::copy(std::string(test::kSourceDir) + "/examples/searches", root + "/examples/searches");
  }

  std::vector<std::string> searches() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root + "/examples/searches"))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  std::string path_of(const std::string& name) const { return root + "/examples/searches/" + name; }

  std::string put_fashion() const {
    const auto sizes = [](std::vector<uint32_t> all) {
      std::string bytes{0, 0, 8, static_cast<char>(all.size())};
      for (uint32_t size : all)
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
      return bytes;
    };
    for (const char* part : {"train", "t10k"}) {
      std::string images = sizes({96, 28, 28}), labels = sizes({96});
      for (int i = 0; i < 96; ++i) {
        images += std::string(28 * 28, static_cast<char>(grey(i, i % 2 == 1)));
        labels += static_cast<char>(i % 10);
      }
      folder.put(fmt::format("fashion/{}-images-idx3-ubyte", part), images);
      folder.put(fmt::format("fashion/{}-labels-idx1-ubyte", part), labels);
    }
    return folder / "fashion";
  }

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
  ASSERT_EQ(searches().size(), 6);
  for (const std::string& name : searches()) {
    SCOPED_TRACE(name);
    const std::vector<std::string> commands = commands_of(path_of(name));
    ASSERT_FALSE(commands.empty());
    EXPECT_THAT(commands[0], testing::StartsWith("hone search --config examples/searches/" + name + " "));
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
  const ProgramResult result = run_example(commands_of(path_of("formats.toml"))[0]);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              testing::AllOf(HasSubstr("build/searches/fashion.safetensors: there is no such file"),
                             HasSubstr("first lines of examples/searches/formats.toml may say what makes it")));
  const ProgramResult data = run_example(commands_of(path_of("nas.toml"))[0]);
  EXPECT_THAT(data.err, testing::AllOf(HasSubstr("data build/searches/debian.tsv: there is no such file"),
                                       HasSubstr("first lines of examples/searches/nas.toml")));
  const ProgramResult flag = hone_program({"search", "missing.onnx", "--objective", "bits"});
  EXPECT_THAT(flag.err, HasSubstr("missing.onnx: there is no such file"));
}

TEST_F(Examples, SearchesOfATrainedNetworkRun) {
  const std::string data = put_fashion();
  const ProgramResult made = in_root({"examples/searches/train.sh", HONE_PROGRAM, data});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const char* name : {"precision.toml", "lambda.toml"}) {
    SCOPED_TRACE(name);
    const ProgramResult result =
        run_example(commands_of(path_of(name))[0], {"--data", data, "--trials", "1", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

TEST_F(Examples, SearchesThatBuildTheirNetworksRun) {
  const std::string data = put_fashion();
  const ProgramResult result =
      run_example(commands_of(path_of("compression.toml"))[0], {"--data", data, "--trials", "1", "--json"});
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

// Every lab on data of a few kilobytes: its report, its sentences, and that it is the same the second time.
#include <fmt/format.h>

#include <regex>

#include "base/text.h"
#include "labs/registry.h"
#include "labs/run_lab.h"
#include "labs/said_numbers.h"
#include "tests/cli/train_fixture.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace fs = std::filesystem;

class Labs : public TrainTest {
 protected:
  Labs() {
    fs::create_directories(data);
    fs::copy(model, data + "/all-MiniLM-L6-v2", fs::copy_options::recursive);
    fs::copy(std::string(test::kSourceDir) + "/examples/labs", files, fs::copy_options::recursive);
    Json config = read_json_file(files + "/bert-tiny/config.json");
    for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings"})
      config[key] = bert.config.at(key);
    write_file(files + "/bert-tiny/config.json", config.dump());
    shrink_settings();
    put_reviews();
    put_fashion();
    fs::rename(folder / "fashion", data + "/fashion-mnist");
  }

  // Fewer steps and smaller networks in the TOML files.
  void shrink_settings() const {
    const std::pair<const char*, const char*> smaller[] = {{"\nsteps = [0-9]+", "\nsteps = 2"},
                                                           {"\nepochs = [0-9]+", "\nepochs = 1"},
                                                           {"\nvocab(ulary|_size) = [0-9]+", "\nvocab$1 = 150"},
                                                           {"(retrain = \\{steps = )[0-9]+", "$012"},
                                                           {"(hidden_size\" = ).*", "$1[32, 48]"},
                                                           {"(intermediate_size\" = ).*", "$1[32]"}};
    for (const auto& entry : fs::recursive_directory_iterator(files)) {
      if (entry.path().extension() != ".toml") continue;
      std::string text = read_file(entry.path());
      for (const auto& [what, with] : smaller) text = std::regex_replace(text, std::regex(what), with);
      write_file(entry.path(), text);
    }
  }

  // Reviews that a rule wrote: a word of praise or of blame among others.
  void put_reviews() const {
    const char* praise[] = {"good", "great", "fine"};
    const char* blame[] = {"bad", "poor", "dull"};
    const char* splits[] = {"train", "train", "train", "train", "validation", "validation", "test", "test"};
    std::string csv = "text,label,split\n";
    for (int i = 0; i < 160; ++i) {
      const bool likes = i % 2 == 0;
      csv += fmt::format("the film number {} was {} to see,{},{}\n", i, (likes ? praise : blame)[i % 3],
                         likes ? "positive" : "negative", splits[i % 8]);
    }
    folder.put("data/reviews.csv", csv);
  }

  Record run(const std::string& lab, const std::string& output) const {
    return run_lab(labs::all(), {.lab = lab, .files = files, .data = data, .output = output, .quick = true},
                   {.run_verb = [](const std::vector<std::string>& words) -> VerbOutput {
                     const ProgramResult result = hone_program(words);
                     return {result.out, result.exit_code == 0 ? "" : result.err};
                   }});
  }
  Arguments lab(const std::string& name, const Arguments& more = {}) const {
    return Arguments{"lab", name, "--quick", "--data", data, "--files", files, "-o", out + "/lab"} + more;
  }

  std::string data = folder / "data", files = folder / "labs";
};

// All but tables of times.
std::vector<std::string> pictures_and_tables(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if ((entry.path().extension() == ".csv" || entry.path().extension() == ".svg") &&
        !entry.path().stem().string().starts_with("times"))
      names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

// Of a kind each: trainings, searches. More would take minutes.
bool is_run_twice(std::string_view lab) { return lab == "0" || lab == "2"; }

TEST_F(Labs, SayFiveThingsWhoseNumbersStandInTheirTablesAndAreTheSameTheSecondTime) {
  for (const LabDef* lab : labs::all()) {
    SCOPED_TRACE(lab->name);
    const std::string first = out + "/first-" + lab->name, second = out + "/second-" + lab->name;
    const Record report = run(lab->name, first);
    EXPECT_THAT(report.findings, SizeIs(5));
    EXPECT_THAT(numbers_not_in_tables(report.findings, report.sections), IsEmpty());
    EXPECT_THAT(read_file(first + "/report.html"), HasSubstr(lab->title));
    if (!is_run_twice(lab->name)) continue;
    run(lab->name, second);
    const std::vector<std::string> names = pictures_and_tables(first);
    EXPECT_EQ(names, pictures_and_tables(second));
    for (const std::string& name : names)
      EXPECT_EQ(read_file(first + "/" + name), read_file(second + "/" + name)) << name;
  }
}

TEST_F(Labs, TheProgramShowsOneScreenAndWhereTheReportIs) {
  const ProgramResult result = hone_program(lab("0"));
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr("report.html"));
  EXPECT_LE(std::ranges::count(result.out, '\n'), 40);
  const ProgramResult again = hone_program(lab("0", {"--json"}));
  expect_done(again);
  EXPECT_EQ(parse_json(again.out, "hone lab")["adapters"].size(), 4u);
}

TEST_F(Labs, RefuseWhatIsNotThere) {
  fs::remove(data + "/reviews.csv");
  expect_refusal(hone_program(lab("0")), {"reviews.csv: no such file; scripts/deps.sh labs fetches it"});
  expect_refusal(hone_program({"lab", "0", "--data", data, "--files", "nowhere", "-o", out + "/lab"}),
                 {"nowhere/lab0/: no such folder"});
  expect_refusal(hone_program(lab("9")), {"option lab: expected", "found \"9\""}, 2);
}

TEST_F(Labs, DataOfAnotherShapeAreRefusedByTheStepThatReadsThem) {
  folder.put("data/reviews.csv", "stars,date\n5,1999\n");
  const ProgramResult result = hone_program(lab("0"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("hone: before: "));
  EXPECT_THAT(result.err, HasSubstr("The command was: hone train "));
}

TEST_F(Labs, AFullDiskEndsAStepAndWhatWasDoneBeforeIsKept) {
  ProgramOptions small;
  small.largest_file = 60000;
  const ProgramResult full = hone_program(lab("0"), small);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("hone: "));
  EXPECT_FALSE(fs::exists(out + "/lab/report.html"));
  expect_done(hone_program(lab("0")));
}

}  // namespace
}  // namespace hone

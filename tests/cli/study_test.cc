// hone study, over studies that the library made.
#include "study/study.h"

#include <fstream>

#include "base/atomic_file.h"
#include "study/samplers/make_sampler.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class StudyVerb : public testing::Test {
 protected:
  void SetUp() override {
    Space space;
    space.add({"x", real_distribution("x", -1, 1)});
    space.add({"format", category_distribution("format", {"a,b", "c"})});
    const auto make = [&](const std::string& name, std::vector<Direction> directions, int64_t trials) {
      Study study(open_storage(place), {.name = name, .directions = directions, .seed = 1}, make_sampler("random", 1));
      study.optimize(
          [&](LiveTrial& t) {
            t.set_user_attribute("note", "say \"hi\"");
            const double x = t.values()["x"];
            return directions.size() == 1 ? std::vector{x * x}
                                          : std::vector{x, x};  // small and large: every trial is of the front
          },
          {.trials = trials}, &space);
    };
    make("it's; DROP TABLE studies", {Direction::minimize}, 8);
    make("other", {Direction::minimize}, 5);
    make("two", {Direction::minimize, Direction::maximize}, 6);
  }
  ProgramResult study(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "study");
    return hone_program(arguments);
  }
  TemporaryFolder folder;
  std::string place = folder / "s.db";
};

TEST_F(StudyVerb, ListsShowsAndCompares) {
  const ProgramResult list = study({"list", place});
  ASSERT_EQ(list.exit_code, 0) << list.err;
  for (const char* part : {"3 studies", "it's; DROP TABLE studies", "minimize, maximize", "front of"})
    EXPECT_THAT(list.out, HasSubstr(part));
  const ProgramResult show = study({"show", place, "it's; DROP TABLE studies"});
  ASSERT_EQ(show.exit_code, 0) << show.err;
  for (const char* part : {"8 trials, 8 complete", "float -1 to 1", "The best trial"})
    EXPECT_THAT(show.out, HasSubstr(part));
  EXPECT_THAT(study({"best", place, "two"}).out, HasSubstr("The front"));
  EXPECT_THAT(study({"compare", place, "other", "it's; DROP TABLE studies"}).out,
              HasSubstr("after 5 complete trials each"));
  EXPECT_THAT(study({"best", "--json", place, "other"}).out, HasSubstr("\"trials\""));
}

TEST_F(StudyVerb, ExportsEveryTrialAsARow) {
  const std::string csv = folder / "t.csv";
  ASSERT_EQ(study({"export", place, "other", "-o", csv}).exit_code, 0);
  std::ifstream file(csv);
  std::string header, line;
  std::getline(file, header);
  EXPECT_EQ(header, "number,state,started,ended,value,parameter x,parameter format,attribute note");
  int rows = 0;
  bool quoted = false;
  for (; std::getline(file, line); ++rows) {
    EXPECT_TRUE(line.starts_with(std::to_string(rows) + ",COMPLETE,20")) << line;
    EXPECT_THAT(line, HasSubstr("\"say \"\"hi\"\"\""));
    quoted |= line.find("\"a,b\"") != line.npos;
  }
  EXPECT_EQ(rows, 5);
  EXPECT_TRUE(quoted);
}

// As another program may have made them: a range of seeds that doubles do not hold, one without directions, one
// damaged.
TEST_F(StudyVerb, OneStudyThatIsOddHidesNoOther) {
  const auto kept = [&](const std::string& name, std::vector<Direction> directions, const std::string& range) {
    const auto storage = open_storage(place);
    const DistributionPtr seeds = std::make_shared<const Distribution>(parse_distribution(
        R"({"name": "IntDistribution", "attributes": {"low": 0, "high": )" + range + "}}", "seed", place));
    const int64_t id = storage->create_study(name, directions);
    for (int64_t i = 0; i < 2; ++i)
      storage->create_trial(id, {.state = TrialState::complete,
                                 .parameters = {{"seed", 0x1p62, seeds}},
                                 .values = std::vector<double>(directions.size(), 1.0),
                                 .intermediate = {{0, 1.0}, {1, 2.0}},
                                 .started = 1'000'000 * (i + 1),
                                 .ended = 2'000'000 * (i + 1)});
  };
  kept("seeds", {Direction::minimize}, "4611686018427387904");
  kept("aimless", {}, "9223372036854775807");
  const ProgramResult list = study({"list", place});
  ASSERT_EQ(list.exit_code, 0) << list.err;
  for (const char* part : {"5 studies", "no directions", "study seeds: the storage keeps parameter seed as a float"})
    EXPECT_THAT(list.out, HasSubstr(part));
  for (const char* name : {"seeds", "aimless"}) {
    const ProgramResult show = study({"show", place, name, "--report", folder / "report.html"});
    EXPECT_EQ(show.exit_code, 0) << show.err;
    EXPECT_THAT(show.out, testing::AllOf(HasSubstr("2 complete"), HasSubstr("can't be shown")));
    const ProgramResult csv = study({"export", place, name});
    EXPECT_THAT(csv.out, HasSubstr(",4611686018427387904")) << csv.err;
    EXPECT_THAT(csv.err, HasSubstr("can't be shown exactly"));
  }
  EXPECT_THAT(study({"best", place, "seeds"}).out, HasSubstr("seed = 4611686018427387904"));
  EXPECT_THAT(study({"compare", place, "seeds", "other"}).out, HasSubstr("after 2 complete trials each"));
  EXPECT_THAT(study({"compare", place, "aimless", "other"}).err, HasSubstr("has 0 objectives"));
  EXPECT_THAT(study({"best", place, "aimless"}).err, HasSubstr("no complete, feasible trial"));
}

TEST_F(StudyVerb, AStudyThatCannotBeReadIsNamedAndCanBeDeleted) {
  const auto storage = open_storage(place);
  const auto empty = std::make_shared<const Distribution>(
      Distribution{.kind = DistributionKind::integer, .low = 5, .high = 3, .step = 1});
  storage->create_trial(find_study(*storage, "two").id, {.parameters = {{"n", 4, empty}}});
  const ProgramResult list = study({"list", place});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, testing::AllOf(HasSubstr("study two can't be read"),
                                       HasSubstr("parameter n: low 5 is above high 3"), HasSubstr("other")));
  EXPECT_THAT(study({"show", place, "two"}).err, HasSubstr("parameter n: low 5"));
  EXPECT_EQ(study({"delete", place, "two"}).exit_code, 0);
  EXPECT_THAT(study({"list", place}).out, testing::Not(HasSubstr("can't be read")));
}

TEST_F(StudyVerb, DeletesWhatIsNamedAndNothingElse) {
  EXPECT_THAT(study({"delete", place}).err, HasSubstr("name the studies to delete"));
  EXPECT_THAT(study({"delete", place, "other", "absent"}).err, HasSubstr("there is no study \"absent\""));
  ASSERT_EQ(study({"delete", place, "it's; DROP TABLE studies"}).exit_code, 0);
  const ProgramResult list = study({"list", place});
  EXPECT_THAT(list.out, testing::AllOf(HasSubstr("other"), HasSubstr("two"), HasSubstr("2 studies")));
}

TEST_F(StudyVerb, RefusalsSayWhatToDo) {
  const auto said = [&](std::vector<std::string> arguments) {
    const ProgramResult result = study(std::move(arguments));
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(said({"show", place}), HasSubstr("holds 3 studies; name one of"));
  EXPECT_THAT(said({"show", place, "othr"}), HasSubstr("Did you mean other"));
  EXPECT_THAT(said({"show", folder / "absent.db"}), HasSubstr("no such file"));
  EXPECT_THAT(said({"compare", place, "other", "two"}), HasSubstr("other directions"));
  EXPECT_THAT(said({"list", "postgresql://me:secret@127.0.0.1:1/db"}),
              testing::AllOf(HasSubstr("postgresql://***@127.0.0.1:1/db"), testing::Not(HasSubstr("secret"))));
  write_file(folder / "text.db", "nothing of the kind");
  EXPECT_THAT(said({"list", folder / "text.db"}), HasSubstr("neither a SQLite database nor a journal"));
  EXPECT_FALSE(std::filesystem::exists(folder / "absent.db"));
}

TEST_F(StudyVerb, ReadingLeavesTheFileAsItIs) {
  const std::string before = read_file(place);
  study({"show", place, "two"});
  EXPECT_EQ(read_file(place), before);
}

}  // namespace
}  // namespace hone

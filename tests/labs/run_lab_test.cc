// The engine with a lab of two steps, whose commands a function stands in for.
#include "labs/run_lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/stop.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

std::vector<std::string> reads(const LabPlaces& places) { return {places.reviews()}; }

std::vector<LabStep> steps(const LabPlaces& places) {
  return {{.name = "train",
           .what = "training",
           .words = {"train", places.reviews(), "-o", places.made("model")},
           .makes = {places.made("model")}},
          {.name = "judge", .what = "judging", .words = {"evaluate", places.made("model")}},
          {.name = "refused", .what = "what is refused", .words = {"print"}, .must_fail = true}};
}

LabShown show(const LabResults& results, const LabPlaces&) {
  const Table table{.key = "accuracy",
                    .title = "Accuracy",
                    .columns = {{"model", "model"}, {"accuracy", "accuracy"}},
                    .rows = {{"trained", number(figure(results.of("judge"), "accuracy"))}}};
  const LinePlot plot{.key = "curve",
                      .title = "Accuracy by width",
                      .x = {.title = "width"},
                      .y = {.title = "accuracy"},
                      .lines = {{"trained", {{1, 0.5}, {2, figure(results.of("judge"), "accuracy")}}}}};
  return {.sections = {{"Task 1", {table, plot}}}, .sentences = {results.text("refused")}};
}

constexpr LabDef kLab{.name = "7", .title = "Two steps", .files = "lab7", .reads = reads, .steps = steps, .show = show};

class RunLab : public testing::Test {
 protected:
  RunLab() {
    fs::create_directories(folder / "labs/lab7");
    folder.put("data/reviews.csv", "text,label\n");
  }

  Record run(const std::string& lab = "7") {
    constexpr const LabDef* all[] = {&kLab};
    return run_lab(all, {.lab = lab, .files = folder / "labs", .data = folder / "data", .output = folder / "out"},
                   {.run_verb = [this](const std::vector<std::string>& words) { return verb(words); }});
  }

  VerbOutput verb(const std::vector<std::string>& words) {
    ran.push_back(words[0]);
    if (words[0] == stops_at) throw Stopped(Stop::interrupted);
    if (words[0] == fails_at) return {"", "no space left on device"};
    if (words[0] == "print") return {"", "it is read"};
    if (words[0] == "train") write_file(words.back(), read_file(words[1]));
    return {fmt::format("{{\"accuracy\": {}}}", accuracy), ""};
  }

  TemporaryFolder folder;
  std::vector<std::string> ran;
  std::string stops_at, fails_at;
  double accuracy = 0.75;
};

TEST_F(RunLab, WritesOneReportWithItsTablesAndFiguresBeside) {
  const Record report = run();
  EXPECT_THAT(report.findings, ElementsAre("it is read"));
  EXPECT_THAT(read_file(folder / "out/report.html"), HasSubstr("Lab 7: Two steps"));
  EXPECT_EQ(read_file(folder / "out/accuracy.csv"), "model,accuracy\ntrained,0.75\n");
  EXPECT_THAT(read_file(folder / "out/curve.svg"), HasSubstr("Accuracy by width"));
  EXPECT_EQ(report.manifest[0].path, folder / "data/reviews.csv");
}

TEST_F(RunLab, DoesNotRunAgainWhatIsDone) {
  run();
  EXPECT_THAT(ran, ElementsAre("train", "evaluate", "print"));
  ran.clear(), accuracy = 0.5;
  run();
  EXPECT_THAT(ran, IsEmpty());
  EXPECT_EQ(read_file(folder / "out/accuracy.csv"), "model,accuracy\ntrained,0.75\n");
}

TEST_F(RunLab, RunsAgainWhatChangedDataAreReadBy) {
  run();
  ran.clear(), accuracy = 0.5;
  folder.put("data/reviews.csv", "text,label\ngood,1\n");
  run();
  EXPECT_THAT(ran, ElementsAre("train", "evaluate"));
  EXPECT_EQ(read_file(folder / "out/accuracy.csv"), "model,accuracy\ntrained,0.5\n");
}

TEST_F(RunLab, GoesOnWhereItWasStoppedAndKeepsWhatTheStoppedStepHasMade) {
  stops_at = "evaluate";
  EXPECT_THROW(run(), Stopped);
  EXPECT_FALSE(fs::exists(folder / "out/report.html"));
  ran.clear(), stops_at.clear();
  run();
  EXPECT_THAT(ran, ElementsAre("evaluate", "print"));
  EXPECT_TRUE(fs::exists(folder / "out/model"));
}

TEST_F(RunLab, AStepThatFailsIsNamedWithItsCommand) {
  fails_at = "evaluate";
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr(fmt::format("judge: no space left on device\nThe command was: hone "
                                                              "evaluate {}",
                                                              folder / "out/model")));
}

TEST_F(RunLab, DataThatAreAbsentAreNamedWithTheCommandThatFetchesThem) {
  fs::remove(folder / "data/reviews.csv");
  EXPECT_EQ(error_of([&] { run(); }),
            fmt::format("{}: no such file; scripts/deps.sh labs fetches it, --data says where it lies",
                        folder / "data/reviews.csv"));
  EXPECT_THAT(error_of([&] { run("8"); }), HasSubstr("no lab \"8\"; there are 7"));
}

}  // namespace
}  // namespace hone

// Recorded comparisons of a model with itself (scripts/record_aa.sh, on a machine of two virtual CPUs that others kept
// busy): how often the rule of `hone bench` would have claimed a difference, and whether it finds one that is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/atomic_file.h"
#include "base/text.h"
#include "measure/ratio.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

constexpr size_t kRuns = 200;

struct Recorded {
  std::vector<double> first, second;
  std::vector<size_t> placement_ends;
};

std::map<int, Recorded> read_runs(const std::filesystem::path& file) {
  std::map<int, Recorded> runs;
  const std::vector<std::string> lines = split(read_file(file), '\n');
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = split(lines[i], ',');
    if (cells.size() != 4) continue;
    Recorded& run = runs[std::stoi(cells[0])];
    run.first.push_back(std::stod(cells[2]));
    run.second.push_back(std::stod(cells[3]));
    run.placement_ends.resize(std::stoul(cells[1]) + 1, 0);
    run.placement_ends.back() = run.first.size();
  }
  return runs;
}

Ratio ratio_of(const Recorded& run, double slowdown = 1) {
  Timing first = summarise("first", run.first, 0.01), second = summarise("second", run.second, 0.01);
  first.placement_ends = second.placement_ends = run.placement_ends;
  for (double& ns : second.samples_ns) ns *= slowdown;
  return speed_ratio(first, second);
}

TEST(SameAgainstSame, ADifferenceIsClaimedInAtMostFivePercentOfRecordedRuns) {
  int recordings = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(test::kTestData) + "/measure")) {
    const std::map<int, Recorded> runs = read_runs(entry.path());
    ASSERT_EQ(runs.size(), kRuns) << entry.path();
    size_t claims = 0, found = 0;
    for (const auto& [number, run] : runs) {
      claims += ratio_of(run).difference_shown();
      const Ratio slower = ratio_of(run, 1.25);
      found += slower.difference_shown() && slower.value < 1;
    }
    EXPECT_LE(claims, kRuns / 20) << entry.path();
    EXPECT_GE(found, kRuns * 3 / 4) << entry.path() << ": a rule that never claims anything is no rule";
    ++recordings;
  }
  EXPECT_GE(recordings, 2);
}

}  // namespace
}  // namespace hone

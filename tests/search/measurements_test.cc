#include "search/measurements.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

const std::vector<double> kTwo = {0.1, std::numeric_limits<double>::infinity()};

class MeasurementsTest : public testing::Test {
 protected:
  const std::string path_ = testing::TempDir() + "/hone_measurements/m.txt";
  void SetUp() override { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }
  void TearDown() override { SetUp(); }
};

TEST_F(MeasurementsTest, AreTakenOnceAndKeptInTheFile) {
  int taken = 0;
  const auto measure = [&] { return ++taken, kTwo; };
  {
    Measurements first(path_, "model a");
    EXPECT_EQ(first.get("x", measure), (kTwo));
    EXPECT_EQ(first.get("x", measure), (kTwo));
    EXPECT_EQ(first.measured(), 1);
    EXPECT_EQ(first.recalled(), 1);
  }
  Measurements again(path_, "model a"), other(path_, "model b");
  again.get("x", measure);
  EXPECT_EQ(taken, 1);
  other.get("x", measure);
  EXPECT_EQ(taken, 2);
}

TEST_F(MeasurementsTest, LinesThatAStopHasCutAreMeasuredAgain) {
  Measurements(path_, "m").get("x", [] { return std::vector{1.5}; });
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 2);
  int taken = 0;
  const auto measure = [&] { return ++taken, std::vector{2.5}; };
  EXPECT_EQ(Measurements(path_, "m").get("x", measure), std::vector{2.5});
  EXPECT_EQ(Measurements(path_, "m").get("x", measure), std::vector{2.5});
  EXPECT_EQ(taken, 1);
}

TEST_F(MeasurementsTest, SaysWhereItCantWrite) { EXPECT_THROW(Measurements("/proc/hone/m.txt", "m"), Error); }

}  // namespace
}  // namespace hone

#include "search/measurements.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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
    EXPECT_EQ(first.get("x", 2, measure), (kTwo));
    EXPECT_EQ(first.get("x", 2, measure), (kTwo));
    EXPECT_EQ(first.measured(), 1);
    EXPECT_EQ(first.recalled(), 1);
  }
  Measurements again(path_, "model a"), other(path_, "model b");
  again.get("x", 2, measure);
  EXPECT_EQ(taken, 1);
  other.get("x", 2, measure);
  EXPECT_EQ(taken, 2);
}

TEST_F(MeasurementsTest, LinesThatAStopHasCutAreMeasuredAgain) {
  Measurements(path_, "m").get("x", 1, [] { return std::vector{1.5}; });
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 2);
  int taken = 0;
  const auto measure = [&] { return ++taken, std::vector{2.5}; };
  EXPECT_EQ(Measurements(path_, "m").get("x", 1, measure), std::vector{2.5});
  EXPECT_EQ(Measurements(path_, "m").get("x", 1, measure), std::vector{2.5});
  EXPECT_EQ(taken, 1);
}

// Whoever asks for four numbers must not read behind one.
TEST_F(MeasurementsTest, LinesWithAnotherCountOfNumbersAreMeasuredAgain) {
  Measurements(path_, "m").get("x", 1, [] { return std::vector{1.5}; });
  EXPECT_EQ(Measurements(path_, "m").get("x", 2, [] { return kTwo; }), kTwo);
  EXPECT_EQ(Measurements(path_, "m").get("x", 2, [] { return std::vector{3.0, 4.0}; }), kTwo);
}

TEST_F(MeasurementsTest, OddLinesAreSkipped) {
  Measurements(path_, "m").get("x", 2, [] { return kTwo; });
  std::string key;
  std::ifstream file(path_);
  for (std::string word; file >> word;)
    if (word.size() == 32) key = word;
  ASSERT_EQ(key.size(), 32u);
  file.close();
  std::ofstream(path_, std::ios::trunc) << "\n;\nm1\nm1 ;\nm1 " << key << " ;\nm1 " << key << "   ;\nm1 " << key
                                        << " 1 x ;\nm1 " << key << " 1e999 1 ;\n"
                                        << std::string(3, '\0') << "\n";
  EXPECT_EQ(Measurements(path_, "m").get("x", 2, [] { return std::vector{7.0, 8.0}; }), (std::vector{7.0, 8.0}));
}

TEST_F(MeasurementsTest, AFifoInTheirPlaceIsAnError) {
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW(Measurements(path_, "m"), Error);
}

TEST_F(MeasurementsTest, SaysWhereItCantWrite) { EXPECT_THROW(Measurements("/proc/hone/m.txt", "m"), Error); }

}  // namespace
}  // namespace hone

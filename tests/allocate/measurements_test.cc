#include "allocate/measurements.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "base/error.h"

namespace hone {
namespace {

const std::array<double, 2> kTwo = {0.1, std::numeric_limits<double>::infinity()};

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
    EXPECT_EQ(first.get<2>("x", measure), kTwo);
    EXPECT_EQ(first.get<2>("x", measure), kTwo);
    EXPECT_EQ(first.measured(), 1);
    EXPECT_EQ(first.recalled(), 1);
  }
  Measurements again(path_, "model a"), other(path_, "model b");
  again.get<2>("x", measure);
  EXPECT_EQ(taken, 1);
  other.get<2>("x", measure);
  EXPECT_EQ(taken, 2);
}

TEST_F(MeasurementsTest, LinesThatAStopHasCutAreMeasuredAgain) {
  Measurements(path_, "m").get("x", [] { return 1.5; });
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 2);
  int taken = 0;
  const auto measure = [&] { return ++taken, 2.5; };
  EXPECT_EQ(Measurements(path_, "m").get("x", measure), 2.5);
  EXPECT_EQ(Measurements(path_, "m").get("x", measure), 2.5);
  EXPECT_EQ(taken, 1);
}

// Known as one number, wanted as two: nothing is read beyond what is there.
TEST_F(MeasurementsTest, LinesOfAnotherLengthAreMeasuredAgain) {
  Measurements(path_, "m").get("x", [] { return 1.5; });
  EXPECT_EQ(Measurements(path_, "m").get<2>("x", [] { return kTwo; }), kTwo);
  EXPECT_EQ(Measurements(path_, "m").get<2>("x", [] { return std::array{0.0, 0.0}; }), kTwo);  // the later line counts
}

TEST_F(MeasurementsTest, DamagedLinesAreMeasuredAgain) {
  Measurements(path_, "m").get("x", [] { return 1.5; });
  std::ifstream file(path_);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const size_t value = whole.find("1.5");
  ASSERT_NE(value, std::string::npos);
  for (const char* damaged : {"9.5", "nan", "inf", "-1.", "   ", "1.5 1.5", "1e999", ""}) {
    std::string text = whole;
    std::ofstream(path_) << text.replace(value, 3, damaged);
    EXPECT_EQ(Measurements(path_, "m").get("x", [] { return 2.5; }), 2.5) << damaged;
  }
  for (size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path_) << whole.substr(0, length);
    const double got = Measurements(path_, "m").get("x", [] { return 2.5; });
    EXPECT_TRUE(got == 2.5 || length + 1 == whole.size()) << length;  // only the line's end may lack
  }
}

TEST_F(MeasurementsTest, NothingIsAddedToAFileOfSomethingElse) {
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  for (const char* other : {"a model", "\x08{}", "metadata", "{\"m1\": 1}"}) {
    std::ofstream(path_) << other;
    EXPECT_THROW(Measurements(path_, "m"), Error) << other;
    EXPECT_EQ(std::filesystem::file_size(path_), std::string(other).size());
  }
  EXPECT_THROW(Measurements(std::filesystem::path(path_).parent_path().string(), "m"), Error);  // a folder
}

TEST_F(MeasurementsTest, SaysWhereItCantWrite) { EXPECT_THROW(Measurements("/proc/hone/m.txt", "m"), Error); }

}  // namespace
}  // namespace hone

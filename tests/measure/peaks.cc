#include "measure/peaks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/json.h"
#include "base/threads.h"

namespace hone {
namespace {

class PeaksCache : public ::testing::Test {
 protected:
  void SetUp() override { folder = ::testing::TempDir() + "hone_peaks_" + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string folder;
  const std::shared_ptr<Device> cpu = open_device("cpu");
};

TEST_F(PeaksCache, AreMeasuredOnceAndReadBackUnchanged) {
  const MachinePeaks first = machine_peaks(cpu, folder), second = machine_peaks(cpu, folder);
  EXPECT_GT(first.f32_gflops, 0);
  EXPECT_EQ(first.bf16_gflops > 0, cpu_features().has(Feature::avx512_bf16));
  EXPECT_EQ(first.int8_gops > 0, cpu_features().has(Feature::avx512_vnni) || cpu_features().has(Feature::avx_vnni));
  EXPECT_EQ(first.fork_join_us > 0, hardware_threads() > 1);
  ASSERT_EQ(first.reads.size(), 15u);  // 16 KiB to 256 MiB
  EXPECT_EQ(first.f32_gflops, second.f32_gflops);
  EXPECT_EQ(first.bf16_gflops, second.bf16_gflops);
  EXPECT_EQ(first.int8_gops, second.int8_gops);
  EXPECT_EQ(first.fork_join_us, second.fork_join_us);
  ASSERT_EQ(second.reads.size(), first.reads.size());
  for (size_t i = 0; i < first.reads.size(); ++i) {
    EXPECT_GT(first.reads[i].gbytes, 0);
    EXPECT_EQ(first.reads[i].bytes, second.reads[i].bytes);
    EXPECT_EQ(first.reads[i].gbytes, second.reads[i].gbytes);
  }
}

TEST_F(PeaksCache, ADeviceWithoutPeaksOfItsOwnHasTheCpus) {
  const MachinePeaks first = machine_peaks(cpu, folder), reference = machine_peaks(open_device("reference"), folder);
  EXPECT_EQ(reference.f32_gflops, first.f32_gflops);
  std::filesystem::remove_all(folder);
  EXPECT_GT(machine_peaks(open_device("reference"), folder).f32_gflops, 0);
}

TEST_F(PeaksCache, FreshOnesReplaceThoseRemembered) {
  machine_peaks(cpu, folder);
  Json entry = parse_json(read_file(folder + "/peaks.json"), "peaks.json");
  entry["f32_gflops"] = 9e30;
  write_file(folder + "/peaks.json", entry.dump());
  ASSERT_EQ(machine_peaks(cpu, folder).f32_gflops, 9e30);
  const MachinePeaks fresh = machine_peaks(cpu, folder, true);
  EXPECT_LT(fresh.f32_gflops, 9e30);
  EXPECT_EQ(machine_peaks(cpu, folder).f32_gflops, fresh.f32_gflops);
}

TEST_F(PeaksCache, DamagedEntriesAndThoseOfOthersAreMeasuredAnewAndReplaced) {
  std::filesystem::create_directories(folder);
  for (const char* entry : {"{\"machine\": ", "{\"machine\": \"another\", \"f32_gflops\": 1e30}", ""}) {
    write_file(folder + "/peaks.json", entry);
    const double rate = machine_peaks(cpu, folder).f32_gflops;
    EXPECT_GT(rate, 0) << entry;
    EXPECT_LT(rate, 1e30) << entry;
    EXPECT_NE(read_file(folder + "/peaks.json").find("fork_join_us"), std::string::npos) << entry;
  }
}

TEST_F(PeaksCache, WhatOthersHaveThereStays) {
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/peaks.json";
  for (const char* entry : {"[]", "{\"mine\": 1}"}) {
    write_file(path, entry);
    EXPECT_GT(machine_peaks(cpu, folder).f32_gflops, 0);
    EXPECT_EQ(read_file(path), entry);
  }
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_GT(machine_peaks(cpu, folder).f32_gflops, 0);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(PeaksCache, FiguresThatCantBeAreNotBelieved) {
  machine_peaks(cpu, folder);
  const std::string path = folder + "/peaks.json";
  const Json good = parse_json(read_file(path), path);
  const std::pair<const char*, const char*> changes[] = {
      {"f32_gflops", "-1"},  {"f32_gflops", "\"fast\""}, {"f32_gflops", "null"},  {"fork_join_us", "-0.5"},
      {"reads", "7"},        {"reads", "[[1]]"},         {"reads", "[[1,2,3]]"},  {"reads", "[[2,1],[1,1]]"},
      {"reads", "[[-1,1]]"}, {"reads", "[[1,0]]"},       {"reads", "[[1,\"x\"]]"}};
  for (const auto& [key, value] : changes) {
    Json changed = good;
    changed[key] = parse_json(value, "value");
    write_file(path, changed.dump());
    EXPECT_FALSE(remembered_peaks(folder)) << key << " " << value;
  }
  write_file(path, good.dump());
  EXPECT_TRUE(remembered_peaks(folder));
}

TEST(MachinePeaks, AReadIsHeldAgainstTheLargestMeasuredRangeThatIsNoLarger) {
  const MachinePeaks peaks{.reads = {{1000, 100}, {2000, 50}, {4000, 10}}};
  EXPECT_EQ(peaks.read_gbytes(10), 100);
  EXPECT_EQ(peaks.read_gbytes(1999), 100);
  EXPECT_EQ(peaks.read_gbytes(2000), 50);
  EXPECT_EQ(peaks.read_gbytes(1e9), 10);
  EXPECT_EQ(MachinePeaks().read_gbytes(10), 0);
}

}  // namespace
}  // namespace hone

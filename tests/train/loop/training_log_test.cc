// The three forms of a log, read back: CSV, JSON lines, and TensorBoard's records with their checksums.
#include "train/loop/training_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

TEST(Crc32c, HasTheValuesOfRfc3720) {
  const auto of = [](const std::string& text) { return crc32c(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  EXPECT_EQ(of(""), 0u);
}

// The events of a file, their frames checked.
std::vector<std::string> records_of(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<std::string> records;
  const auto masked = [](std::string_view part) {
    const uint32_t crc = crc32c(std::as_bytes(std::span(part)));
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  };
  const auto u32 = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    EXPECT_EQ(u32(at + 8), masked(std::string_view(bytes).substr(at, 8)));
    records.push_back(bytes.substr(at + 12, length));
    EXPECT_EQ(u32(at + 12 + length), masked(records.back()));
    at += 16 + length;
  }
  return records;
}

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) found.push_back(entry.path());
  return found;
}

// Without the time, which are 9 bytes at the front.
std::string without_time(const std::string& record) { return record.substr(9); }

TEST(EventFile, HoldsAVersionAndScalars) {
  const TemporaryFolder folder;
  {
    EventFile file(folder.path(), 0);
    file.add_scalar("train/loss", 0.5, 300);
  }
  const std::vector<std::string> files = event_files(folder.path());
  ASSERT_EQ(files.size(), 1u);
  const std::vector<std::string> records = records_of(files[0]);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0][0], '\x09');  // field 1, 64 bits
  EXPECT_EQ(without_time(records[0]), std::string("\x10\x00\x1a\x0d"
                                                  "brain.Event:2",
                                                  17));
  // step: 300; summary { value { tag: "train/loss" simple_value: 0.5 } }
  EXPECT_EQ(without_time(records[1]), std::string("\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0a"
                                                  "train/loss"
                                                  "\x15\0\0\0\x3f",
                                                  24));
}

TEST(EventFile, OfAResumedRunVoidsLaterSteps) {
  const TemporaryFolder folder;
  { EventFile file(folder.path(), 5); }
  const std::vector<std::string> records = records_of(event_files(folder.path()).at(0));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(without_time(records[1]), std::string("\x10\x05\x3a\x02\x08\x01", 6));  // session_log { status: START }
}

LogEntry entry(int64_t step, double loss) {
  return {.step = step, .epoch = 0.5, .split = "train", .seconds = 2, .values = {{"loss", loss}}};
}

TEST(TrainingLog, HasALineForEachEntryInEachForm) {
  const TemporaryFolder folder;
  TrainingLog log(folder.path(), {"loss", "accuracy"}, 0);
  log.add(entry(1, 0.25));
  log.add({.step = 1,
           .epoch = 1,
           .split = "validation",
           .seconds = 3,
           .values = {{"accuracy", 0.5}, {"loss", std::nan("")}}});
  EXPECT_EQ(read_file(folder / "log.csv"),
            "step,epoch,split,seconds,loss,accuracy\n1,0.5,train,2,0.25,\n1,1,validation,3,,0.5\n");
  EXPECT_EQ(read_file(folder / "log.jsonl"),
            "{\"step\":1,\"epoch\":0.5,\"split\":\"train\",\"seconds\":2.0,\"loss\":0.25}\n"
            "{\"step\":1,\"epoch\":1.0,\"split\":\"validation\",\"seconds\":3.0,\"accuracy\":0.5,\"loss\":null}\n");
  EXPECT_EQ(records_of(event_files(folder.path()).at(0)).size(), 3u);
}

TEST(TrainingLog, GoesOnWhereARunIsResumed) {
  const TemporaryFolder folder;
  {
    TrainingLog log(folder.path(), {"loss"}, 0);
    for (int64_t step : {1, 2, 3}) log.add(entry(step, 1.0 / static_cast<double>(step)));
  }
  const std::string whole = read_file(folder / "log.jsonl");
  write_file(folder / "log.jsonl", whole.substr(0, whole.size() - 9));  // killed while it wrote
  TrainingLog log(folder.path(), {"loss"}, 2);
  ASSERT_EQ(log.entries().size(), 2u);
  EXPECT_EQ(log.entries()[1].values[0].second, 0.5);
  log.add(entry(3, 1.0 / 3));
  EXPECT_EQ(read_file(folder / "log.jsonl"), whole);
}

TEST(TrainingLog, RefusesALogOfOtherValues) {
  const TemporaryFolder folder;
  { TrainingLog(folder.path(), {"loss"}, 0).add(entry(1, 1)); }
  EXPECT_EQ(error_of([&] { TrainingLog(folder.path(), {"f1"}, 1); }),
            folder.path() + "/log.jsonl: has entries of \"loss\", which this run does not have; choose another folder");
}

}  // namespace
}  // namespace hone::test

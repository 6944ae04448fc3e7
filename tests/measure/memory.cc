#include "measure/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/mapped_file.h"

namespace hone {
namespace {

TEST(Memory, ReadsTheKernelsLines) {
  const MemoryUse use = parse_memory_use(
      "Name:\thone\nVmHWM:\t    2000 kB\nVmRSS:\t    1000 kB\nRssAnon:\t     700 kB\nRssFile:\t     300 kB\n");
  EXPECT_EQ(use.resident_bytes, 1000 * 1024);
  EXPECT_EQ(use.peak_bytes, 2000 * 1024);
  EXPECT_EQ(use.anonymous_bytes, 700 * 1024);
  EXPECT_EQ(use.file_bytes, 300 * 1024);
}

TEST(Memory, AMissingOrOddLineIsAnError) {
  EXPECT_THROW(parse_memory_use("Name:\thone\n"), Error);
  EXPECT_THROW(parse_memory_use("\nVmRSS:\t lots kB\n"), Error);
}

TEST(Memory, CountsWhatIsTouchedAndRemembersThePeak) {
  constexpr int64_t kBytes = 64 << 20;
  const bool permitted = reset_peak();
  const MemoryUse before = memory_use();
  {
    const auto data = std::make_unique<char[]>(kBytes);
    std::memset(data.get(), 1, kBytes);
    EXPECT_GE(memory_use().anonymous_bytes - before.anonymous_bytes, kBytes * 9 / 10);
  }
  EXPECT_LE(memory_use().anonymous_bytes - before.anonymous_bytes, kBytes / 10);
  EXPECT_GE(memory_use().peak_bytes - before.resident_bytes, kBytes * 9 / 10);
  if (permitted) {
    ASSERT_TRUE(reset_peak());
    EXPECT_LE(memory_use().peak_bytes - before.resident_bytes, kBytes / 10);
  }
}

TEST(Memory, PagesOfAMappedFileAreNotAnonymous) {
  constexpr int64_t kBytes = 16 << 20;
  const std::string path = ::testing::TempDir() + "hone_mapped";
  write_file(path, std::string(kBytes, 'x'));
  const MemoryUse before = memory_use();
  const MappedFile file(path);
  int sum = 0;
  for (size_t at = 0; at < file.bytes().size(); at += 4096) sum += static_cast<int>(file.bytes()[at]);
  EXPECT_EQ(sum, kBytes / 4096 * 'x');
  const MemoryUse after = memory_use();
  EXPECT_GE(after.file_bytes - before.file_bytes, kBytes * 9 / 10);
  EXPECT_LE(after.anonymous_bytes - before.anonymous_bytes, kBytes / 10);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hone

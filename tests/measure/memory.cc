#include "measure/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

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
  // Mapped and not allocated: allocators, those of sanitizers above all, may keep what is freed.
  void* const data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(data, MAP_FAILED);
  std::memset(data, 1, kBytes);
  EXPECT_GE(memory_use().anonymous_bytes - before.anonymous_bytes, kBytes * 9 / 10);
  munmap(data, kBytes);
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
  const MappedFile file(path);
  const auto read_each_page = [&] {
    int sum = 0;
    for (size_t at = 0; at < file.bytes().size(); at += 4096) sum += static_cast<int>(file.bytes()[at]);
    return sum;
  };
  // Read once beforehand, because ThreadSanitizer keeps notes on every page that was read.
  EXPECT_EQ(read_each_page(), kBytes / 4096 * 'x');
  drop_pages(file.bytes());
  const MemoryUse before = memory_use();
  EXPECT_EQ(read_each_page(), kBytes / 4096 * 'x');
  const MemoryUse after = memory_use();
  EXPECT_GE(after.file_bytes - before.file_bytes, kBytes * 9 / 10);
  EXPECT_LE(after.anonymous_bytes - before.anonymous_bytes, kBytes / 10);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hone

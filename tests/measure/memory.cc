#include "measure/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>

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

TEST(Memory, CountsPagesOfTheFilesThatAreAskedFor) {
  const std::string_view smaps =
      "7f00-7f10 r--p 00000000 08:01 131                        /models/a b.safetensors\nSize:  16 kB\nRss:   12 kB\n"
      "7f10-7f20 r--p 00001000 08:01 131                        /models/a b.safetensors\nRss:    4 kB\n"
      "7f20-7f30 rw-p 00000000 00:00 0 \nRss:  100 kB\n"
      "7f30-7f40 r--p 00000000 08:01 7                          /lib/b\nRss:   50 kB\n";
  EXPECT_EQ(parse_resident_bytes_of_files(smaps, {"/models/a b.safetensors"}), 16 * 1024);
  EXPECT_EQ(parse_resident_bytes_of_files(smaps, {"/lib/b", "/models/a b.safetensors"}), 66 * 1024);
  EXPECT_EQ(parse_resident_bytes_of_files(smaps, {"/models/a"}), 0);
}

TEST(Memory, CountsTouchedPagesOfAMappedFile) {
  const std::string path = (std::filesystem::temp_directory_path() / "hone_pages_of_a_file").string();
  write_file(path, std::string(1 << 20, 'x'));
  {
    const MappedFile file(path);
    int64_t sum = 0;
    for (std::byte b : file.bytes()) sum += static_cast<int>(b);
    EXPECT_EQ(sum, int64_t{'x'} << 20);
    EXPECT_EQ(resident_bytes_of_files({path}), 1 << 20);
    drop_pages(file.bytes());
    EXPECT_EQ(resident_bytes_of_files({path}), 0);
  }
  std::filesystem::remove(path);
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

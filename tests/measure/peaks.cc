#include "measure/peaks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "measure/peaks_kernels.h"

namespace hone {
namespace {

class PeaksCache : public ::testing::Test {
 protected:
  void SetUp() override { folder = ::testing::TempDir() + "hone_peaks_" + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

TEST_F(PeaksCache, AreMeasuredOnceAndReadBackUnchanged) {
  const MachinePeaks first = machine_peaks(folder), second = machine_peaks(folder);
  EXPECT_GT(first.read_gbytes, 0);
  EXPECT_GT(first.f32_gflops, 0);
  EXPECT_EQ(first.bf16_gflops > 0, cpu_features().avx512_bf16);
  EXPECT_EQ(first.f32_gflops, second.f32_gflops);  // a second measurement would differ in some bit
  EXPECT_EQ(first.read_gbytes, second.read_gbytes);
  EXPECT_EQ(first.l2_read_gbytes, second.l2_read_gbytes);
}

TEST_F(PeaksCache, ADamagedEntryIsMeasuredAnewAndReplaced) {
  std::filesystem::create_directories(folder);
  write_file(folder + "/peaks.json", "{\"machine\": ");
  EXPECT_GT(machine_peaks(folder).f32_gflops, 0);
  EXPECT_NE(read_file(folder + "/peaks.json").find("f32_gflops"), std::string::npos);
}

// The range ends where a page that can't be read begins: one load too many would crash.
TEST(ReadLoop, ReadsNothingBeyondTheRange) {
  const ReadLoop read = read_loop(cpu_features());
  if (!read) GTEST_SKIP() << "no AVX2";
  void* pages = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::byte* end = static_cast<std::byte*>(pages) + 4096;
  ASSERT_EQ(mprotect(end, 4096, PROT_NONE), 0);
  read(end - 512, 512);
  read(end - 4096, 4096);
  munmap(pages, 8192);
}

}  // namespace
}  // namespace hone

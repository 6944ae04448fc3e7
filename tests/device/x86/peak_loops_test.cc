#include "device/x86/peak_loops.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace hone {
namespace {

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

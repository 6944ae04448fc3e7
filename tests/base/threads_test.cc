#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace hone {
namespace {

TEST(Threads, EveryIndexIsVisitedOnce) {
  for (int64_t n : {0, 1, 2, 7, 1000}) {
    std::vector<int> visits(static_cast<size_t>(n), 0);
    parallel_for(
        n, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; }, 3);
    for (int v : visits) EXPECT_EQ(v, 1);
  }
}

TEST(Threads, TheExceptionOfTheLowestChunkIsRethrownAfterAllHaveFinished) {
  std::atomic<int> finished{0};
  auto chunk = [&](int64_t begin, int64_t, int) {
    ++finished;
    if (begin % 2 == 1) throw std::runtime_error(std::to_string(begin));
  };
  try {
    parallel_chunks(64, 1, hardware_threads(), chunk);
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "1");
  }
  EXPECT_EQ(finished, 64);
}

TEST(Threads, NestedCallsRunSerially) {
  std::atomic<int64_t> sum{0};
  parallel_for(8, [&](int64_t) { parallel_for(10, [&](int64_t j) { sum += j; }); });
  EXPECT_EQ(sum, 8 * 45);
}

TEST(Threads, RegionsOfSeveralCallersDoNotMix) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int64_t> sum{0};
        parallel_for(
            100, [&](int64_t i) { sum += i; }, 7);
        wrong += sum != 4950;
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

// Workers that wake when a short region is over must not touch it: each lies in a frame that the next one reuses.
TEST(Threads, ManyShortRegionsInARowLoseNothing) {
  for (int64_t region = 0; region < 20'000; ++region) {
    const int64_t n = 2 + region % 40;
    std::atomic<int64_t> sum{0};
    auto add = [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i;
    };
    parallel_chunks(n, 1, hardware_threads(), add);
    ASSERT_EQ(sum, n * (n - 1) / 2) << "region " << region;
  }
}

TEST(Threads, ThreadNumbersStayBelowTheLimit) {
  std::atomic<int> largest{0};
  auto chunk = [&](int64_t, int64_t, int thread) {
    int seen = largest;
    while (thread > seen && !largest.compare_exchange_weak(seen, thread)) {
    }
  };
  parallel_chunks(1000, 1, 1, chunk);
  EXPECT_EQ(largest, 0);
  parallel_chunks(1000, 1, 2, chunk);
  EXPECT_LT(largest, 2);
}

}  // namespace
}  // namespace hone

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
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

TEST(Threads, AChildOfForkHasAPoolOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a child of fork()";
#endif
  const auto sum = [] {
    std::atomic<int64_t> total{0};
    parallel_for(1000, [&](int64_t i) { total += i; });
    return total.load();
  };
  ASSERT_EQ(sum(), 499500);  // the pool has threads
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // of a child that waits for threads that are not there
    _exit(sum() == 499500 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
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

// Says when something has happened; a wait of a minute is a failure.
class Signal {
 public:
  void give() { given_.set_value(); }
  bool came() { return waited_.wait_for(std::chrono::minutes(1)) == std::future_status::ready; }

 private:
  std::promise<void> given_;
  std::shared_future<void> waited_ = given_.get_future().share();
};

TEST(Threads, RegionsOfTwoCallersAreOpenAtOnce) {
  Signal here, there;
  bool other_came = false;
  std::thread other([&] {
    auto chunk = [&](int64_t begin, int64_t, int) {
      if (begin == 0) there.give(), other_came = here.came();
    };
    parallel_chunks(64, 1, hardware_threads(), chunk);
  });
  bool came = false;
  auto chunk = [&](int64_t begin, int64_t, int) {
    if (begin == 0) here.give(), came = there.came();
  };
  parallel_chunks(64, 1, hardware_threads(), chunk);
  other.join();
  EXPECT_TRUE(came);
  EXPECT_TRUE(other_came);
}

TEST(Threads, ACallerDoesNotWaitForTheRegionOfAnother) {
  Signal begun, done;
  bool came = false;
  std::thread slow([&] {
    auto chunk = [&](int64_t begin, int64_t, int) {
      if (begin == 0) begun.give(), came = done.came();
    };
    parallel_chunks(8, 1, hardware_threads(), chunk);
  });
  ASSERT_TRUE(begun.came());
  for (int region = 0; region < 100; ++region) {
    std::atomic<int64_t> sum{0};
    parallel_for(100, [&](int64_t i) { sum += i; });
    EXPECT_EQ(sum, 4950);
  }
  done.give();
  slow.join();
  EXPECT_TRUE(came);
}

TEST(Threads, OfCallersAtOnceEachGetsItsOwnException) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 200; ++round) try {
          auto chunk = [&](int64_t begin, int64_t, int) {
            if (begin >= c) throw std::runtime_error(std::to_string(c));
          };
          parallel_chunks(32, 1, hardware_threads(), chunk);
          ++wrong;
        } catch (const std::runtime_error& e) {
          wrong += e.what() != std::to_string(c);
        }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

// What each thread of a region writes to lies under its number.
TEST(Threads, NoTwoThreadsOfARegionHaveOneNumber) {
  std::atomic<int> clashes{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::vector<std::atomic<bool>> used(static_cast<size_t>(hardware_threads()));
        auto chunk = [&](int64_t, int64_t, int thread) {
          clashes += used[static_cast<size_t>(thread)].exchange(true);
          used[static_cast<size_t>(thread)] = false;
        };
        parallel_chunks(64, 1, hardware_threads(), chunk);
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(clashes, 0);
}

TEST(Threads, AWorkerTakesPartWhereACpuIsLeft) {
  if (hardware_threads() == 1) GTEST_SKIP() << "one CPU";
  Signal joined;
  std::atomic<bool> said{false};
  std::atomic<int> first{-1};  // thread
  bool came = false;
  auto chunk = [&](int64_t, int64_t, int thread) {
    int none = -1;
    if (first.compare_exchange_strong(none, thread)) came = joined.came();
    else if (thread != first && !said.exchange(true)) joined.give();
  };
  parallel_chunks(64, 1, 2, chunk);
  EXPECT_TRUE(came);
}

TEST(Threads, CallersThatFillTheMachineDoTheirChunksAlone) {
  Signal over;
  std::atomic<int> busy{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < hardware_threads(); ++c)
    callers.emplace_back([&] {
      const Busy as_in_a_run;
      ++busy;
      EXPECT_TRUE(over.came());
    });
  while (busy < hardware_threads()) {
  }
  std::atomic<int> by_others{0};
  auto chunk = [&](int64_t, int64_t, int thread) {
    by_others += thread != 0;
    for (std::atomic<int> i{0}; i < 2000; ++i) {  // time enough in all for a worker to come
    }
  };
  parallel_chunks(2'000, 1, hardware_threads(), chunk);
  EXPECT_EQ(by_others, 0);
  over.give();
  for (std::thread& t : callers) t.join();
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

// bench_threads [busy]: what a fork-join region of two threads costs with hone's pool and with oneTBB, for regions of a
// few microseconds, which is what the steps of a small model are. With `busy` a third thread takes a core all the time.
#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/threads.h"

namespace {

std::vector<float> data(1 << 20, 1.f);

// Chunks of 64 sums: about 100 ns each.
void work(int64_t begin, int64_t end) {
  float sum = 0;
  for (int64_t i = begin * 64; i < end * 64; ++i) sum += data[static_cast<size_t>(i) % data.size()] * 1.0001f;
  [[maybe_unused]] volatile float kept = sum;
}

void report(const std::string& name, const std::function<void()>& region) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> us;
  for (int i = 0; i < 5000; ++i) {
    const auto start = Clock::now();
    region();
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  us.erase(us.begin(), us.begin() + 500);
  std::sort(us.begin(), us.end());
  const auto at = [&](double share) { return us[static_cast<size_t>(share * static_cast<double>(us.size() - 1))]; };
  fmt::print("  {:<20} median {:7.2f} us   p90 {:7.2f}   p99 {:8.2f}\n", name, at(0.5), at(0.9), at(0.99));
}

}  // namespace

int main(int argc, char** argv) {
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  std::atomic<bool> stop{false};
  std::thread neighbour;
  if (argc > 1 && std::strcmp(argv[1], "busy") == 0)
    neighbour = std::thread([&] {
      volatile double d = 1;
      while (!stop) d = d * 1.0000001;
    });
  for (int64_t chunks : {16, 64, 256, 1024, 4096}) {
    fmt::print("{} chunks\n", chunks);
    report("one thread", [&] {
      for (int64_t i = 0; i < chunks; ++i) work(i, i + 1);
    });
    auto chunk = [](int64_t begin, int64_t end, int) { work(begin, end); };
    report("hone", [&] { hone::parallel_chunks(chunks, 1, 2, chunk); });
    report("oneTBB", [&] {
      tbb::parallel_for(tbb::blocked_range<int64_t>(0, chunks, 1),
                        [](const tbb::blocked_range<int64_t>& r) { work(r.begin(), r.end()); });
    });
  }
  stop = true;
  if (neighbour.joinable()) neighbour.join();
}

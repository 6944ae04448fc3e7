#include "device/x86/peaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/system_memory.h"
#include "base/threads.h"
#include "device/x86/peak_loops.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The highest rate of `work` per second over repetitions of `body` within about `seconds`, after one that warms up.
template <class Body>
double best_rate(double work, double seconds, Body&& body) {
  body();
  double best = 0;
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point begin = Clock::now();
    body();
    best = std::max(best, work / seconds_since(begin));
  } while (seconds_since(start) < seconds);
  return best;
}

double gflops(const ArithmeticLoop& loop) {
  if (!loop.run) return 0;
  constexpr int64_t kSteps = 100'000;  // about half a millisecond: shorter than a scheduler's time slice
  return best_rate(loop.flop_per_step * kSteps * 1e-9, 0.15, [&] { loop.run(kSteps); });
}

constexpr size_t kSmallest = size_t{16} << 10, kLargest = size_t{256} << 20;  // half a first-level cache; main memory

// By size, each twice the one before.
std::vector<MachinePeaks::Read> read_rates(ReadLoop read) {
  const std::shared_ptr<std::byte> data = system_memory(kLargest);  // as laid-out weights have it
  if (!read || !data) return {};
  std::memset(data.get(), 1, kLargest);  // pages that were never written all share one page of zeros
  std::vector<MachinePeaks::Read> rates;
  for (size_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    const size_t passes = std::max<size_t>(1, (size_t{4} << 20) / bytes);
    const double seconds = bytes < kLargest / 4 ? 0.04 : 0.25;
    const double rate = best_rate(static_cast<double>(bytes * passes) * 1e-9, seconds, [&] {
      for (size_t pass = 0; pass < passes; ++pass) read(data.get(), bytes);
    });
    rates.push_back({static_cast<int64_t>(bytes), rate});
  }
  // A smaller range is no slower than a larger one: where it seems to be, it was disturbed all the time.
  for (size_t i = rates.size() - 1; i-- > 0;) rates[i].gbytes = std::max(rates[i].gbytes, rates[i + 1].gbytes);
  return rates;
}

// Each of the two waits for the other, so that both take part; where the second thread does not come at all, it is
// given up.
double fork_join_us() {
  if (hardware_threads() < 2) return 0;
  constexpr int kRegions = 100, kPatience = 1'000'000;
  return 1e6 / best_rate(kRegions, 0.1, [&] {
           for (int i = 0; i < kRegions; ++i) {
             std::atomic<int> arrived = 0;
             auto meet = [&](int64_t, int64_t, int) {
               ++arrived;
               for (int spin = 0; arrived < 2 && spin < kPatience; ++spin) {
               }
             };
             parallel_chunks(2, 1, 2, meet);
           }
         });
}

}  // namespace

MachinePeaks measure_cpu_peaks() {
  const Features cpu = cpu_features();
  return {.f32_gflops = gflops(f32_loop(cpu)),
          .bf16_gflops = gflops(bf16_loop(cpu)),
          .int8_gops = gflops(int8_loop(cpu)),
          .bf16_tile_gflops = gflops(bf16_tile_loop(cpu)),
          .int8_tile_gops = gflops(int8_tile_loop(cpu)),
          .reads = read_rates(read_loop(cpu)),
          .fork_join_us = fork_join_us()};
}

}  // namespace hone

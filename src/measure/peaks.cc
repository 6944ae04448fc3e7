#include "measure/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/regular_file.h"
#include "base/system_memory.h"
#include "base/text.h"
#include "base/threads.h"
#include "measure/peaks_kernels.h"
#include "measure/proc_file.h"

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

std::string machine_key() {
  return hash128("by size " HONE_VERSION "\n" + read_proc("/proc/sys/kernel/random/boot_id") + cpu_name() +
                 to_string(cpu_features()))
      .hex();
}

std::string path_in(const std::string& cache_folder) { return cache_folder + "/peaks.json"; }

constexpr size_t kMostBytes = size_t{1} << 20;  // of the file

// Whether store() may put its own there: nothing, what it has written, or what is left of that.
bool may_replace(const std::string& path) {
  std::error_code none;
  if (std::filesystem::symlink_status(path, none).type() == std::filesystem::file_type::not_found) return true;
  const std::optional<std::string> content = read_regular_file(path, kMostBytes);
  if (!content) return false;
  try {
    const Json json = parse_json(*content, path);
    return json.is_object() && json.contains("machine");
  } catch (const Error&) {
    return content->empty() || content->starts_with("{");
  }
}

// Rates are positive, or 0 where there is none; ranges grow.
bool are_plausible(const MachinePeaks& peaks) {
  const auto is_rate = [](double rate) { return rate >= 0 && std::isfinite(rate); };
  int64_t smaller = 0;
  for (const MachinePeaks::Read& read : peaks.reads) {
    if (read.bytes <= smaller || !is_rate(read.gbytes) || read.gbytes == 0) return false;
    smaller = read.bytes;
  }
  return is_rate(peaks.f32_gflops) && is_rate(peaks.bf16_gflops) && is_rate(peaks.int8_gops) &&
         is_rate(peaks.bf16_tile_gflops) && is_rate(peaks.int8_tile_gops) && is_rate(peaks.fork_join_us);
}

std::optional<MachinePeaks> load(const std::string& path) try {
  const std::optional<std::string> content = read_regular_file(path, kMostBytes);
  if (!content) return std::nullopt;
  const Json json = parse_json(*content, path);
  if (json_get<std::string>(json, "machine", path) != machine_key()) return std::nullopt;
  MachinePeaks peaks{.f32_gflops = json_get<double>(json, "f32_gflops", path),
                     .bf16_gflops = json_get<double>(json, "bf16_gflops", path),
                     .int8_gops = json_get<double>(json, "int8_gops", path),
                     .bf16_tile_gflops = json_get<double>(json, "bf16_tile_gflops", path),
                     .int8_tile_gops = json_get<double>(json, "int8_tile_gops", path),
                     .fork_join_us = json_get<double>(json, "fork_join_us", path)};
  for (const auto& read : json_get<std::vector<std::vector<double>>>(json, "reads", path)) {
    if (read.size() != 2 || !(std::abs(read[0]) < 0x1p53)) return std::nullopt;
    peaks.reads.push_back({static_cast<int64_t>(read[0]), read[1]});
  }
  return are_plausible(peaks) ? std::optional(peaks) : std::nullopt;
} catch (const Error&) {
  return std::nullopt;  // damaged: measured and written anew
}

void store(const std::string& path, const MachinePeaks& peaks) try {
  if (!may_replace(path)) return;
  Json reads = Json::array();
  for (const MachinePeaks::Read& read : peaks.reads) reads.push_back({read.bytes, read.gbytes});
  const Json json{{"machine", machine_key()},
                  {"f32_gflops", peaks.f32_gflops},
                  {"bf16_gflops", peaks.bf16_gflops},
                  {"int8_gops", peaks.int8_gops},
                  {"bf16_tile_gflops", peaks.bf16_tile_gflops},
                  {"int8_tile_gops", peaks.int8_tile_gops},
                  {"reads", std::move(reads)},
                  {"fork_join_us", peaks.fork_join_us}};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  write_file(path, json.dump(2) + "\n");
} catch (const Error&) {
  // A cache that can't be written costs two seconds next time, nothing else.
}

}  // namespace

MachinePeaks measure_peaks() {
  const Features cpu = cpu_features();
  return {.f32_gflops = gflops(f32_loop(cpu)),
          .bf16_gflops = gflops(bf16_loop(cpu)),
          .int8_gops = gflops(int8_loop(cpu)),
          .bf16_tile_gflops = gflops(bf16_tile_loop(cpu)),
          .int8_tile_gops = gflops(int8_tile_loop(cpu)),
          .reads = read_rates(read_loop(cpu)),
          .fork_join_us = fork_join_us()};
}

std::optional<MachinePeaks> remembered_peaks(const std::optional<std::string>& cache_folder) {
  return cache_folder ? load(path_in(*cache_folder)) : std::nullopt;
}

MachinePeaks machine_peaks(const std::optional<std::string>& cache_folder, bool fresh) {
  if (!fresh)
    if (const std::optional<MachinePeaks> known = remembered_peaks(cache_folder)) return *known;
  const MachinePeaks peaks = measure_peaks();
  if (cache_folder) store(path_in(*cache_folder), peaks);
  return peaks;
}

}  // namespace hone

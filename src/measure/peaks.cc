#include "measure/peaks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/json.h"
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

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};

// GB/s of reading `bytes` of memory `passes` times over; 0 when there is no loop or no memory.
double read_rate(ReadLoop read, size_t bytes, int passes, double seconds) {
  constexpr size_t kAlign = 2 << 20;
  if (!read) return 0;
  const std::unique_ptr<std::byte, Free> data(
      static_cast<std::byte*>(std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign)));
  if (!data) return 0;
  // Laid-out weights lie on huge pages too; on small ones translation is measured, not memory.
  madvise(data.get(), (bytes + kAlign - 1) / kAlign * kAlign, MADV_HUGEPAGE);
  std::memset(data.get(), 1, bytes);  // pages that were never written all share one page of zeros
  return best_rate(static_cast<double>(bytes) * passes * 1e-9, seconds, [&] {
    for (int pass = 0; pass < passes; ++pass) read(data.get(), bytes);
  });
}

// Half of the second-level cache: what fits beside everything else that uses it.
size_t l2_bytes() {
  const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return (size > 0 ? static_cast<size_t>(size) / 2 : size_t{256} << 10) / 512 * 512;
}

std::string machine_key() {
  return sha256_hex("read from huge pages\n" + read_proc("/proc/sys/kernel/random/boot_id") + cpu_name() +
                    llvm_features(best_isa_level()));
}

std::optional<MachinePeaks> load(const std::string& path) try {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return std::nullopt;
  const Json json = read_json_file(path);
  if (json_get<std::string>(json, "machine", path) != machine_key()) return std::nullopt;
  return MachinePeaks{json_get<double>(json, "f32_gflops", path), json_get<double>(json, "bf16_gflops", path),
                      json_get<double>(json, "read_gbytes", path), json_get<double>(json, "l2_read_gbytes", path)};
} catch (const Error&) {
  return std::nullopt;  // damaged: measured and written anew
}

void store(const std::string& path, const MachinePeaks& peaks) try {
  const Json json{{"machine", machine_key()},
                  {"f32_gflops", peaks.f32_gflops},
                  {"bf16_gflops", peaks.bf16_gflops},
                  {"read_gbytes", peaks.read_gbytes},
                  {"l2_read_gbytes", peaks.l2_read_gbytes}};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  write_file(path, json.dump(2) + "\n");
} catch (const Error&) {
  // A cache that can't be written costs a second next time, nothing else.
}

}  // namespace

MachinePeaks measure_peaks() {
  const CpuFeatures& cpu = cpu_features();
  constexpr size_t kBig = size_t{256} << 20;  // beyond the last-level cache that one virtual machine gets
  return {.f32_gflops = gflops(f32_loop(cpu)),
          .bf16_gflops = gflops(bf16_loop(cpu)),
          .read_gbytes = read_rate(read_loop(cpu), kBig, 1, 0.4),
          .l2_read_gbytes = read_rate(read_loop(cpu), l2_bytes(), 64, 0.1)};
}

MachinePeaks machine_peaks(const std::optional<std::string>& cache_folder) {
  if (!cache_folder) return measure_peaks();
  const std::string path = *cache_folder + "/peaks.json";
  if (const std::optional<MachinePeaks> known = load(path)) return *known;
  const MachinePeaks peaks = measure_peaks();
  store(path, peaks);
  return peaks;
}

}  // namespace hone

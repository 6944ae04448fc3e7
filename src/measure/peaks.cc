#include "measure/peaks.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/regular_file.h"
#include "measure/device_peaks.h"
#include "measure/proc_file.h"

namespace hone {
namespace {

std::string machine_key() {
  std::string text = "by size " HONE_VERSION "\n" + read_proc("/proc/sys/kernel/random/boot_id") + cpu_name();
  for (const auto& [title, fact] : device_facts()) text += fact;
  return hash128(text).hex();
}

std::string path_in(const std::string& cache_folder) { return cache_folder + "/peaks.json"; }  // of the host

std::string path_in(const std::string& cache_folder, const Device& device) {
  return device.is_host() ? path_in(cache_folder) : fmt::format("{}/peaks_{}.json", cache_folder, device.name());
}

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

std::optional<MachinePeaks> remembered_peaks(const std::optional<std::string>& cache_folder) {
  return cache_folder ? load(path_in(*cache_folder)) : std::nullopt;
}

MachinePeaks machine_peaks(const std::shared_ptr<Device>& device, const std::optional<std::string>& cache_folder,
                           bool fresh) {
  if (!fresh && cache_folder)
    if (const std::optional<MachinePeaks> known = load(path_in(*cache_folder, *device))) return *known;
  std::optional<MachinePeaks> own = device->measure_peaks();
  if (!own) own = measure_device_peaks(device, cache_folder);
  const MachinePeaks peaks = own ? *own : open_device("cpu")->measure_peaks().value_or(MachinePeaks());
  if (cache_folder) store(path_in(*cache_folder, *device), peaks);
  return peaks;
}

}  // namespace hone

#include "measure/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "base/cpu.h"
#include "base/text.h"
#include "base/threads.h"
#include "device/device.h"
#include "measure/proc_file.h"

namespace hone {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

// PRETTY_NAME="..." of /etc/os-release.
std::string distribution() {
  for (const std::string& line : split(read_proc("/etc/os-release"), '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string name = line.substr(12);
    std::erase(name, '"');
    return name;
  }
  return "";
}

std::string system_name() {
  utsname names{};
  uname(&names);
  const std::string kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  const std::string distribution_name = distribution();
  return distribution_name.empty() ? kernel : kernel + ", " + distribution_name;
}

int usable_cpu_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : hardware_threads();
}

}  // namespace

Environment environment() {
  double load[1] = {0};
  getloadavg(load, 1);
  return {.cpu = cpu_name(),
          .devices = device_facts(),
          .cpus = usable_cpu_count(),
          .memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE),
          .system = system_name(),
          .governor = std::string(trim(read_proc("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))),
          .load_average = load[0],
          .hone_version = HONE_VERSION,
          .compiler = kCompiler};
}

std::vector<std::pair<std::string, std::string>> describe(const Environment& e) {
  std::vector<std::pair<std::string, std::string>> rows{{"CPU", e.cpu}};
  rows.insert(rows.end(), e.devices.begin(), e.devices.end());
  const std::pair<std::string, std::string> others[] = {
      {"CPUs usable", fmt::format("{}", e.cpus)},
      {"Memory", human_bytes(static_cast<double>(e.memory_bytes))},
      {"System", e.system},
      {"Frequency governor", e.governor.empty() ? "not readable" : e.governor},
      {"Load average (1 min)", fmt::format("{:.2f}", e.load_average)},
      {"hone", e.hone_version},
      {"Compiler of hone", e.compiler}};
  rows.insert(rows.end(), std::begin(others), std::end(others));
  return rows;
}

CpuTimes parse_cpu_times(std::string_view stat) {
  std::istringstream line{std::string(stat)};
  std::string label;
  double user, nice, system, idle, wait, irq, soft, steal;
  if (!(line >> label >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal) || label != "cpu") return {};
  return {.total = user + nice + system + idle + wait + irq + soft + steal, .idle = idle + wait, .steal = steal};
}

CpuTimes cpu_times() {
  CpuTimes times = parse_cpu_times(read_proc("/proc/stat"));
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const double seconds = static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
  times.own = seconds * static_cast<double>(sysconf(_SC_CLK_TCK));
  return times;
}

Interference interference(const CpuTimes& before, const CpuTimes& after) {
  const double total = after.total - before.total;
  if (total <= 0) return {};
  const double steal = after.steal - before.steal, idle = after.idle - before.idle, own = after.own - before.own;
  return {.stolen = steal / total, .others = std::max(0.0, (total - idle - steal - own) / total)};
}

}  // namespace hone

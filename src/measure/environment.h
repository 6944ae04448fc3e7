// What a reader of a report must know about the machine a figure comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

struct Environment {
  std::string cpu;                                           // its name
  std::vector<std::pair<std::string, std::string>> devices;  // device_facts()
  int cpus = 0;                                              // that this process may use
  int64_t memory_bytes = 0;
  std::string system;       // "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm)"
  std::string governor;     // of CPU 0; "" where the system does not say
  double load_average = 0;  // one minute
  std::string hone_version, compiler;
};

Environment environment();

// As rows of a report.
std::vector<std::pair<std::string, std::string>> describe(const Environment& environment);

// Ticks (1/100 s) of all CPUs since boot, and of this process.
struct CpuTimes {
  double total = 0, idle = 0, steal = 0, own = 0;
};
CpuTimes cpu_times();
CpuTimes parse_cpu_times(
    std::string_view stat);  // the text of /proc/stat; `own` is 0; all 0 when the text is something else

// Between two readings: shares of the machine's CPU time. Both are 0 on a machine that is ours alone.
struct Interference {
  double stolen = 0;  // taken by the host for other machines
  double others = 0;  // used by other processes
};
Interference interference(const CpuTimes& before, const CpuTimes& after);

}  // namespace hone

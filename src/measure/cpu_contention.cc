#include "measure/cpu_contention.h"

#include <pthread.h>
#include <sched.h>

#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "device/registry.h"

namespace hone {
namespace {

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

ArithmeticLoop busy_loop() {
  for (const DeviceDef* def : device::all())
    if (const ArithmeticLoop loop = def->busy_loop ? def->busy_loop() : ArithmeticLoop(); loop.run) return loop;
  return {};
}

// Rate of the calling thread, bound to `cpu`, over about 60 ms.
double rate_on(int cpu, const ArithmeticLoop& loop, std::barrier<>* together) {
  using Clock = std::chrono::steady_clock;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  loop.run(100'000);
  if (together) together->arrive_and_wait();
  int64_t steps = 0;
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  do {
    loop.run(20'000);
    steps += 20'000;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  } while (seconds < 0.06);
  return loop.flop_per_step * static_cast<double>(steps) / seconds * 1e-9;
}

}  // namespace

std::optional<CpuContention> cpu_contention() {
  const std::vector<int> cpus = usable_cpus();
  const ArithmeticLoop loop = busy_loop();
  if (cpus.size() < 2 || !loop.run) return std::nullopt;
  CpuContention check;
  for (int i : {0, 1}) std::thread([&, i] { check.alone[i] = rate_on(cpus[size_t(i)], loop, nullptr); }).join();
  std::barrier<> sync(2);
  std::thread first([&] { check.together[0] = rate_on(cpus[0], loop, &sync); });
  std::thread second([&] { check.together[1] = rate_on(cpus[1], loop, &sync); });
  first.join(), second.join();
  return check;
}

}  // namespace hone

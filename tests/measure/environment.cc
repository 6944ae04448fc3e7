#include "measure/environment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/cpu.h"
#include "measure/cpu_contention.h"

namespace hone {
namespace {

TEST(Environment, KnowsThisMachine) {
  const Environment e = environment();
  EXPECT_GE(e.cpus, 1);
  EXPECT_GT(e.memory_bytes, 64 << 20);
  EXPECT_TRUE(e.system.starts_with("Linux ")) << e.system;
  EXPECT_EQ(std::count(e.hone_version.begin(), e.hone_version.end(), '.'), 2) << e.hone_version;
  EXPECT_EQ(describe(e)[1], (std::pair<std::string, std::string>("Features", to_string(cpu_features()))));
  for (const auto& [key, value] : describe(e)) EXPECT_FALSE(value.empty() && key != "Features") << key;
}

TEST(CpuTimes, AreReadFromTheFirstLine) {
  const CpuTimes t = parse_cpu_times("cpu  100 1 50 800 9 2 3 35 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  EXPECT_EQ(t.total, 1000);
  EXPECT_EQ(t.idle, 809);
  EXPECT_EQ(t.steal, 35);
  EXPECT_EQ(parse_cpu_times("nonsense").total, 0);
}

TEST(Interference, SeparatesTheHostAndOtherProcesses) {
  const CpuTimes before{.total = 1000, .idle = 500, .steal = 10, .own = 100};
  const CpuTimes after{.total = 1200, .idle = 550, .steal = 30, .own = 180};
  const Interference i = interference(before, after);
  EXPECT_DOUBLE_EQ(i.stolen, 0.1);
  EXPECT_DOUBLE_EQ(i.others, 0.25);  // 200 - 50 idle - 20 stolen - 80 own
  EXPECT_EQ(interference(before, before).others, 0);
}

TEST(CpuContention, TwoThreadsDeliverMoreThanNothingAndNotThreeTimesOne) {
  const std::optional<CpuContention> pair = cpu_contention();
  if (!pair) GTEST_SKIP() << "one CPU, or none with FMA";
  EXPECT_GT(pair->alone[0], 0);
  EXPECT_GT(pair->ratio(), 0);
  EXPECT_LT(pair->ratio(), 3);
}

}  // namespace
}  // namespace hone

// The record of a machine: every peak that its instructions allow, remembered until it is asked for anew.
#include "views/machine.h"

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/json.h"
#include "device/x86/device.h"
#include "device/x86/target.h"
#include "report/json.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

TEST(Machine, ShowsEveryPeakAndRemembersThem) {
  const TemporaryFolder cache;
  MachineOptions options;
  options.cache = cache / "peaks";
  const Json first = to_json(view_of(machine(options)));
  for (const char* key : {"f32_gflops", "memory_read_gbytes"}) EXPECT_GT(first["peaks"][key].get<double>(), 0) << key;
  EXPECT_EQ(first["peaks"]["bf16_gflops"].is_null(), !cpu_features().has(Feature::avx512_bf16));
  EXPECT_EQ(first["peaks"]["int8_gops"].is_null(),
            !cpu_features().has(Feature::avx512_vnni) && !cpu_features().has(Feature::avx_vnni));
  EXPECT_EQ(first["units"].size(), host_target().units().size());
  EXPECT_EQ(first["units"][0]["measured"].get<double>(), 1);
  EXPECT_EQ(first["reads"].size(), 15u);
  EXPECT_FALSE(first["machine"].empty());
  EXPECT_EQ(to_json(view_of(machine(options)))["peaks"], first["peaks"]);

  const std::filesystem::path remembered = options.cache + "/peaks.json";
  Json entry = parse_json(read_file(remembered), "peaks.json");
  entry["f32_gflops"] = 9e30;
  write_file(remembered, entry.dump());
  EXPECT_EQ(machine(options).peaks.f32_gflops, 9e30);
  options.fresh = true;
  EXPECT_LT(machine(options).peaks.f32_gflops, 9e30);
}

}  // namespace
}  // namespace hone

// The record of a machine: every peak that its instructions allow, remembered until it is asked for anew.
#include "jobs/machine.h"

#include "base/cpu.h"
#include "report/json.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

TEST(Machine, ShowsEveryPeakAndRemembersThem) {
  const TemporaryFolder cache;
  const MachineOptions options{.cache_folder = cache / "peaks"};
  const Json first = to_json(machine(options));
  for (const char* key : {"f32_gflops", "memory_read_gbytes"}) EXPECT_GT(first["peaks"][key].get<double>(), 0) << key;
  EXPECT_EQ(first["peaks"]["bf16_gflops"].is_null(), !cpu_features().avx512_bf16);
  EXPECT_EQ(first["peaks"]["int8_gops"].is_null(), !cpu_features().avx512_vnni);
  EXPECT_EQ(first["reads"].size(), 15u);
  EXPECT_FALSE(first["machine"].empty());
  EXPECT_EQ(to_json(machine(options))["peaks"], first["peaks"]);
  MachineOptions fresh = options;
  fresh.fresh = true;
  EXPECT_NE(to_json(machine(fresh))["peaks"], first["peaks"]);
}

}  // namespace
}  // namespace hone

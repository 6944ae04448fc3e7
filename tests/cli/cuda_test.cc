// The verbs on a GPU that the emulated driver plays: what they say of it, and how they refuse.
#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

class Cuda : public CliTest {
 protected:
  ProgramResult on_gpu(std::vector<std::string> arguments, const std::string& settings = "capability=8.0",
                       std::vector<std::pair<std::string, std::string>> more = {}) const {
    more.insert(more.end(), {{"HONE_CUDA_DRIVER", HONE_EMULATED_DRIVER},
                             {"HONE_EMULATED_CUDA", settings},
                             {"HONE_CACHE", folder / "cache"}});
    return hone_program(arguments, {.environment = more});
  }
  ProgramResult without_driver(const std::vector<std::string>& arguments) const {
    return hone_program(arguments, {.environment = {{"HONE_CUDA_DRIVER", "/no/such/libcuda.so.1"}}});
  }
  // The records of verbs say whose figures they are.
  void expect_names_the_device(const ProgramResult& result) const {
    expect_done(result);
    EXPECT_THAT(result.out, HasSubstr("emulated device 0"));
  }
  const std::vector<std::string> small{"--seq", "8", "--device", "cuda"};
  std::vector<std::string> with_small(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), small.begin(), small.end());
    return arguments;
  }
};

TEST_F(Cuda, EmbedsAsTheCpuDoes) {
  const std::vector<std::string> embed{"embed", model, "--text", "one cup", "-o"};
  std::vector<std::string> here = embed, there = embed;
  here.insert(here.end(), {out + "/cpu.npy"}), there.insert(there.end(), {out + "/gpu.npy", "--device", "cuda"});
  expect_done(hone_program(here));
  expect_done(on_gpu(there));
  const std::string cpu = read_file(out + "/cpu.npy"), gpu = read_file(out + "/gpu.npy");
  ASSERT_EQ(cpu.size(), gpu.size());
  constexpr size_t kHidden = 32;
  const size_t begin = cpu.size() - kHidden * sizeof(float);
  for (size_t i = 0; i < kHidden; ++i) {
    float a = 0, b = 0;
    std::memcpy(&a, cpu.data() + begin + i * sizeof a, sizeof a);
    std::memcpy(&b, gpu.data() + begin + i * sizeof b, sizeof b);
    EXPECT_NEAR(a, b, 1e-5);
  }
}

TEST_F(Cuda, RunBenchProfileExplainAndDoctorNameTheDevice) {
  expect_done(on_gpu(with_small({"run", model})));
  expect_names_the_device(on_gpu(with_small({"bench", model, "--seconds", "0.2", "--no-probe"})));
  expect_names_the_device(on_gpu(with_small({"profile", model, "--seconds", "0.2"})));
  const ProgramResult explained = on_gpu(with_small({"explain", model}));
  expect_done(explained);
  EXPECT_THAT(explained.out, HasSubstr("for sm_80"));
  expect_done(on_gpu({"doctor", model, "--device", "cuda"}));
}

TEST_F(Cuda, MachineShowsRatesAndThatTheyAreEmulated) {
  const ProgramResult result = on_gpu({"machine", "--device", "cuda", "--fresh", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  EXPECT_GT(json["rates"]["copy_gbytes"].get<double>(), 0);
  EXPECT_GT(json["rates"]["step_us"].get<double>(), 0);
  EXPECT_THAT(result.out, HasSubstr("is emulated"));
}

TEST_F(Cuda, MemoryShowsThePlanBesideWhatTheDriverCounts) {
  const ProgramResult result = on_gpu(with_small({"memory", model, "--to", "mxint8", "--json"}));
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  const Json& rows = json.at("device");
  const Json &planned = rows[rows.size() - 2], &counted = rows[rows.size() - 1];
  for (const char* account : {"original", "mxint8_and_tables"}) {
    EXPECT_GT(planned.at(account).get<double>(), 0) << account;
    EXPECT_GE(counted.at(account).get<double>(), 0.99 * planned.at(account).get<double>()) << account;
  }
  EXPECT_LT(planned.at("mxint8_and_tables"), planned.at("original"));
}

TEST_F(Cuda, SqueezeEvaluateAndSweepRunOnIt) {
  std::string csv = "text,text2,split\n";
  for (char c = 'a'; c < 'i'; ++c) csv += fmt::format("the {0} cup,the {0} cup,{1}\n", c, c < 'd' ? "train" : "test");
  const std::string pairs = folder.put("pairs.csv", csv);
  expect_names_the_device(
      on_gpu(with_small({"squeeze", model, "-o", folder / "small.safetensors", "--to", "mxint8", "--seconds", "0.2"})));
  expect_done(on_gpu({"evaluate", model, "--data", pairs, "--metric", "retrieval", "--device", "cuda"}));
  expect_done(
      on_gpu({"sweep", model, "--formats", "mxint8", "--data", pairs, "-o", folder / "sweep", "--device", "cuda"}));
}

TEST_F(Cuda, TrainingIsRefusedInOneSentence) {
  const std::string data = folder.put("rows.csv", "text,label\na cup,0\na bowl,1\n");
  expect_refusal(on_gpu({"train", model, "--data", data, "-o", out + "/t.safetensors", "--device", "cuda"}),
                 {"device cuda has no kernels of gradients yet: models are trained on --device cpu"});
}

TEST_F(Cuda, CompiledPtxRunsWhereItIsTrusted) {
  const std::string file = out + "/compiled.safetensors";
  expect_done(on_gpu(with_small({"compile", model, "-o", file})));
  const ProgramResult plain = on_gpu(with_small({"run", file})),
                      trusted = on_gpu(with_small({"run", file, "--trust-code"}));
  expect_done(plain);
  expect_done(trusted);
  EXPECT_THAT(plain.err, HasSubstr("left aside, since it is a program"));
  EXPECT_THAT(trusted.err, Not(HasSubstr("left aside")));
}

TEST_F(Cuda, PlansAndCompilesWithoutADriver) {
  const ProgramResult explained = without_driver({"explain", model, "--seq", "8", "--device", "cuda:sm_80"});
  expect_done(explained);
  EXPECT_THAT(explained.out, HasSubstr("for sm_80"));
  expect_done(without_driver({"compile", model, "-o", out + "/c.safetensors", "--device", "cuda:sm_75", "--no-cache"}));
}

TEST_F(Cuda, WhatIsNotThereIsOneSentence) {
  expect_refusal(without_driver({"run", model, "--device", "cuda"}), {"CUDA needs NVIDIA's driver"});
  expect_refusal(on_gpu({"run", model, "--device", "cuda"}, "driver=11.0"), {"CUDA 11.0; hone needs 11.4"});
  expect_refusal(on_gpu({"run", model, "--device", "cuda:4"}), {"there is no device cuda:4; there are: cuda:0"});
  expect_refusal(on_gpu({"run", model, "--device", "cuda"}, "devices=0"), {"no CUDA-capable device"});
}

TEST_F(Cuda, WithoutBf16IsNotAskedForIt) {
  expect_refusal(on_gpu({"run", model, "--compute", "bf16", "--device", "cuda"}, "capability=7.5"),
                 {"--compute bf16: cuda:0 (sm_75) has no bf16"});
}

TEST_F(Cuda, AutoSaysWhatItIs) {
  const std::vector<std::string> run{"run", model, "--seq", "8", "--device", "auto"};
  EXPECT_THAT(on_gpu(run).err, HasSubstr("--device auto is cuda:0 here"));
  EXPECT_THAT(without_driver(run).err, HasSubstr("--device auto is cpu"));
}

TEST_F(Cuda, ARunThatDoesNotFitSaysWhatWould) {
  expect_refusal(
      on_gpu({"run", model, "--seq", "60", "--batch", "4096", "--device", "cuda"}, "capability=8.0,memory=64M"),
      {"on device cuda:0", "are free there. A batch of about", "--device cpu"});
}

TEST_F(Cuda, AFaultNamesItsStep) {
  const ProgramResult result =
      on_gpu(with_small({"run", model}), "capability=8.0,fault_launch=2", {{"HONE_CUDA_SYNC", "1"}});
  expect_refusal(result, {"CUDA: cuda:0 (emulated device 0): step \"", "unspecified launch failure"});
}

}  // namespace
}  // namespace hone

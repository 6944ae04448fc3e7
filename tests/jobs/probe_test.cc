// Measuring in a process of its own: what is asked of it, what it answers, and how its failures are told.
#include "jobs/probe.h"

#include "base/stop.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Probe = JobsTest;

// Every field another number, whole so that counts hold it too.
Json some_json() {
  Json json = to_json(ProbeResult());
  int next = 1000;
  for (auto& [key, value] : json.items()) value = next++;
  return json;
}
ProbeResult some_result() { return probe_result_from_json(some_json()); }

TEST_F(Probe, ResultsSurviveJson) {
  const Json json = some_json();
  EXPECT_EQ(to_json(some_result()), json);
  EXPECT_EQ(some_result().prepack_ms, json["prepack_ms"].get<double>());
  EXPECT_EQ(some_result().kernels_cached, json["kernels_cached"].get<int>());
  EXPECT_EQ(some_result().peak_bytes, json["peak_bytes"].get<int64_t>());
  EXPECT_EQ(some_result().scratch_bytes, json["scratch_bytes"].get<int64_t>());
  for (const auto& [key, value] : json.items()) {
    Json lacking = json;
    lacking.erase(key);
    EXPECT_THAT(error_of([&] { probe_result_from_json(lacking); }), HasSubstr(key));
  }
}

TEST_F(Probe, FiguresKeepTheirBitsAndSize) {
  ProbeResult result;
  result.compile_ms = 1.0 / 3, result.load_ms = 1e-7, result.resident_bytes = (int64_t{1} << 53) - 1;
  const ProbeResult read = probe_result_from_json(parse_json(to_json(result).dump(), "text"));
  EXPECT_EQ(read.compile_ms, result.compile_ms);
  EXPECT_EQ(read.load_ms, result.load_ms);
  EXPECT_EQ(read.resident_bytes, result.resident_bytes);
}

TEST_F(Probe, AnswersAreReadFromTheProgramsOutput) {
  const std::string program = put_program("echo first result\necho '" + some_json().dump() + "'\n");
  const ProbeResult result = probe_in_new_process(program, {});
  EXPECT_EQ(to_json(result), some_json());
  EXPECT_GT(result.first_result_ms, 0);
}

TEST_F(Probe, ErrorsOfTheProgramBecomeErrors) {
  ProbeOptions options;
  options.model = "some/model";
  const auto error = [&](const std::string& body) {
    return error_of([&] { probe_in_new_process(put_program(body), options); });
  };
  EXPECT_THAT(error("echo 'hone: no such file' >&2\nexit 1\n"),
              testing::AllOf(HasSubstr("some/model"), HasSubstr("hone: no such file")));
  EXPECT_THAT(error("kill -9 $$\n"), HasSubstr("killed"));
  EXPECT_THAT(error_of([&] { probe_in_new_process(folder / "absent", options); }), HasSubstr(folder / "absent"));
}

// More than a pipe holds, before the first line of the answer.
TEST_F(Probe, AWordyProgramIsReadToItsEnd) {
  const std::string program =
      put_program("head -c 200000 /dev/zero | tr '\\0' w >&2\necho first result\necho '" + some_json().dump() + "'\n");
  EXPECT_EQ(to_json(probe_in_new_process(program, {})), some_json());
}

TEST_F(Probe, TheFirstAnswerIsTold) {
  ProbeOptions options;
  options.model = model;
  options.shapes.sequence = 16;
  int told = 0;
  const ProbeResult shapes = probe(options, [&] { ++told; });
  EXPECT_EQ(told, 1);
  EXPECT_GT(shapes.kernels_compiled, 0);
  EXPECT_EQ(shapes.kernels_cached, 0);
  EXPECT_GT(shapes.arena_bytes, 0);
  EXPECT_GE(shapes.peak_bytes, shapes.resident_bytes);
  options.text = "a cat";
  EXPECT_GT(probe(options, [&] { ++told; }).kernels_compiled, 0);
  EXPECT_EQ(told, 2);
}

// Made-up inputs of another size than these would not fit the reshape.
TEST_F(Probe, RunsOnTheInputsThatItIsGiven) {
  ProbeOptions options;
  options.model = put_graph("sizes.safetensors", R"(
    %x : f32[N] = input "x/1"
    %s : bf16[M] = input "state"
    %r = reshape %x {shape=[4,16]}
    %t = tanh %s
    return %r, %t)");
  const auto run = [&] { return probe(options, [] {}); };
  EXPECT_THAT(error_of(run), testing::Not(""));
  options.given = folder / "inputs.npz";
  save_inputs(options.given, {{"x/1", Tensor(DType::f32, {64})}, {"state", Tensor(DType::bf16, {5})}});
  EXPECT_EQ(error_of(run), "");
  EXPECT_THAT(error_of([&] {
                save_inputs(options.given, {{"s", Tensor::strings({1}, {"a"})}});
              }),
              testing::AllOf(HasSubstr("\"s\""), HasSubstr("--no-probe")));
}

// A stop ends the process that is waited for.
TEST_F(Probe, AStopEndsTheProcess) {
  const std::string program = put_program("echo $$ > " + folder / "pid" + "\nexec sleep 600\n");
  request_stop(Stop::interrupted);
  EXPECT_THROW(probe_in_new_process(program, {}), Stopped);
  request_stop(Stop::none);
}

}  // namespace
}  // namespace hone

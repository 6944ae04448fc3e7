// Measuring in a process of its own: what is asked of it, what it answers, and how its failures are told.
#include "jobs/probe.h"

#include <set>

#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Probe = JobsTest;

ProbeResult some_result() {
  return {.load_ms = 1.5,
          .prepare_ms = 2.25,
          .compile_ms = 1e-7,
          .prepack_ms = 1.0 / 3,
          .first_run_ms = 5,
          .first_result_ms = 0,
          .kernels_compiled = 7,
          .kernels_cached = 8,
          .empty_bytes = 9,
          .resident_bytes = int64_t{1} << 40,
          .peak_bytes = 11,
          .anonymous_bytes = 12,
          .prepacked_bytes = 13,
          .direct_weight_bytes = 14,
          .arena_bytes = 15,
          .scratch_bytes = 16};
}

void expect_same(const ProbeResult& a, const ProbeResult& b) {
  EXPECT_EQ(to_json(a), to_json(b));
  EXPECT_EQ(a.load_ms, b.load_ms);
  EXPECT_EQ(a.prepack_ms, b.prepack_ms);
  EXPECT_EQ(a.kernels_cached, b.kernels_cached);
  EXPECT_EQ(a.resident_bytes, b.resident_bytes);
  EXPECT_EQ(a.scratch_bytes, b.scratch_bytes);
}

TEST_F(Probe, ResultsSurviveJson) {
  const Json json = to_json(some_result());
  expect_same(probe_result_from_json(parse_json(json.dump(), "text")), some_result());
  std::set<std::string> different;  // no field is written under the key of another
  for (const Json& value : json) different.insert(value.dump());
  EXPECT_EQ(different.size(), json.size());
  for (const auto& [key, value] : json.items()) {
    Json lacking = json;
    lacking.erase(key);
    EXPECT_THAT(error_of([&] { probe_result_from_json(lacking); }), HasSubstr(key));
  }
}

TEST_F(Probe, AnswersAreReadFromTheProgramsOutput) {
  const std::string program = put_program("echo first result\necho '" + to_json(some_result()).dump() + "'\n");
  const ProbeResult result = probe_in_new_process(program, {});
  expect_same(result, some_result());
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
  const std::string program = put_program("head -c 200000 /dev/zero | tr '\\0' w >&2\necho first result\necho '" +
                                          to_json(some_result()).dump() + "'\n");
  expect_same(probe_in_new_process(program, {}), some_result());
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

}  // namespace
}  // namespace hone

// hone profile and hone machine: text, JSON, trace and report; what is refused.
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using ProfileVerb = CliTest;

TEST_F(ProfileVerb, WritesTraceAndReportBesideItsText) {
  const ProgramResult result = hone_program(
      {"profile", model, "--seq", "16", "--seconds", "0.2", "--trace", out + "/t.json", "--report", out + "/r.html"});
  expect_done(result);
  for (const char* part : {"cost of profiling", "not in any step", "Why not faster", "bound by"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_GT(parse_json(read_file(out + "/t.json"), "trace")["traceEvents"].size(), 10u);
  EXPECT_THAT(read_file(out + "/r.html"), HasSubstr("why not faster"));
}

TEST_F(ProfileVerb, ShowsTwoModelsSideBySide) {
  const std::string small = out + "/small.safetensors";
  expect_done(hone_program({"quantize", model, "--to", "mxint8", "-o", small}));
  const ProgramResult result = hone_program({"profile", model, small, "--seq", "16", "--seconds", "0.2", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  EXPECT_EQ(json["totals"].size(), 2u);
  EXPECT_GT(json["steps"].size(), 3u);
  EXPECT_THAT(json["findings"][0].get<std::string>(), HasSubstr("hone bench"));
}

TEST_F(ProfileVerb, PlacesThatCantBeWrittenAreRefusedBeforeTheWork) {
  const std::string file = folder.put("file", "");  // nothing can be below a plain file, whoever we are
  expect_refusal(hone_program({"profile", model, "--trace", file + "/t.json"}), {file + "/t.json"});
  expect_refusal(hone_program({"profile", model, "-O", "1"}), {"compiled"});
}

TEST_F(ProfileVerb, ThreadsAreAtLeastOneAndMoreThanThereAreIsSaid) {
  for (const char* verb : {"profile", "bench", "run"})
    expect_refusal(hone_program({verb, model, "--threads", "0"}), {"--threads"}, 2);
  const ProgramResult many =
      hone_program({"profile", model, "--seq", "16", "--seconds", "0.1", "--threads", "200", "--json"});
  expect_done(many);
  EXPECT_THAT(parse_json(many.out, "stdout")["findings"][0].get<std::string>(), HasSubstr("OVERSUBSCRIBED"));
}

TEST_F(ProfileVerb, ValuesThatAreNotFiniteAreNamed) {
  for (NamedTensor& w : bert.weights)
    if (w.name == "encoder.layer.0.output.dense.weight") w.tensor.mutable_as<float>()[3] = NAN;
  bert.write(model);
  for (const char* verb : {"run", "bench", "profile"})
    expect_refusal(hone_program({verb, model, "--seq", "16", "--check-finite"}),
                   {"first that is not finite", "encoder.layer.0.output.dense.weight", "NaN at [0,3]"});
}

TEST_F(ProfileVerb, MachineShowsPeaks) {
  const ProgramResult first = hone_program({"machine", "--cache", out + "/cache", "--json"});
  expect_done(first);
  EXPECT_GT(parse_json(first.out, "stdout")["peaks"]["f32_gflops"].get<double>(), 0);
  EXPECT_THAT(hone_program({"machine", "--cache", out + "/cache"}).out, HasSubstr("fork and join"));
}

}  // namespace
}  // namespace hone

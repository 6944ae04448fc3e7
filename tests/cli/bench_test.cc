// hone bench: the keys that scripts read, and what can't be compared.
#include <gtest/gtest.h>

#include "base/json.h"
#include "io/artefact.h"
#include "io/numpy.h"
#include "tests/cli/cli_fixture.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Bench = CliTest;

TEST_F(Bench, JsonHasEveryDocumentedKeyAndNothingElseIsOnStandardOutput) {
  const ProgramResult result =
      hone_program({"bench", model, "--seq", "16", "--batch", "2", "--seconds", "0.2", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_EQ(json["results"].size(), 1u);
  const Json& row = json["results"][0];
  EXPECT_EQ(row["model"], "model");
  EXPECT_EQ(row["batch"], 2);
  EXPECT_EQ(row["threads"], 1);
  EXPECT_EQ(row["compute"], "f32");
  for (const char* key :
       {"median_ms", "compile_cold_ms", "compile_warm_ms", "first_result_ms", "weight_bytes", "peak_bytes"})
    EXPECT_GT(row.at(key).get<double>(), 0) << key;
  ASSERT_EQ(row["ci95_ms"].size(), 2u);
  EXPECT_LE(row["ci95_ms"][0].get<double>(), row["median_ms"].get<double>());
  EXPECT_GE(row["ci95_ms"][1].get<double>(), row["median_ms"].get<double>());
  EXPECT_FALSE(json["machine"].empty());
  EXPECT_THAT(json["command"].get<std::string>(), HasSubstr("hone bench"));
}

TEST_F(Bench, SeveralModelsAreComparedWithTheFirst) {
  const std::string small = out + "/small.safetensors";
  expect_done(hone_program({"quantize", model, "--to", "mxint8", "-o", small}));
  const ProgramResult result =
      hone_program({"bench", model, small, "--seq", "16", "--seconds", "0.2", "--no-probe", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_EQ(json["comparison"].size(), 1u);
  const Json& row = json["comparison"][0];
  EXPECT_EQ(row["model"], "small.safetensors");
  EXPECT_GT(row["cosine"].get<double>(), 0.999);
  const double low = row["speed_ratio_ci95"][0], high = row["speed_ratio_ci95"][1];
  if (low <= 1 && high >= 1) {
    EXPECT_THAT(row["verdict"].get<std::string>(), testing::Not(HasSubstr("faster")));
  }
}

TEST_F(Bench, SamplesAreNotWrittenOverAModel) {
  const ProgramResult result =
      hone_program({"bench", model, "--seconds", "0.1", "--no-probe", "--samples", model + "/model.safetensors"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("which is read; choose another place"));
}

TEST_F(Bench, ModelsWithOtherInputsAreNotCompared) {
  const std::string other = folder / "other";
  bert.pools = false;
  bert.write(other);
  const std::string file = out + "/one.safetensors";
  expect_done(hone_program({"quantize", other, "--inputs", "input_ids", "--to", "mxint8", "-o", file}));
  const ProgramResult result = hone_program({"bench", model, file, "--seq", "16", "--seconds", "0.1", "--no-probe"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("same inputs"));
}

// The processes that are measured by themselves run on the inputs of the run, given or made up.
TEST_F(Bench, GivenInputsReachTheProcesses) {
  const std::string file = folder / "sizes.safetensors";
  save_artefact(file, test::parse(R"(
    %x : f32[N] = input "x"
    %r = reshape %x {shape=[4,16]}
    return %r as "y")"));
  write_npy(folder / "x.npy", Tensor(DType::f32, {64}));
  const ProgramResult result =
      hone_program({"bench", file, "--input", "x=" + folder / "x.npy", "--seconds", "0.1", "--json"});
  expect_done(result);
  EXPECT_GT(parse_json(result.out, "stdout")["results"][0]["peak_bytes"].get<double>(), 0);
  const ProgramResult made_up = hone_program({"bench", file, "--dim", "N=64", "--seconds", "0.1", "--json"});
  expect_done(made_up);
  EXPECT_GT(parse_json(made_up.out, "stdout")["results"][0]["peak_bytes"].get<double>(), 0);
}

TEST_F(Bench, OnDemandAnswersEachLineWithNanoseconds) {
  const ProgramResult result =
      hone_program({"bench", model, "--seq", "16", "--on-demand", "--output-dir", out}, {.input = "\n\n\n"});
  expect_done(result);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
  EXPECT_EQ(result.out.find_first_not_of("0123456789\n"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(out + "/embedding.npy"));
}

TEST_F(Bench, AttentionIsTimedSpelledOutAndFused) {
  for (const char* type : {"f32", "bf16"})
    for (const bool causal : {false, true}) {
      std::vector<std::string> words{"bench",  "--op", "attention", "--shape", "2,3,40,16",
                                     "--type", type,   "--seconds", "0.1",     "--json"};
      if (causal) words.push_back("--causal");
      const ProgramResult result = hone_program(words);
      expect_done(result);
      const Json json = parse_json(result.out, "stdout");
      ASSERT_EQ(json["results"].size(), 2u);
      EXPECT_EQ(json["results"][0]["form"], "naive");
      EXPECT_EQ(json["results"][1]["form"], "fused");
      EXPECT_EQ(json["results"][0]["scores_bytes"], 2 * 3 * 40 * 40 * 4);
      EXPECT_EQ(json["results"][1]["scores_bytes"], 0);
      EXPECT_LT(json["results"][1]["bytes"].get<double>(), json["results"][0]["bytes"].get<double>());
      // Two products of 2 * 2*3*40*40*16 operations each.
      EXPECT_DOUBLE_EQ(json["results"][1]["mflop"].get<double>(), 2 * 2 * 2 * 3 * 40 * 40 * 16 * 1e-6);
      double share = 0;
      bool has_softmax = false;
      for (const Json& step : json["steps"]) {
        has_softmax |= step["form"] == "naive" && step["ops"].get<std::string>().find("softmax") != std::string::npos;
        if (step["form"] == "naive") share += step["share"].get<double>();
        EXPECT_FALSE(step["why"].get<std::string>().empty());
      }
      EXPECT_THAT(json["findings"][0].get<std::string>(),
                  testing::MatchesRegex("Fused against naive: (no difference shown|[0-9.]+x (faster|slower)) .*"));
      EXPECT_TRUE(has_softmax);
      EXPECT_GT(share, 0);
      EXPECT_LE(share, 1.0001);
    }
}

TEST_F(Bench, AttentionOfFewQueriesIsThatOfTheLastKeys) {
  const auto bench = [](const std::string& queries, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"bench",     "--op",  "attention", "--shape", "2,3,40,16",
                                   "--queries", queries, "--seconds", "0.1",     "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return hone_program(words);
  };
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--causal", "--type", "bf16"}}) {
    const ProgramResult result = bench("3", more);
    expect_done(result);
    const Json json = parse_json(result.out, "stdout");
    EXPECT_EQ(json["results"][0]["scores_bytes"], 2 * 3 * 3 * 40 * 4);
    EXPECT_DOUBLE_EQ(json["results"][1]["mflop"].get<double>(), 2 * 2 * 2 * 3 * 3 * 40 * 16 * 1e-6);
  }
  const ProgramResult shared = bench("1", {"--causal", "--kv-heads", "1"});
  expect_done(shared);
  EXPECT_THAT(shared.out, HasSubstr("1 query, 1 head of keys, causal"));
  const ProgramResult codes = bench("1", {"--kv-format", "int8.g16"});
  expect_done(codes);
  EXPECT_THAT(codes.out, HasSubstr("1 query, keys and values in int8.g16"));
  EXPECT_THAT(bench("1", {"--kv-format", "int8.g16", "--type", "bf16"}).err,
              HasSubstr("codes are read beside f32, not bf16"));
  EXPECT_THAT(bench("1", {"--kv-format", "fp16"}).err, HasSubstr("it has no codes"));
  const ProgramResult pages = bench("1", {"--kv-format", "int8.g16", "--page-rows", "8", "--kv-heads", "1"});
  expect_done(pages);
  EXPECT_THAT(pages.out, HasSubstr("keys and values in int8.g16, in pages of 8, 1 head of keys"));
  EXPECT_THAT(bench("1", {"--page-rows", "16"}).err, HasSubstr("--page-rows 16: 40 keys are no whole pages"));
  expect_done(bench("3", {"--compute", "bf16"}));
  EXPECT_THAT(bench("1", {"--kv-heads", "2"}).err, HasSubstr("--kv-heads 2: 3 heads cannot share them evenly"));
  EXPECT_THAT(bench("41").err, HasSubstr("--queries 41: they are the last of 40 keys"));
  EXPECT_EQ(bench("0").exit_code, 2);
}

TEST_F(Bench, ProductsWithAPackedMatrixAreTimedBesideThoseWithAPlainOne) {
  for (const char* rows : {"1", "5"}) {
    const ProgramResult result = hone_program({"bench", "--op", "linear", "--shape", "24,64", "--rows", rows,
                                               "--weight-format", "int4.g32", "--seconds", "0.1", "--json"});
    expect_done(result);
    const Json json = parse_json(result.out, "stdout");
    ASSERT_EQ(json["results"].size(), 2u);
    EXPECT_EQ(json["results"][0]["form"], "plain");
    EXPECT_EQ(json["results"][1]["form"], "packed");
    EXPECT_LT(json["results"][1]["bytes"].get<double>(), json["results"][0]["bytes"].get<double>());
    for (const Json& row : json["results"])
      EXPECT_NEAR(row["gflops"].get<double>() * row["steps_ms"].get<double>() * 1e6, 2 * 24 * 64 * std::stod(rows), 1);
  }
}

TEST_F(Bench, DecodingAMatrixIsTimed) {
  const ProgramResult result = hone_program(
      {"bench", "--op", "dequantize", "--shape", "32,64", "--weight-format", "mxint8", "--seconds", "0.1", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_EQ(json["results"].size(), 1u);
  EXPECT_GE(json["results"][0]["bytes"].get<double>(), 32 * 64 * 3);  // codes of a byte, numbers of two
}

TEST_F(Bench, FlagsOfAnotherOpAndFormatsWithoutCodesAreRefused) {
  const auto said = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"bench", "--op"});
    return hone_program(words).err;
  };
  EXPECT_THAT(said({"linear", "--causal"}), HasSubstr("says nothing of --op linear"));
  EXPECT_THAT(said({"linear", "--type", "bf16"}), HasSubstr("--compute"));
  EXPECT_THAT(said({"dequantize", "--rows", "3"}), HasSubstr("--rows"));
  EXPECT_THAT(said({"attention", "--rows", "3"}), HasSubstr("--rows"));
  EXPECT_THAT(said({"linear", "--weight-format", "fp16"}), HasSubstr("--weight-format fp16: it has no codes"));
  EXPECT_THAT(said({"dequantize", "--weight-format", "fp16"}), HasSubstr("it has no codes"));
  EXPECT_THAT(said({"linear", "--shape", "4"}), HasSubstr("two sizes"));
  EXPECT_THAT(said({"linear", "--shape", "4000000000,4000000000"}), HasSubstr("--shape"));
  EXPECT_THAT(said({"linear", "--shape", "32,32", "--rows", "4000000000000"}), HasSubstr("--rows"));
}

TEST_F(Bench, OpsNeedAShapeOfFourSizesAndNoModel) {
  for (const char* shape : {"32,8,128", "32,8,128,64,2", "0,8,128,64", "a,b,c,d", "32,8,128,-64", "",
                            "1,1,4000000000,64", "9223372036854775807,9,9,9"}) {
    const ProgramResult result = hone_program({"bench", "--op", "attention", "--shape", shape});
    EXPECT_NE(result.exit_code, 0) << shape;
    EXPECT_THAT(result.err, testing::Not(HasSubstr("bug"))) << shape;
    EXPECT_FALSE(result.err.empty()) << shape;
  }
  EXPECT_THAT(hone_program({"bench", "--op", "attention", model}).err, HasSubstr("takes no model"));
  EXPECT_THAT(hone_program({"bench"}).err, HasSubstr("--op attention"));
  EXPECT_NE(hone_program({"bench", model, "--causal"}).exit_code, 0);
}

}  // namespace
}  // namespace hone

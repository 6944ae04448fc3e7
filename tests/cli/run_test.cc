// hone run: inputs by file, by text or made up; outputs as .npy; and the inputs that are refused.
#include <gtest/gtest.h>

#include "base/json.h"
#include "io/numpy.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Run : public CliTest {
 protected:
  Run() {
    write_npy(folder / "ids.npy", Tensor::of<int64_t>({1, 4}, {2, 5, 6, 3}));
    write_npy(folder / "mask.npy", Tensor::of<int64_t>({1, 4}, {1, 1, 1, 1}));
  }
  ProgramResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", model});
    return hone_program(arguments);
  }
  // With one of the two inputs replaced.
  ProgramResult run_on(const std::string& input, const Tensor& tensor) {
    write_npy(folder / "x.npy", tensor);
    const bool ids = input == "input_ids";
    return run({"--input", "input_ids=" + (ids ? folder / "x.npy" : folder / "ids.npy"), "--input",
                "attention_mask=" + (ids ? folder / "mask.npy" : folder / "x.npy"), "--output-dir", out});
  }
};

TEST_F(Run, WritesEachOutput) {
  const ProgramResult result = run({"--input", "input_ids=" + folder / "ids.npy", "--input",
                                    "attention_mask=" + folder / "mask.npy", "--output-dir", out, "--json"});
  expect_done(result);
  EXPECT_EQ(result.err, "");
  const Tensor e = read_npy(out + "/embedding.npy");
  EXPECT_EQ(e.shape(), (std::vector<int64_t>{1, 32}));
  double norm = 0;
  for (float v : e.to_floats()) norm += static_cast<double>(v) * v;
  EXPECT_NEAR(norm, 1, 1e-5);  // the folder normalises
  const Json json = parse_json(result.out, "stdout");
  EXPECT_EQ(json["outputs"][0]["name"], "embedding");
  EXPECT_EQ(json["outputs"][0]["type"], "f32[1,32]");
}

TEST_F(Run, TextsGiveWhatEmbedGives) {
  expect_done(run({"--text", "a cat", "--output-dir", out}));
  expect_done(hone_program({"embed", model, "--text", "a cat", "-o", out + "/e.npy"}));
  const std::vector<float> a = read_npy(out + "/embedding.npy").to_floats(), b = read_npy(out + "/e.npy").to_floats();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);  // padded differently: rounding
}

TEST_F(Run, MadeUpInputsAreSeeded) {
  const auto values = [&](const char* seed) {
    expect_done(run({"--seq", "16", "--seed", seed, "--output-dir", out}));
    return read_npy(out + "/embedding.npy").to_floats();
  };
  const std::vector<float> first = values("1");
  EXPECT_EQ(values("1"), first);
  EXPECT_NE(values("2"), first);
}

TEST_F(Run, UnknownAndMissingInputsAreNamed) {
  expect_refusal(run({"--input", "input_idz=" + folder / "ids.npy"}), {"input_idz", "input_ids"});
  expect_refusal(run({"--input", "input_ids=" + folder / "ids.npy", "--output-dir", out}), {"attention_mask"});
  expect_refusal(run({"--input", folder / "ids.npy"}), {"--input", "name=value"});
  expect_refusal(run({"--input", "input_ids=" + folder / "absent.npy"}), {"absent.npy"});
  expect_refusal(run({"--input", "input_ids=" + folder / "ids.npy", "--input", "input_ids=" + folder / "ids.npy"}),
                 {"input_ids", "twice"});
}

TEST_F(Run, WrongTypesRanksAndSizesAreNamed) {
  expect_refusal(run_on("input_ids", Tensor::of<float>({1, 4}, {2, 5, 6, 3})), {"input_ids", "f32[1,4]", "i64[B,S]"});
  expect_refusal(run_on("input_ids", Tensor::of<int64_t>({4}, {2, 5, 6, 3})), {"input_ids", "[4]", "[B,S]"});
  expect_refusal(run_on("attention_mask", Tensor::of<int64_t>({1, 5}, {1, 1, 1, 1, 1})), {"S", "4", "5"});
}

TEST_F(Run, TokensOutsideOfTheVocabularyAreNamed) {
  for (int64_t id : {int64_t{244}, int64_t{-245}, int64_t{1} << 40})
    expect_refusal(run_on("input_ids", Tensor::of<int64_t>({1, 4}, {2, id, 6, 3})), {std::to_string(id), "0 to 243"});
}

TEST_F(Run, ProfilesNameEachStep) {
  const ProgramResult result = run({"--seq", "16", "--profile", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  EXPECT_THAT(result.out, HasSubstr("linear"));
  EXPECT_FALSE(json["machine"].empty());
}

TEST_F(Run, ProfilesNeedCompiledSteps) {
  expect_refusal(run({"--seq", "16", "--profile", "-O", "1", "--output-dir", out}), {"--profile", "compiled"});
}

}  // namespace
}  // namespace hone

// hone squeeze: one command from a folder to a measured file and its report.
#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Squeeze : public CliTest {
 protected:
  std::string small = out + "/small.safetensors", report = out + "/r.html";
  std::vector<std::string> command(std::vector<std::string> more) const {
    std::vector<std::string> all{"squeeze", model, "-o", small, "--seq", "16", "--seconds", "0.2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(Squeeze, WritesAModelAndAReportAndMeasuresBoth) {
  const ProgramResult result = hone_program(command({"--to", "mxint8", "--report", report, "--json"}));
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  ASSERT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["results"][0]["compute"], "f32");
  EXPECT_EQ(json["results"][1]["compute"], "bf16");
  EXPECT_LT(json["results"][1]["weight_bytes"], json["results"][0]["weight_bytes"]);
  for (const char* key : {"compile_cold_ms", "first_result_ms", "peak_bytes"})
    EXPECT_GT(json["results"][1][key].get<double>(), 0) << key;
  ASSERT_EQ(json["agreement"].size(), 1u);
  EXPECT_EQ(json["agreement"][0]["rows"], 64);
  EXPECT_GT(json["agreement"][0]["cosine"].get<double>(), 0.99);
  EXPECT_LT(json["agreement"][0]["cosine"].get<double>(), 1);
  EXPECT_FALSE(json["comparison"][0].contains("cosine"));  // said once, of all texts
  for (const Json& tensor : json["tensors"]) EXPECT_NE(tensor["before"], tensor["after"]);
  EXPECT_EQ(json["manifest"][1]["role"], "output");
  EXPECT_EQ(json["manifest"][1]["bytes"], std::filesystem::file_size(small));

  const std::string html = read_file(report);
  EXPECT_THAT(html, HasSubstr("hone squeeze"));
  EXPECT_THAT(html, HasSubstr("Signal to quantization noise per tensor"));
  for (const char* foreign : {"http://", "https://", "<script", "url("})
    for (size_t at = html.find(foreign); at != std::string::npos; at = html.find(foreign, at + 1))
      EXPECT_THAT(html.substr(at, 40), HasSubstr("www.w3.org")) << "only the names of SVG may look like addresses";
  expect_done(hone_program({"embed", small, "--text", "it runs alone", "-o", out + "/e.npy"}));
}

TEST_F(Squeeze, InputsOfTheFolderCanBeChosen) {
  const ProgramResult result = hone_program(command({"--to", "mxint8", "--inputs", "input_ids", "--json"}));
  expect_done(result);
  EXPECT_EQ(parse_json(result.out, "stdout")["results"].size(), 2u);
}

TEST_F(Squeeze, TheOriginalIsNotOverwritten) {
  const std::string weights = model + "/model.safetensors", before = read_file(weights);
  const ProgramResult result = hone_program({"squeeze", model, "--to", "mxint8", "-o", weights});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("is read"));
  EXPECT_EQ(read_file(weights), before);
}

TEST_F(Squeeze, ComputeIsAChoice) {
  const ProgramResult result = hone_program(command({"--to", "mxint8", "--compute", "f32", "--json"}));
  expect_done(result);
  EXPECT_EQ(parse_json(result.out, "stdout")["results"][1]["compute"], "f32");
}

TEST_F(Squeeze, GivenTextsAreWhatOutputsAreComparedOn) {
  const std::string texts = folder.put("texts.txt", "one\ntwo\nthree\n");
  const ProgramResult result = hone_program(command({"--to", "mxfp4", "--text-file", texts, "--json"}));
  expect_done(result);
  EXPECT_EQ(parse_json(result.out, "stdout")["agreement"][0]["rows"], 3);
}

TEST_F(Squeeze, ModelsWithoutATokenizerAreComparedOnMadeUpInputs) {
  std::filesystem::remove(model + "/vocab.txt");
  const ProgramResult result = hone_program(command({"--to", "mxint8"}));
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr("16 made-up inputs"));
  const ProgramResult refused =
      hone_program({"squeeze", model, "--to", "mxint8", "-o", out + "/b.safetensors", "--text", "no"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("tokenizer"));
}

TEST_F(Squeeze, NothingIsWrittenWhenSomethingDoesNotFit) {
  expect_refusal(hone_program(command({})), {"nothing to quantize"});
  expect_refusal(hone_program(command({"--to", "mxint9"})), {"mxint9"});
  expect_refusal(hone_program({"squeeze", model, "-o", small, "--to", "mxint8", "--seq", "65"}), {"65", "64"});
  expect_refusal(hone_program(command({"--to", "mxint8", "--report", folder / "none/r.html"})), {"none"});
  const std::string input = folder.put("x.npy", "not an array");
  expect_refusal(hone_program(command({"--to", "mxint8", "--input", "input_ids=" + input})), {"x.npy"});
}

// The C++ example of the README, as its reader would run it.
TEST_F(Squeeze, TheLibraryExampleRuns) {
  const ProgramResult result = run_program(HONE_EXAMPLE, {model, small, "good day", "good day", "something else"});
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr("cosine of \"good day\" and \"good day\": 1.0000"));
  EXPECT_THAT(result.out, HasSubstr("mxint4"));
}

}  // namespace
}  // namespace hone

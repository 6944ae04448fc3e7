// info, print, draw and formats: what they say about a model, as text and as JSON.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Inspect = CliTest;

TEST_F(Inspect, InfoCountsParametersAndBytes) {
  const ProgramResult result = hone_program({"info", model, "--seq", "32", "--json"});
  expect_done(result);
  EXPECT_EQ(result.err, "");
  const Json json = parse_json(result.out, "stdout");
  int64_t elements = 0;
  for (const NamedTensor& w : bert.weights) elements += w.tensor.elements();
  const int64_t file = static_cast<int64_t>(std::filesystem::file_size(model + "/model.safetensors"));
  EXPECT_EQ(json["summary"]["parameters"], elements);
  EXPECT_EQ(json["summary"]["file_bytes"], file);
  EXPECT_EQ(json["ports"][0]["type"], "i64[B,S]");
  EXPECT_EQ(json["ports"].back()["name"], "embedding");
  for (const Json& row : json["ops"])
    if (row["op"] == "linear") {
      // Per layer and token: 4 of 32x32, 2 of 32x64; a multiply and an add each.
      EXPECT_NEAR(row["mflop"].get<double>(), 2 * 32 * 2e-6 * (4 * 32 * 32 + 2 * 32 * 64), 1e-9);
    }
}

TEST_F(Inspect, InfoAsTextNamesInputsAndFormats) {
  const ProgramResult result = hone_program({"info", model, "--seq", "32"});
  expect_done(result);
  for (const char* part : {"input_ids", "attention_mask", "embedding", "f32", "linear"})
    EXPECT_THAT(result.out, HasSubstr(part));
}

TEST_F(Inspect, ADefaultLengthFitsTheModel) { expect_done(hone_program({"info", model})); }

TEST_F(Inspect, PrintedGraphsParseAtEveryStage) {
  for (const char* stage : {"loaded", "canonical", "prepared"}) {
    const ProgramResult result = hone_program({"print", model, "--stage", stage});
    expect_done(result);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out.substr(0, 10), "graph bert") << stage;
  }
  EXPECT_THAT(hone_program({"print", model, "--stage", "canonical"}).out, HasSubstr(" = attention "));
}

TEST_F(Inspect, PassesRunByTheirNamesOnWhatIsPrinted) {
  const ProgramResult result = hone_program({"print", model, "--stage", "canonical", "--pass", "quantize", "--pass",
                                             "fold_fake_quant", "--pass-option", "quantize.to=mxint8"});
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr("mxint8["));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("fake_quant")));
}

TEST_F(Inspect, PassesAreListedWithTheirOptions) {
  const ProgramResult result = hone_program({"passes", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  std::map<std::string, Json> options;
  for (const Json& row : json["options"]) options[row["option"]] = row;
  EXPECT_EQ(options["smooth_quant.alpha"]["kind"], "number");
  EXPECT_EQ(options["smooth_quant.alpha"]["default"], "0.5");
  EXPECT_EQ(options["set_compute.compute"]["default"], "required");
  std::map<std::string, Json> passes;
  for (const Json& row : json["passes"]) passes[row["pass"]] = row;
  EXPECT_TRUE(passes["fold_constants"]["options"].is_null());
  EXPECT_EQ(passes["smooth_quant"]["options"], "quantize, smooth_quant");
  EXPECT_THAT(hone_program({"passes"}).out, HasSubstr("round_weights.damping"));
}

// Without a mask the graph makes one of ones; the other input is gone.
TEST_F(Inspect, ChosenInputsChangeTheGraph) {
  const std::string both = hone_program({"print", model}).out;
  const ProgramResult one = hone_program({"print", model, "--inputs", "input_ids"});
  expect_done(one);
  EXPECT_THAT(both, HasSubstr("input \"attention_mask\""));
  EXPECT_THAT(one.out, testing::Not(HasSubstr("input \"attention_mask\"")));
  EXPECT_THAT(one.out, HasSubstr(" = full "));
}

TEST_F(Inspect, LabelsAddALossToAClassifier) {
  bert.config["architectures"] = {"BertForSequenceClassification"};
  bert.pools = false;
  bert.weights.push_back({"pooler.dense.weight", Tensor(DType::f32, {32, 32})});
  bert.weights.push_back({"pooler.dense.bias", Tensor(DType::f32, {32})});
  bert.weights.push_back({"classifier.weight", Tensor(DType::f32, {2, 32})});
  bert.weights.push_back({"classifier.bias", Tensor(DType::f32, {2})});
  const std::string classifier = folder / "classifier";
  bert.write(classifier);
  const ProgramResult result = hone_program({"print", classifier, "--inputs", "input_ids,attention_mask,labels"});
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr(" = cross_entropy "));
  EXPECT_THAT(hone_program({"print", classifier}).out, testing::Not(HasSubstr("cross_entropy")));
}

TEST_F(Inspect, DrawWritesDotText) {
  expect_done(hone_program({"draw", model, "-o", out + "/g.dot"}));
  const std::string folded = content_of(out + "/g.dot");
  EXPECT_THAT(folded, HasSubstr("digraph"));
  EXPECT_THAT(folded, HasSubstr("input_ids"));
  expect_done(hone_program({"draw", model, "-o", out + "/all.dot", "--every-layer"}));
  EXPECT_GT(content_of(out + "/all.dot").size(), folded.size());
}

TEST_F(Inspect, DrawWritesSvgWhereGraphvizIsOrSaysWhatToInstall) {
  const ProgramResult with = hone_program({"draw", model, "-o", out + "/g.svg"});
  if (with.exit_code == 0) {
    const std::string svg = content_of(out + "/g.svg");
    EXPECT_TRUE(svg.starts_with("<?xml"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    std::filesystem::remove(out + "/g.svg");
  }
  const ProgramResult without = hone_program({"draw", model, "-o", out + "/g.svg"},
                                             {.input = {},
                                              .largest_file = {},
                                              .output_to = {},
                                              .environment = {{"PATH", folder.put("empty/file", "") + "/bin"}}});
  expect_refusal(without, {"raphviz", ".dot"});
}

TEST_F(Inspect, FormatsListsBitsRangeAndPrecision) {
  const ProgramResult result = hone_program({"formats", "--json"});
  expect_done(result);
  EXPECT_EQ(result.err, "");
  const Json json = parse_json(result.out, "stdout");
  bool found = false;
  for (const Json& row : json["formats"]) {
    if (row["format"] != "mxint8") continue;
    found = true;
    EXPECT_EQ(row["bits"], 8.25);  // and an 8-bit scale for 32 elements
    EXPECT_THAT(row["group"].get<std::string>(), HasSubstr("32"));
    EXPECT_GT(row["sqnr_db"].get<double>(), 35);
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(hone_program({"formats"}).out, HasSubstr("mxint8"));
}

TEST_F(Inspect, VersionAndHelpExitWithZero) {
  EXPECT_THAT(hone_program({"--version"}).out, testing::MatchesRegex("hone [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  const ProgramResult help = hone_program({"--help"});
  expect_done(help);
  EXPECT_THAT(help.out, HasSubstr("quantize"));
}

}  // namespace
}  // namespace hone

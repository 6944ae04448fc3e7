// hone quantize and hone embed: a smaller file that runs alone and gives nearly the same embeddings.
#include <gtest/gtest.h>

#include "base/json.h"
#include "io/numpy.h"
#include "measure/quality.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Quantize : public CliTest {
 protected:
  Json quantize(const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> arguments{"quantize", model, "-o", file, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = hone_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return parse_json(result.out, "stdout");
  }
  std::vector<float> embed(const std::string& path, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"embed", path,     "-o", out + "/e.npy", "--text",
                                       "a cat", "--text", "",   "--text",       "dogs and 12 birds, all in a row"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = hone_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    const Tensor e = read_npy(out + "/e.npy");
    EXPECT_EQ(e.shape(), (std::vector<int64_t>{3, 32}));
    return e.to_floats();
  }
  std::string file = out + "/q.safetensors";
};

TEST_F(Quantize, JsonHasTheTensorsAndTotals) {
  const Json json = quantize(file, {"--to", "mxint8"});
  EXPECT_EQ(json["schema"], "hone-record-1");
  int64_t elements = 0, before = 0, after = 0;
  for (const Json& t : json["tensors"]) {
    before += t["bytes_before"].get<int64_t>(), after += t["bytes_after"].get<int64_t>();
    if (t["name"] == "embeddings.word_embeddings.weight") {
      EXPECT_EQ(t["after"], "mxint8");
      EXPECT_EQ(t["bytes_after"], 244 * 33);  // 32 codes and a scale a row
      EXPECT_GT(t["sqnr_db"].get<double>(), 30);
      elements = 1;
    }
  }
  EXPECT_EQ(elements, 1);
  EXPECT_EQ(json["totals"]["bytes_before"], before);
  EXPECT_EQ(json["totals"]["bytes_after"], after);
  EXPECT_EQ(json["manifest"][1]["bytes"], std::filesystem::file_size(file));
  EXPECT_EQ(json["manifest"][1]["path"], file);
}

TEST_F(Quantize, TheFileRunsAloneAndStaysClose) {
  quantize(file, {"--to", "mxint8"});
  const std::vector<float> exact = embed(model);
  std::filesystem::remove_all(model);  // tokenizer and configuration ride along
  const std::vector<float> close = embed(file);
  EXPECT_GT(row_cosine(exact, close, 32).min, 0.999);
  EXPECT_LT(row_cosine(exact, close, 32).min, 1);
}

TEST_F(Quantize, FewerBitsAreFurtherAway) {
  const std::vector<float> exact = embed(model);
  quantize(file, {"--to", "mxint8"});
  const double eight = row_cosine(exact, embed(file), 32).mean;
  quantize(file, {"--to", "mxint4"});
  const double four = row_cosine(exact, embed(file), 32).mean;
  EXPECT_LT(four, eight);
  EXPECT_GT(four, 0.8);
}

TEST_F(Quantize, TheSameCommandWritesTheSameBytes) {
  quantize(file, {"--to", "mxint8"});
  quantize(out + "/again.safetensors", {"--to", "mxint8"});
  EXPECT_EQ(content_of(file), content_of(out + "/again.safetensors"));
}

TEST_F(Quantize, InfoShowsTheFormats) {
  quantize(file, {"--to", "mxint8", "--rule", "layer\\.1\\..*output=mxfp4"});
  const ProgramResult result = hone_program({"info", file, "--seq", "16", "--json"});
  expect_done(result);
  const Json json = parse_json(result.out, "stdout");
  std::vector<std::string> formats;
  for (const Json& row : json["formats"]) formats.push_back(row["format"]);
  for (const char* format : {"mxint8", "mxfp4", "f32"}) EXPECT_THAT(formats, testing::Contains(format));
}

TEST_F(Quantize, TheLastOfTwoRulesDecidesAndTheRecordSaysSo) {
  const ProgramResult result =
      hone_program({"quantize", model, "-o", file, "--rule", "layer\\.0=mxint8", "--rule", "query=mxfp4"});
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr("encoder.layer.0.attention.self.query.weight: "));
  EXPECT_THAT(result.out, HasSubstr("overrides"));
}

TEST_F(Quantize, ConfigurationsAndFlagsAreOne) {
  const std::string toml = folder.put("q.toml", "[quantize]\nto = \"mxint8\"\nrule = ['layer\\.0=keep']\n");
  quantize(file, {"--config", toml});
  quantize(out + "/flags.safetensors", {"--to", "mxint8", "--rule", "layer\\.0=keep"});
  EXPECT_EQ(content_of(file), content_of(out + "/flags.safetensors"));
  quantize(out + "/both.safetensors", {"--config", toml, "--to", "mxint4"});  // flags win
  EXPECT_LT(std::filesystem::file_size(out + "/both.safetensors"), std::filesystem::file_size(file));
}

TEST_F(Quantize, OptionsOfAPassAreFlagsAndATableOfItsName) {
  const std::string data = folder.put("texts.txt", "a cat\ndogs and 12 birds\nall in a row\n");
  const std::string toml = folder.put(
      "q.toml", "to = \"int4.g32\"\n[round_weights]\nmethod = \"gptq\"\ndamping = 2.5\nactivation-order = false\n");
  quantize(file, {"--config", toml, "--calib", data});
  const std::vector<std::string> gptq{"--to", "int4.g32", "--method", "gptq", "--calib", data};
  std::vector<std::string> same = gptq;
  same.insert(same.end(), {"--damping", "2.5", "--no-activation-order"});
  quantize(out + "/flags.safetensors", same);
  EXPECT_EQ(content_of(file), content_of(out + "/flags.safetensors"));
  quantize(out + "/defaults.safetensors", gptq);
  EXPECT_NE(content_of(file), content_of(out + "/defaults.safetensors"));
}

TEST_F(Quantize, ComputeIsStoredInTheModel) {
  quantize(file, {"--to", "mxint8", "--compute", "bf16"});
  const ProgramResult result = hone_program({"info", file, "--seq", "16", "--json"});
  expect_done(result);
  EXPECT_EQ(parse_json(result.out, "stdout")["summary"]["compute"], "bf16");
  EXPECT_GT(row_cosine(embed(model), embed(file), 32).min, 0.999);
}

TEST_F(Quantize, EveryWayToRunAgrees) {
  const std::vector<float> interpreted = embed(model, {"--backend", "reference"});
  for (const std::vector<std::string>& how : {std::vector<std::string>{"-O", "1"},
                                              {"-O", "2"},
                                              {"--isa", "avx2"},
                                              {"--no-pass", "recognise_attention"},
                                              {"--no-cache", "--verify"}})
    EXPECT_GT(row_cosine(interpreted, embed(model, how), 32).min, 0.99999) << how.back();
}

TEST_F(Quantize, ThreadsDoNotChangeABit) {
  quantize(file, {"--to", "mxint8"});
  EXPECT_EQ(embed(file, {"--threads", "1"}), embed(file, {"--threads", "2"}));
}

TEST_F(Quantize, TextsComeFromAFileLineByLine) {
  const std::vector<float> flags = embed(model);
  folder.put("t.txt", "a cat\n\ndogs and 12 birds, all in a row\n");
  expect_done(hone_program({"embed", model, "--text-file", folder / "t.txt", "-o", out + "/f.npy"}));
  EXPECT_EQ(read_npy(out + "/f.npy").to_floats(), flags);
}

TEST_F(Quantize, DamagedMachineCodeIsWrittenAnew) {
  const TemporaryFolder cache;
  const std::vector<float> first = embed(model, {"--cache", cache.path()});
  int damaged = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.path()))
    if (entry.is_regular_file()) {
      std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
      ++damaged;
    }
  EXPECT_GT(damaged, 0);
  EXPECT_EQ(embed(model, {"--cache", cache.path()}), first);
}

// The rules of the file come first, and those of the command line win.
TEST_F(Quantize, AConfigurationOfMaseIsRead) {
  const auto layer = [](const std::string& keys) {
    return "[passes.quantize]\nby = 'type'\n[passes.quantize.linear.config]\nname = 'integer'\n" + keys;
  };
  const std::string keys =
      "data_in_width = 8\ndata_in_frac_width = 5\nweight_width = 8\nweight_frac_width = 6\nbias_width = 8\n"
      "bias_frac_width = 4\n";
  const std::string config = folder.put("mase.toml", layer(keys)),
                    wrong = folder.put("wrong.toml", layer(keys + "x = 1"));
  expect_refusal(hone_program({"quantize", model, "--mase-config", wrong, "-o", file}), {wrong, "unknown key x"});
  expect_refusal(hone_program({"quantize", model, "--mase-exact", "--to", "int8", "-o", file}), {"--mase-config"}, 2);
  const Json json = quantize(file, {"--mase-config", config, "--rule", "layer\\.0\\..*query=int4.g32"});
  std::map<std::string, std::string> after;
  for (const Json& t : json["tensors"]) after[t["name"]] = t["after"];
  EXPECT_EQ(after["encoder.layer.0.attention.self.query.weight"], "int4.g32");
  EXPECT_EQ(after["encoder.layer.0.attention.self.key.weight"], "int8.f6");
  EXPECT_EQ(after["encoder.layer.0.attention.self.key.bias"], "int8.f4");
  EXPECT_EQ(after["embeddings.word_embeddings.weight"], "fp32");
}

}  // namespace
}  // namespace hone

// Damaged or unfitting model files: each is refused with the file, the place and what would be accepted.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

std::string with_header(std::string_view header, std::string_view buffer) {
  const uint64_t length = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text.append(header).append(buffer);
}

uint64_t header_length(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  return length;
}

class BadWeights : public CliTest {
 protected:
  void replace_weights(std::string_view content) { folder.put("model/model.safetensors", content); }
  ProgramResult quantize(const std::string& path) {
    return hone_program({"quantize", path, "--to", "mxint8", "-o", out + "/q.safetensors"});
  }
  void expect_weights_refused(const std::vector<std::string>& parts) {
    std::vector<std::string> all = parts;
    all.push_back(weights);
    expect_refusal(quantize(model), all);
  }
  std::string weights = model + "/model.safetensors";
};

TEST_F(BadWeights, TruncatedAtTheHeaderInTheHeaderAndInTheBuffer) {
  const std::string whole = content_of(weights);
  for (size_t length : {size_t{0}, size_t{7}, size_t{8}, size_t{200}, whole.size() / 2, whole.size() - 1}) {
    replace_weights(std::string_view(whole).substr(0, length));
    expect_weights_refused({});
  }
}

// A flip in the header is an error or leaves a header that is sound (a letter of __metadata__, say), a flip in the
// buffer is another weight: never a crash and never "a bug in hone".
TEST_F(BadWeights, FlippedBitsNeverCrashTheProgram) {
  const std::string whole = content_of(weights);
  Philox random(7);
  for (int i = 0; i < 24; ++i) {
    std::string damaged = whole;
    const auto at = random.below(static_cast<uint32_t>(8 + header_length(whole)));
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    replace_weights(damaged);
    const ProgramResult result = hone_program({"info", model});
    EXPECT_TRUE(result.signal == 0 && (result.exit_code == 0 || result.exit_code == 1))
        << "byte " << at << ": exit code " << result.exit_code << ", signal " << result.signal << "\n"
        << result.err;
    if (result.exit_code == 1) {
      EXPECT_TRUE(result.err.starts_with("hone: " + model)) << result.err;
    }
  }
}

TEST_F(BadWeights, OverlappingTensors) {
  replace_weights(with_header(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
      "123456"));
  expect_weights_refused({"overlap", "\"b\""});
}

TEST_F(BadWeights, OffsetsBehindTheEndOfTheFile) {
  replace_weights(with_header(R"({"a":{"dtype":"U8","shape":[400],"data_offsets":[0,400]}})", "1234"));
  expect_weights_refused({"\"a\"", "outside"});
}

TEST_F(BadWeights, AbsurdHeaderLengths) {
  for (uint64_t length : {uint64_t{1} << 62, ~uint64_t{0}, uint64_t{100'000'001}}) {
    std::string text(8, '\0');
    std::memcpy(text.data(), &length, 8);
    replace_weights(text + "{}");
    expect_weights_refused({"header"});
  }
}

TEST_F(BadWeights, DuplicateTensorNames) {
  replace_weights(with_header(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
      "1234"));
  expect_weights_refused({"duplicate", "\"a\""});
}

TEST_F(BadWeights, MissingAndMisshapenTensorsAreListedAtOnce) {
  bert.weight("encoder.layer.0.intermediate.dense.bias").name = "encoder.layer.0.intermediate.dense.baias";
  bert.weight("encoder.layer.1.output.dense.weight").tensor = Tensor(DType::f32, {32, 63});
  bert.weight("embeddings.LayerNorm.bias").tensor = Tensor(DType::f32, {31});
  bert.write(model);
  expect_refusal(
      quantize(model),
      {model, "\"encoder.layer.0.intermediate.dense.bias\" [64] is missing", "encoder.layer.0.intermediate.dense.baias",
       "\"encoder.layer.1.output.dense.weight\" is [32,63]; the configuration asks for [32,64]",
       "\"embeddings.LayerNorm.bias\" is [31]; the configuration asks for [32]"});
}

TEST_F(BadWeights, IntegersWhereTheModelNeedsFloats) {
  bert.weight("encoder.layer.0.output.dense.weight").tensor = Tensor(DType::i32, {32, 64});
  bert.write(model);
  expect_refusal(quantize(model), {"\"encoder.layer.0.output.dense.weight\" holds i32", "accepted: f64, f32"});
}

TEST_F(BadWeights, ValuesThatAreNotFiniteAreCountedAndNotQuantized) {
  bert.weight("encoder.layer.0.output.dense.weight").tensor.mutable_as<float>()[5] = NAN;
  bert.write(model);
  expect_refusal(quantize(model),
                 {"NaN", "encoder.layer.0.output.dense.weight: 1 NaN and 0 infinite of 2048", "--skip"});
}

TEST_F(BadWeights, UnknownArchitectureNamesTheNearest) {
  bert.config["architectures"] = {"BertModle"};
  bert.write(model);
  expect_refusal(hone_program({"info", model}),
                 {model + "/config.json", "\"BertModle\" of model_type \"bert\" is not known", "nearest of those that are: BertModel"});
}

TEST_F(BadWeights, ConfigThatIsNoJson) {
  folder.put("model/config.json", "{\"architectures\": [\"BertModel\"],\n \"hidden_size\": }");
  expect_refusal(hone_program({"info", model}), {model + "/config.json"});
}

TEST_F(BadWeights, ConfigWithAnImpossibleSize) {
  for (const Json& size : {Json(-1), Json(0), Json("32"), Json(31), Json(1u << 31)}) {
    bert.config["hidden_size"] = size;
    bert.write(model);
    expect_refusal(hone_program({"info", model}), {model + "/config.json", "hidden_size"});
  }
}

TEST_F(BadWeights, FolderWithoutConfig) {
  std::filesystem::remove(model + "/config.json");
  expect_refusal(quantize(model), {model, "has no config.json", "model.safetensors"});
}

TEST_F(BadWeights, FolderWithoutWeights) {
  std::filesystem::remove(weights);
  expect_refusal(quantize(model), {model, "no weights", "model.safetensors"});
}

TEST_F(BadWeights, PicklesAreRefusedWithTheConversion) {
  const std::string pickle = folder.put("pytorch_model.bin", "\x80\x02}q");
  expect_refusal(quantize(pickle), {pickle, "a pickle", "python -c", "save_file"});
  std::filesystem::rename(weights, model + "/pytorch_model.bin");
  expect_refusal(quantize(model), {model + "/pytorch_model.bin", "a pickle", "python -c"});
}

TEST_F(BadWeights, PathsThatAreNoModel) {
  expect_refusal(quantize(folder / "absent"), {folder / "absent", "no such file or folder"});
  expect_refusal(quantize(folder.put("a.txt", "hello")), {folder / "a.txt", "config.json", ".safetensors"});
  expect_refusal(quantize(weights), {weights, "no graph", "give the folder"});
}

TEST_F(BadWeights, TruncatedArtefactsAreRefused) {
  const std::string file = out + "/q.safetensors";
  expect_done(quantize(model));
  const std::string whole = content_of(file);
  std::filesystem::remove(file);
  for (size_t length : {size_t{100}, static_cast<size_t>(8 + header_length(whole)), whole.size() - 1}) {
    const std::string cut = folder.put("cut.safetensors", std::string_view(whole).substr(0, length));
    expect_refusal(hone_program({"info", cut}), {cut});
  }
}

TEST_F(BadWeights, ArtefactOfANewerHoneIsRefused) {
  const std::string file = out + "/q.safetensors";
  expect_done(quantize(model));
  std::string text = content_of(file);
  std::filesystem::remove(file);
  const size_t at = text.find(R"("hone.version":"1")");
  ASSERT_NE(at, std::string::npos);
  text[at + 16] = '9';
  expect_refusal(hone_program({"info", folder.put("new.safetensors", text)}), {"new.safetensors", "9"});
}

}  // namespace
}  // namespace hone

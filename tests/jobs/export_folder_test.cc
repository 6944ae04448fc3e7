// hone export --layout: a folder that other tools read gives hone the same weights back.
#include "jobs/export_folder.h"

#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ExportFolder : public JobsTest {
 protected:
  // The encoder's weights of products, packed, in a file of hone's.
  std::string packed(const std::string& format) const {
    const Model source = load_model(model);
    const std::string file = folder / "packed.safetensors";
    save_model(file, quantize_model(source, {{.rule = {"op:linear=" + format}}}, std::nullopt).graph, source);
    return file;
  }
  std::string out = folder / "out";
};

TEST_F(ExportFolder, PackedWeightsAndAllOthersComeBack) {
  for (const auto& [layout, format] : std::map<std::string, std::string>{
           {"compressed-tensors", "int4.g16.s=bf16"}, {"mxfp4", "mxfp4"}, {"torchao", "int8.channel"}}) {
    SCOPED_TRACE(layout);
    const Model source = load_model(model);
    const FolderResult result = export_folder(source, {.path = out, .layout = layout, .packed = packed(format)});
    EXPECT_EQ(result.weights.at(1).format, to_string(parse_format(format)));
    const Model read = load_model(out);
    EXPECT_TRUE(read.unused.empty());
    EXPECT_EQ(read.graph.outputs()[0].label, "embedding") << "the pooling came along";
    int64_t count = 0;
    for (ValueId v : source.graph.constants()) {
      const std::string& label = source.graph.value(v).label;
      if (label.empty()) continue;
      const Tensor& got = *read.graph.constant(read.graph.find_constant(label));
      if (got.is_packed()) ++count;
      else EXPECT_TRUE(got.same_bits(*source.graph.constant(v))) << label;
    }
    EXPECT_EQ(count, 12);  // six matrices in each of two layers
    std::filesystem::remove_all(out);
  }
}

TEST_F(ExportFolder, AFolderThatIsQuantizedAlreadyIsWrittenAgainBitForBit) {
  export_folder(load_model(model), {.path = out, .layout = "compressed-tensors", .packed = packed("uint4.g32.asym")});
  const std::string again = folder / "again";
  export_folder(load_model(out), {.path = again, .layout = "compressed-tensors"});
  EXPECT_EQ(read_file(again + "/model.safetensors"), read_file(out + "/model.safetensors"));
  EXPECT_EQ(read_file(again + "/config.json"), read_file(out + "/config.json"));
}

// Other libraries make up the weights of a pooler that they do not find; hone's sentence encoders read none.
TEST_F(ExportFolder, WeightsThatTheGraphDoesNotReadComeAlong) {
  const Tensor pooler = Tensor::of<float>({32}, std::vector<float>(32, 0.5f));
  bert.weights.push_back({"pooler.dense.weight", Tensor(DType::f32, {32, 32})});
  bert.weights.push_back({"pooler.dense.bias", pooler});
  bert.write(model);
  for (const auto& [layout, format] :
       std::map<std::string, std::string>{{"compressed-tensors", "int4.g16"}, {"torchao", "int8.channel"}}) {
    export_folder(load_model(model), {.path = out, .layout = layout, .packed = packed(format)});
    EXPECT_TRUE(SafetensorsFile(out + "/model.safetensors").tensor("pooler.dense.bias").same_bits(pooler)) << layout;
    std::filesystem::remove_all(out);
  }
}

TEST_F(ExportFolder, AModelWithoutAPoolerIsSaidToHaveNone) {
  const auto says = testing::Contains(HasSubstr("add_pooling_layer=False"));
  EXPECT_THAT(export_folder(load_model(model), {.path = out, .layout = "mxfp4"}).notes, says);
  std::filesystem::remove_all(out);
  bert.weights.push_back({"pooler.dense.weight", Tensor(DType::f32, {32, 32})});
  bert.weights.push_back({"pooler.dense.bias", Tensor(DType::f32, {32})});
  bert.write(model);
  EXPECT_THAT(export_folder(load_model(model), {.path = out, .layout = "mxfp4"}).notes, testing::Not(says));
}

TEST_F(ExportFolder, TorchaoIsToldTheConfigurationOfItsWeights) {
  const Model source = load_model(model);
  const auto type_of = [&](const std::vector<std::string>& rules) {
    const std::string file = folder / "packed.safetensors";
    save_model(file, quantize_model(source, {{.rule = rules}}, std::nullopt).graph, source);
    export_folder(source, {.path = out, .layout = "torchao", .packed = file});
    const Json type = read_json_file(out + "/config.json")["quantization_config"]["quant_type"]["default"];
    std::filesystem::remove_all(out);
    return type;
  };
  const Json one = type_of({"op:linear=int4.g16.s=bf16"});
  EXPECT_EQ(one["_type"], "IntxWeightOnlyConfig");
  EXPECT_EQ(one["_data"]["weight_dtype"]["_data"], "int4");
  EXPECT_EQ(one["_data"]["granularity"]["_data"]["group_size"], 16);
  EXPECT_EQ(type_of({"op:linear=int8.channel"})["_type"], "Int8WeightOnlyConfig");
  const Json mixed = type_of({"op:linear=int8.channel", "attention=uint4.g16.asym"});
  EXPECT_EQ(mixed["_type"], "FqnToConfig");
  const Json& layers = mixed["_data"]["fqn_to_config"];
  EXPECT_EQ(layers["encoder.layer.0.output.dense"]["_type"], "Int8WeightOnlyConfig");
  EXPECT_EQ(layers["encoder.layer.1.attention.self.query"]["_data"]["mapping_type"]["_data"], "ASYMMETRIC");
}

TEST_F(ExportFolder, NamesOfTheFilesAreKept) {
  for (NamedTensor& weight : bert.weights) weight.name = "bert." + weight.name;
  bert.write(model);
  export_folder(load_model(model), {.path = out, .layout = "mxfp4"});
  EXPECT_TRUE(SafetensorsFile(out + "/model.safetensors").find("bert.embeddings.LayerNorm.bias"));
}

TEST_F(ExportFolder, WhatCannotBeWrittenLeavesNoFolder) {
  const Model source = load_model(model);
  const auto error = [&](const Model& from, FolderExport options) {
    options.path = out;
    const std::string text = error_of([&] { export_folder(from, options); });
    EXPECT_FALSE(std::filesystem::exists(out)) << text;
    return text;
  };
  EXPECT_THAT(error(source, {.layout = "gguf"}), HasSubstr("layout \"gguf\" is not known"));
  EXPECT_THAT(error(source, {.layout = "torchao", .packed = packed("mxint8")}), HasSubstr("torchao has no room for"));
  // Passes have folded the one token type that is used into a vector.
  EXPECT_THAT(error(load_model(packed("mxfp4")), {.layout = "mxfp4"}),
              AllOf(HasSubstr("token_type_embeddings"), HasSubstr("--packed")));
  const std::string linear = put_graph("linear.safetensors", R"(graph g {
    %x : f32[M,4] = input "x"
    return %x as "y"
  })");
  EXPECT_THAT(error(load_model(linear), {.layout = "mxfp4"}), HasSubstr("has no configuration"));
  std::filesystem::create_directories(out);
  EXPECT_THAT(error_of([&] { export_folder(source, {.path = out, .layout = "mxfp4"}); }),
              HasSubstr("is there already"));
}

// A cache of Hugging Face's: the files are links to blobs elsewhere, by other names.
TEST_F(ExportFolder, OfASnapshotOfLinksIsWrittenInsideTheFolderOnly) {
  const std::string blobs = folder / "blobs", snapshot = folder / "snapshots/1";
  std::filesystem::create_directories(blobs);
  std::filesystem::create_directories(snapshot + "/1_Pooling");
  int blob = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(model)) {
    if (!entry.is_regular_file()) continue;
    const std::string place = blobs + "/" + std::to_string(blob++);
    std::filesystem::copy_file(entry.path(), place);
    const std::string name = entry.path().lexically_relative(model).string();
    std::filesystem::create_symlink((name.find('/') == std::string::npos ? "../../" : "../../../") +
                                        ("blobs/" + std::filesystem::path(place).filename().string()),
                                    snapshot + "/" + name);
  }
  const size_t before = folder.entries();
  export_folder(load_model(snapshot), {.path = out, .layout = "mxfp4"});
  EXPECT_EQ(folder.entries(), before + 1) << "nothing but the folder";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) EXPECT_FALSE(entry.is_symlink());
  EXPECT_EQ(read_file(out + "/vocab.txt"), read_file(model + "/vocab.txt"));
  EXPECT_EQ(read_file(out + "/1_Pooling/config.json"), read_file(model + "/1_Pooling/config.json"));
}

TEST_F(ExportFolder, CarriedFilesOfOtherNamesAreRefused) {
  Model source = load_model(model);
  source.path = folder / "packed.safetensors";  // no folder: what rides along is in the file
  for (const std::string& name : {folder / "elsewhere", std::string("../elsewhere"), std::string(".hidden")}) {
    Model bad = source;
    bad.files[name] = "x";
    EXPECT_THAT(error_of([&] { export_folder(bad, {.path = out, .layout = "mxfp4"}); }), HasSubstr("no plain name"));
    EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

TEST_F(ExportFolder, ALinkInTheFoldersPlaceIsNotFollowed) {
  std::filesystem::create_symlink(folder / "elsewhere", out);
  EXPECT_THAT(error_of([&] { export_folder(load_model(model), {.path = out, .layout = "mxfp4"}); }),
              HasSubstr("is there already"));
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

TEST_F(ExportFolder, HiddenFilesStayBehind) {
  std::filesystem::create_directories(model + "/.cache");
  write_file(model + "/.cache/x.json", "{}");
  export_folder(load_model(model), {.path = out + "/", .layout = "mxfp4"});
  EXPECT_FALSE(std::filesystem::exists(out + "/.cache"));
  EXPECT_TRUE(std::filesystem::exists(out + "/config.json"));
}

}  // namespace
}  // namespace hone

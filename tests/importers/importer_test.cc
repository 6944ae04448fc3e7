// Which importer opens a path, and what is said where none does.
#include "importers/importer.h"

#include <gmock/gmock.h>

#include "base/registry.h"
#include "importers/registry.h"
#include "io/artefact.h"
#include "io/gguf/write_gguf.h"
#include "io/onnx/export_model.h"
#include "ops/registry.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Graph doubled() {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {2}});
  graph.add_output(graph.emit(ops::get("mul"), {x, graph.add_constant("two", Tensor::of<float>({2}, {2, 2}))}), "y");
  return graph;
}

class Importers : public testing::Test {
 protected:
  static std::string importer_of(const std::string& path) { return hone::importer_of(path).name; }
  std::string as_package(const std::string& name) {
    save_artefact(folder / name, doubled(), {{"config.json", "{}"}});
    return folder / name;
  }
  std::string as_onnx(const std::string& name) {
    export_onnx(doubled(), folder / name);
    return folder / name;
  }
  std::string error(const std::string& path, const ImportOptions& options = {}) {
    return error_of([&] { import_model(path, options); });
  }
  TemporaryFolder folder;
};

TEST_F(Importers, FilesAreRecognisedByWhatTheyHoldWhateverTheirNames) {
  EXPECT_EQ(importer_of(as_package("a.safetensors")), "package");
  EXPECT_EQ(importer_of(as_package("a")), "package");
  EXPECT_EQ(importer_of(as_package("a.onnx")), "package");
  EXPECT_EQ(importer_of(as_onnx("b.onnx")), "onnx");
  EXPECT_EQ(importer_of(as_onnx("b")), "onnx");
  const NamedTensor norm{"norm.weight", Tensor(DType::f32, {4})};
  write_gguf(folder / "c", {&norm, 1}, {{"general.architecture", "llama"}});
  EXPECT_EQ(importer_of(folder / "c"), "gguf");
  EXPECT_EQ(importer_of(folder.path()), "huggingface");
}

// What is wrong with them is said by the importer that they are named for.
TEST_F(Importers, DamagedFilesAreOfTheKindThatTheirNameSays) {
  EXPECT_EQ(importer_of(folder.put("a.onnx", "junk")), "onnx");
  EXPECT_EQ(importer_of(folder.put("a.safetensors", "")), "package");
  EXPECT_EQ(importer_of(folder.put("a.gguf", "junk")), "gguf");
}

TEST_F(Importers, WhatNoneRecognisesIsAnErrorWithWhatWasFoundAndWhatIsAccepted) {
  EXPECT_THAT(error(folder.put("notes", "to do\n")),
              AllOf(HasSubstr("notes: not a model that hone opens: a text file; give "), HasSubstr("config.json"),
                    HasSubstr("an .onnx file"), HasSubstr("a .safetensors file that hone wrote")));
  EXPECT_THAT(error(folder.put("zip", "PK\3\4")), HasSubstr("a zip archive"));
  EXPECT_THAT(error(folder.put("empty", "")), HasSubstr("nothing in it could be read"));
  EXPECT_THAT(error(folder.put("bytes", "\1\2\3")), HasSubstr("of no kind that is known"));
  EXPECT_THAT(error(folder / "absent"), HasSubstr("no such file or folder"));
}

TEST_F(Importers, PicklesAreRefusedByTheirNamesUnlessTheyHoldSomethingElse) {
  EXPECT_THAT(error(folder.put("m.pt", "\x80\2")), HasSubstr("a pickle, which runs code"));
  EXPECT_EQ(importer_of(as_package("m.bin")), "package");
}

TEST_F(Importers, AFormatDecidesAndIsOneOfTheTable) {
  EXPECT_THAT(error(as_package("a.safetensors"), {.format = "onnx"}), HasSubstr("a.safetensors"));
  EXPECT_EQ(import_model(folder / "a.safetensors", {.format = "package"}).importer, "package");
  EXPECT_THAT(error(folder / "a.safetensors", {.format = "onxx"}),
              AllOf(HasSubstr("no importer is called \"onxx\""), HasSubstr("Did you mean onnx?")));
}

TEST_F(Importers, AModelSaysWhereItCameFrom) {
  const std::string path = as_package("a.safetensors");
  const Model model = import_model(path);
  EXPECT_EQ(model.path, path);
  EXPECT_EQ(model.name, "a.safetensors");
  EXPECT_EQ(model.importer, "package");
  EXPECT_THAT(model.weight_files, testing::ElementsAre(path));
  EXPECT_EQ(model.file_bytes, static_cast<int64_t>(std::filesystem::file_size(path)));
  EXPECT_EQ(model.sha256().size(), 64u);
  EXPECT_EQ(model.files.config(path), Json::object());
}

TEST(ModelFiles, AreLookedAtByWhatTheyAreFor) {
  const ModelFiles files{{"config.json", "{\"a\": 1}"},
                         {"tokenizer.json", "{}"},
                         {"tokenizer_config.json", "{}"},
                         {"labels.txt", "yes\nno\n"}};
  EXPECT_THAT(files.tokenizer(),
              testing::ElementsAre(testing::Key("tokenizer.json"), testing::Key("tokenizer_config.json")));
  EXPECT_THAT(files.others(), testing::ElementsAre(testing::Key("labels.txt")));
  EXPECT_EQ(files.config("m")["a"], 1);
  EXPECT_TRUE(ModelFiles().config("m").is_null());
  EXPECT_TRUE((ModelFiles{{"tokenizer_config.json", "{}"}}).tokenizer().empty()) << "settings of nothing";
}

TEST(ImporterTable, EndingsSayWhichNamesAreThoseOfModels) {
  EXPECT_TRUE(has_model_ending("a/b.onnx"));
  EXPECT_TRUE(has_model_ending("b.safetensors"));
  EXPECT_FALSE(has_model_ending("resnet18"));
  EXPECT_FALSE(has_model_ending(""));
}

}  // namespace
}  // namespace hone

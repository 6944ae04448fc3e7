// Which exporter writes a path, and what every one of them promises.
#include "exporters/exporter.h"

#include <gmock/gmock.h>

#include "exporters/registry.h"
#include "ops/registry.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

Graph doubled() {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 2}});
  graph.add_output(graph.emit(ops::get("mul"), {x, graph.add_constant("two", Tensor::of<float>({2}, {2, 2}))}), "y");
  return graph;
}

TEST(Exporters, AreChosenByTheEnding) {
  EXPECT_EQ(exporter_for("a.safetensors").name, std::string("package"));
  EXPECT_EQ(exporter_for("a.onnx").name, std::string("onnx"));
  EXPECT_EQ(error_of([] { exporter_for("a.bin"); }), "a.bin: the output's name must end in .safetensors or .onnx");
}

TEST(Exporters, WriteWhatIsOpenedAgainInTheSizeThatTheySaid) {
  const NamedFiles files{{"config.json", "{}"}, {"labels.txt", "yes\nno\n"}};
  for (const ExporterDef* exporter : exporters::all()) {
    SCOPED_TRACE(exporter->name);
    const TemporaryFolder folder;
    const std::string path = folder / (std::string("m") + exporter->ending);
    const WrittenModel written = exporter->write(path, doubled(), files, {});
    ASSERT_THAT(written.files, testing::ElementsAre(path));
    if (exporter->bytes) {
      EXPECT_EQ(exporter->bytes(doubled(), files), static_cast<int64_t>(std::filesystem::file_size(path)));
    }
    const ReopenedModel read = reopen(*exporter, path);
    EXPECT_EQ(read.not_run, "");
    EXPECT_EQ(read.graph.inputs().size(), 1u);
    const Model model = import_model(path);
    for (const auto& [name, content] : files) EXPECT_EQ(model.files.contains(name), exporter->carries(name)) << name;
  }
}

}  // namespace
}  // namespace hone

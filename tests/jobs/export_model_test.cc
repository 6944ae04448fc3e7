// hone export: a model as ONNX, opened again, gives what it gave.
#include "views/export.h"

#include <algorithm>

#include "ops/evaluate.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/bound.h"

namespace hone {
namespace {

using testing::HasSubstr;

class ExportModel : public JobsTest {
 protected:
  std::map<std::string, Tensor> inputs() const {
    const std::vector<int64_t> ids{101, 7, 8, 102, 101, 9, 102, 0}, mask{1, 1, 1, 1, 1, 1, 1, 0};
    return {{"input_ids", Tensor::of<int64_t>({2, 4}, ids)}, {"attention_mask", Tensor::of<int64_t>({2, 4}, mask)}};
  }
  void expect_same_outputs(const std::string& source) const {
    const std::string file = folder / "m.onnx";
    const Model before = load_model(source);
    export_model(before, file, std::nullopt);
    const Model after = load_model(file);
    std::map<std::string, Tensor> given;
    for (const auto& [name, tensor] : inputs())
      if (std::ranges::any_of(before.graph.inputs(), [&](ValueId v) { return before.graph.value(v).label == name; }))
        given[name] = tensor;
    // Bounds carried through the nodes are NaN where scores are masked by -3e38. Embeddings have length 1: each node
    // rounds once, and no layer makes an error more than eight times as large.
    const double bound = 8 * static_cast<double>(after.graph.nodes().size()) * test::kEpsF32;
    const std::vector<Tensor> wanted = evaluate(before.graph, given), got = evaluate(after.graph, given);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(after.graph.outputs()[i].label, before.graph.outputs()[i].label);
      const std::vector<double> x = got[i].to_doubles(), y = wanted[i].to_doubles();
      ASSERT_EQ(x.size(), y.size());
      for (size_t e = 0; e < x.size(); ++e) EXPECT_NEAR(x[e], y[e], bound) << source;
    }
  }
};

TEST_F(ExportModel, AnEncoderGivesTheSameEmbeddings) { expect_same_outputs(model); }

TEST_F(ExportModel, SoDoesAQuantizedOne) {
  for (const char* format : {"mxint8", "int8", "int4.g32"}) expect_same_outputs(quantized(format));
}

TEST_F(ExportModel, TheRecordSaysHowFormatsWereWritten) {
  const std::string file = folder / "m.onnx";
  const Record record = view_of(export_model(load_model(quantized("int4.g32")), file));
  const Table* formats = find_block<Table>(record, "formats");
  ASSERT_TRUE(formats);
  EXPECT_EQ(std::get<std::string>(formats->rows.at(0)[0]), "int4.g32");
  EXPECT_EQ(std::get<std::string>(formats->rows.at(0)[1]), "int4, scale per 32 along axis 1");
  EXPECT_EQ(std::get<Number>(find_block<KeyValues>(record, "model")->items[0].value).value, 21);
  EXPECT_EQ(record.manifest.at(1).bytes, static_cast<int64_t>(std::filesystem::file_size(file)));
}

TEST_F(ExportModel, QuantizeWritesOnnxToo) {
  const Model source = load_model(model);
  QuantizeOptions options;
  options.to = "int8";
  const std::string file = folder / "q.onnx";
  const int64_t bytes = save_model(file, quantize_model(source, options, std::nullopt).graph, source).bytes;
  EXPECT_EQ(bytes, static_cast<int64_t>(std::filesystem::file_size(file)));
}

TEST_F(ExportModel, RefusesWhatItMustNotWrite) {
  const Model source = load_model(model);
  const auto error = [&](const std::string& path, std::optional<int> opset) {
    return test::error_of([&] { export_model(source, path, opset); });
  };
  EXPECT_THAT(error(folder / "m.bin", {}), HasSubstr("must end in .onnx"));
  EXPECT_THAT(error(folder / "m.onnx", 16), HasSubstr("opset 16 is not supported; accepted: 17 to 28"));
  EXPECT_THAT(error(folder / "none/m.onnx", {}), HasSubstr(folder / "none"));
  EXPECT_FALSE(std::filesystem::exists(folder / "m.onnx"));
  const std::string file = folder / "m.onnx";
  export_model(source, file, {});
  EXPECT_THAT(test::error_of([&] { export_model(load_model(file), file, {}); }), HasSubstr("is read as the original"));
}

}  // namespace
}  // namespace hone

// The table of a quantisation is of the file that was written, not of what was planned.
#include "jobs/quantize_model.h"

#include "jobs/info.h"
#include "measure/quality.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class QuantizeModel : public JobsTest {
 protected:
  Record write(const std::string& source, QuantizeOptions options, std::optional<Compute> compute = {}) const {
    return quantize_to_file(load_model(source), options, compute, file, "hone quantize");
  }
  std::string file = folder / "q.safetensors";
};

QuantizeOptions to(std::string format, std::vector<std::string> rules = {}) {
  QuantizeOptions options;
  options.to = std::move(format);
  options.rule = std::move(rules);
  return options;
}

TEST_F(QuantizeModel, EachRowIsWhatTheFileHolds) {
  const Record record = write(model, to("mxint8", {"layer\\.1\\.=mxfp4", "query=keep"}));
  const Graph before = canonicalise(load_model(model).graph), after = load_model(file).graph;
  const Table& table = table_of(record, "tensors");
  int packed = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::string name = text_of(cell(table, "name", row));
    const Tensor& old_values = *before.constant(before.find_constant(name));
    const Tensor& new_values = *after.constant(after.find_constant(name));
    EXPECT_EQ(value_of(cell(table, "bytes_before", row)), static_cast<double>(old_values.bytes())) << name;
    EXPECT_EQ(value_of(cell(table, "bytes_after", row)), static_cast<double>(new_values.bytes())) << name;
    if (!new_values.is_packed()) {
      EXPECT_TRUE(new_values.same_bits(old_values)) << name;
      EXPECT_TRUE(is_empty(cell(table, "sqnr_db", row))) << name;
      continue;
    }
    ++packed;
    EXPECT_EQ(text_of(cell(table, "after", row)), to_string(*new_values.format())) << name;
    EXPECT_EQ(value_of(cell(table, "sqnr_db", row)), compare(old_values.to_floats(), new_values.to_floats()).sqnr_db)
        << name;
  }
  // Two tables and six matrices a layer, without the two queries. The token types are one row by then: nothing to
  // quantise.
  EXPECT_EQ(packed, 2 + 2 * 6 - 2);
}

TEST_F(QuantizeModel, WeightsOfConvsAreShownAndComparedAsTheirMatrix) {
  const std::string source = put_graph("conv.safetensors", R"(
    %x : f32[1,2,4,4] = input
    %w : f32[1,2,2,1] = const "w" {1, 64, -0.5, 3}
    %y = conv %x, %w
    return %y)");
  const Record record = write(source, to("int8.channel"));
  const Table& table = table_of(record, "tensors");
  EXPECT_EQ(text_of(cell(table, "shape", 0)), "[1,4]");
  const Graph after = load_model(file).graph;
  const std::vector<float> columns{1, -0.5f, 64, 3};  // channels of a tap lie together
  EXPECT_EQ(value_of(cell(table, "sqnr_db", 0)),
            compare(columns, after.constant(after.find_constant("w"))->to_floats()).sqnr_db);
  EXPECT_GT(value_of(cell(table, "sqnr_db", 0)), 40);
}

TEST_F(QuantizeModel, TotalsAreTheSumsOfTheRowsAndOfInfo) {
  const Record record = write(model, to("mxint4"));
  const Table& table = table_of(record, "tensors");
  double before = 0, after = 0;
  for (const Cell& c : column(table, "bytes_before")) before += value_of(c);
  for (const Cell& c : column(table, "bytes_after")) after += value_of(c);
  EXPECT_EQ(value_of(item(record, "totals", "bytes_before")), before);
  EXPECT_EQ(value_of(item(record, "totals", "bytes_after")), after);
  EXPECT_EQ(value_of(item(record, "totals", "ratio")), after / before);
  const Record shown = info(load_model(file), ShapeOptions());
  EXPECT_EQ(value_of(item(record, "totals", "elements")), value_of(item(shown, "summary", "parameters")));
  EXPECT_EQ(value_of(item(shown, "summary", "weight_bytes")), after);
  EXPECT_DOUBLE_EQ(value_of(item(record, "totals", "average_bits")), value_of(item(shown, "summary", "average_bits")));
}

TEST_F(QuantizeModel, TheManifestIsOfBothFiles) {
  const Record record = write(model, to("mxint8"));
  ASSERT_EQ(record.manifest.size(), 2u);
  EXPECT_EQ(record.manifest[0].sha256, load_model(model).sha256());
  EXPECT_EQ(record.manifest[1].sha256, load_model(file).sha256());
  EXPECT_EQ(record.manifest[1].bytes, load_model(file).file_bytes);
}

TEST_F(QuantizeModel, ComputeIsStoredOnlyWhenItIsChosen) {
  write(model, to("mxint8"));
  EXPECT_FALSE(load_model(file).graph.metadata.contains("compute"));
  write(model, to("mxint8"), Compute::bf16);
  EXPECT_EQ(load_model(file).graph.metadata.at("compute"), "bf16");
}

// From the values of the first file, not of the original: the second loss adds to the first.
TEST_F(QuantizeModel, AFileCanBeQuantisedAgainInPlace) {
  write(model, to("mxint8"));
  const std::string name = "encoder.layer.0.output.dense.weight";
  const auto values = [&](const std::string& path) {
    const Graph graph = load_model(path).graph;
    return graph.constant(graph.find_constant(name))->to_floats();
  };
  const std::vector<float> eight = values(file);
  write(file, to("mxint4"));
  const Tensor again = pack(parse_format("mxint4"), Tensor::of<float>({32, 64}, eight));
  EXPECT_EQ(values(file), again.to_floats());
}

TEST_F(QuantizeModel, WeightsThatTheFormatHoldsExactlyAreExact) {
  for (float& v : bert.weight("encoder.layer.0.output.dense.weight").tensor.mutable_as<float>()) v = 0.5f;
  bert.write(model);
  const Record record = write(model, to("", {"layer\\.0\\.output\\.dense=mxint8"}));
  const Table& table = table_of(record, "tensors");
  int exact = 0;
  for (size_t row = 0; row < table.rows.size(); ++row)
    if (text_of(cell(table, "after", row)) == "mxint8") {
      EXPECT_EQ(text_of(cell(table, "sqnr_db", row)), "exact");
      ++exact;
    }
  EXPECT_EQ(exact, 1);
}

}  // namespace
}  // namespace hone

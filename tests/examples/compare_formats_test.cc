// Formats of an encoder on a task: every figure is of the file that was written.
#include "examples/demo/compare_formats.h"

#include "base/hash.h"
#include "examples/demo/neighbours.h"
#include "jobs/sentences.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class CompareFormats : public JobsTest {
 protected:
  CompareFormatsOptions options() const {
    ProbeResult cold, warm;
    cold.compile_ms = 40, warm.compile_ms = 0.5, warm.peak_bytes = 1 << 20;
    CompareFormatsOptions result;
    result.model = model;
    result.runs = {{"f32", Compute::f32}, {"mxint8", Compute::f32}, {"mxint4", Compute::bf16}};
    result.task = debian_sections(packages(), "packages", 12, 8, 1);
    result.folder = folder / "files";
    result.program = put_probed_program(cold, warm);
    result.seconds = 0.1;
    result.session.cache_folder = folder / "machine_code";  // each model is set up twenty times
    return result;
  }
  static std::string packages() {
    std::string text;
    for (int i = 0; i < 30; ++i)
      text += fmt::format("Package: p{}\nSection: {}\nDescription: {} {}\n\n", i, i % 3 ? "admin" : "net",
                          i % 3 ? "birds and dogs" : "the cat", i);
    return text;
  }
};

TEST_F(CompareFormats, RowsAreOfTheFilesThatWereWritten) {
  const CompareFormatsOptions given = options();
  const Record record = compare_formats(given);
  const Table& table = table_of(record, "results");
  ASSERT_EQ(table.rows.size(), 3u);
  ASSERT_EQ(record.manifest.size(), 4u);
  for (size_t row = 0; row < 3; ++row) {
    const ManifestEntry& written = record.manifest[row + 1];
    EXPECT_EQ(text_of(cell(table, "format", row)), given.runs[row].format);
    EXPECT_EQ(value_of(cell(table, "file_bytes", row)), static_cast<double>(std::filesystem::file_size(written.path)));
    EXPECT_EQ(written.sha256, sha256_of_file(written.path));
    SentenceEncoder encoder(load_model(written.path), SessionOptions());  // computes as it was stored
    EXPECT_EQ(encoder.session().compute(), given.runs[row].compute);
    const NeighbourResult result =
        classify_by_neighbours(encoder.embed(given.task.index.texts), given.task.index.labels,
                               encoder.embed(given.task.queries.texts), given.task.queries.labels);
    EXPECT_EQ(value_of(cell(table, "accuracy", row)), result.accuracy);
    EXPECT_EQ(value_of(cell(table, "compile_cold_ms", row)), 40);
    EXPECT_EQ(value_of(cell(table, "compile_warm_ms", row)), 0.5);
  }
  EXPECT_EQ(value_of(cell(table, "agreement", 0)), 1);
  EXPECT_NEAR(value_of(cell(table, "cosine", 0)), 1, 1e-12);
  EXPECT_LT(value_of(cell(table, "cosine", 2)), value_of(cell(table, "cosine", 1)));
  EXPECT_EQ(text_of(item(record, "task", "sha256")), given.task.sha256);
  EXPECT_EQ(record.findings.size(), 2u);
  EXPECT_NE(find_block<ScatterPlot>(record, "size_accuracy"), nullptr);
}

TEST_F(CompareFormats, EveryPackedTensorHasABar) {
  const Record record = compare_formats(options());
  const BarChart* bars = find_block<BarChart>(record, "sqnr_mxint8");
  ASSERT_NE(bars, nullptr);
  EXPECT_EQ(bars->bars.size(), 2u + 2 * 6);  // words, positions, six matrices a layer
  EXPECT_EQ(find_block<BarChart>(record, "sqnr_f32"), nullptr);
  for (const Bar& bar : bars->bars) EXPECT_EQ(bar.group, "mxint8");
}

TEST_F(CompareFormats, WrongFormatsAreRefused) {
  CompareFormatsOptions wrong = options();
  wrong.runs = {{"f32", Compute::f32}, {"mxint9", Compute::f32}};
  EXPECT_THAT(error_of([&] { compare_formats(wrong); }), testing::HasSubstr("mxint9"));
  wrong.runs.clear();
  EXPECT_THAT(error_of([&] { compare_formats(wrong); }), testing::HasSubstr("no formats"));
}

}  // namespace
}  // namespace hone

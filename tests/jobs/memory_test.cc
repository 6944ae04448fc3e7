// The account of a model's memory: what its items are, and that they add up to what was measured.
#include "views/memory.h"

#include "jobs/build_model.h"
#include "measure/memory.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A run of 200 MB, whatever is run.
ProbeResult some_run() {
  ProbeResult r;
  r.empty_bytes = 50 << 20, r.resident_bytes = 190 << 20, r.peak_bytes = 200 << 20, r.anonymous_bytes = 120 << 20;
  r.model_page_bytes = 30 << 20, r.weight_bytes = 100 << 20, r.largest_tensor_bytes = 8 << 20;
  r.prepacked_bytes = 90 << 20, r.arena_bytes = 5 << 20, r.scratch_bytes = 1 << 20;
  return r;
}

class MemoryJob : public JobsTest {
 protected:
  Record account(std::vector<std::string> to, std::vector<std::string> skip = {}) {
    return view_of(memory(load_model(model), asked(std::move(to), std::move(skip)), lent()));
  }
  static MemoryOptions asked(std::vector<std::string> to, std::vector<std::string> skip = {}) {
    MemoryOptions options;
    options.to = std::move(to), options.skip = std::move(skip), options.seq = 8;
    return options;
  }
  TaskContext lent() const { return {.new_process = starts(put_probed_program(ProbeResult(), some_run()))}; }
};

// Hidden 32, two layers; 12 matrices of 32x32 and 32x64, tables of 244 and 64 rows; of
// two token types the first is a constant vector in the end.
TEST_F(MemoryJob, WeightsAreCountedByWhatTheyAreFor) {
  const Record record = account({"mxint8"}, {"layer.1.output.dense"});
  const Table& stored = table_of(record, "stored");
  std::map<std::string, std::vector<double>> rows;
  for (const auto& row : stored.rows) rows[text_of(row[0])] = {value_of(row[1]), value_of(row[2]), value_of(row[3])};
  const double matrices = 2 * (4 * 32 * 32 + 2 * 32 * 64), kept = 64 * 32;
  using Bytes = std::vector<double>;
  EXPECT_EQ(rows.at("weights of layers, packed"),
            (Bytes{(matrices - kept) * 4, (matrices - kept) * 33 / 32, (matrices - kept) * 33 / 32}));
  EXPECT_EQ(rows.at("weights of layers that are kept"), Bytes(3, kept * 4));
  EXPECT_EQ(rows.at("tables of tokens"), (Bytes{244 * 32 * 4, 244 * 32 * 4, 244 * 33}));
  EXPECT_EQ(rows.at("tables of positions"), (Bytes{64 * 32 * 4, 64 * 32 * 4, 64 * 33}));
  EXPECT_EQ(rows.at("normalisations"), Bytes(3, 5 * 2 * 32 * 4));
  EXPECT_EQ(rows.at("biases"), Bytes(3, 2 * (5 * 32 + 64) * 4));
  const Table& summary = table_of(record, "memory");
  EXPECT_DOUBLE_EQ(value_of(cell(summary, "promised", 1)), 1 - 8.25 / 32);
  EXPECT_DOUBLE_EQ(value_of(cell(summary, "packed_saving", 2)), 1 - 8.25 / 32);
  EXPECT_EQ(value_of(cell(summary, "weight_bytes", 0)), rows.at("all")[0]);
}

TEST_F(MemoryJob, ItemsAddUpToThePeak) {
  const Record record = account({"mxint8", "mxfp4"});
  const Table& running = table_of(record, "running");
  ASSERT_EQ(running.columns.size(), 6u);  // the item, the original, and two of each format
  for (size_t column = 1; column < running.columns.size(); ++column) {
    double sum = 0;
    for (size_t row = 0; row + 1 < running.rows.size(); ++row) sum += value_of(running.rows[row][column]);
    EXPECT_EQ(sum, 200 << 20);
    EXPECT_EQ(value_of(running.rows.back()[column]), 200 << 20);
  }
}

TEST_F(MemoryJob, WhatIsMissingAddsUpToTheoryLessMeasurement) {
  const Record record = account({"mxint8", "mxfp4"});
  const Table& missing = table_of(record, "missing");
  for (size_t column = 1; column < missing.columns.size(); ++column) {
    double sum = 0;
    for (size_t row = 0; row + 1 < missing.rows.size(); ++row) sum += value_of(missing.rows[row][column]);
    // The stand-in takes as much for every model, so nothing is saved.
    EXPECT_NEAR(sum, 1 - (column < 3 ? 8.25 : 4.25) / 32, 1e-12);
    EXPECT_NEAR(value_of(missing.rows.back()[column]), sum, 1e-12);
  }
}

TEST_F(MemoryJob, TheLimitIsSaidToHoldOrNot) {
  EXPECT_THAT(account({"mxint8"}).findings.at(0), HasSubstr("ABOVE the limit"));  // 140 MB against 100 + 5 + 10.5
  EXPECT_DOUBLE_EQ(value_of(cell(table_of(account({"mxint8"}), "memory"), "limit", 1)), (105 << 20) * 1.1);
}

TEST_F(MemoryJob, AModelWithoutTablesHasOneRowForEachFormat) {
  const std::string file = folder / "mlp.safetensors";
  build_to_file({.model = "mlp"}, file);
  MemoryOptions options;
  options.to = {"mxint8"};
  EXPECT_EQ(memory(load_model(file), options, lent()).accounts.size(), 2u);
}

TEST_F(MemoryJob, WhatCannotBeComparedIsAnError) {
  EXPECT_THAT(error_of([&] { account({"mxint8"}, {"weight"}); }), HasSubstr("nothing in it is packed"));
  EXPECT_THAT(error_of([&] { account({"mxint9"}); }), HasSubstr("mxint9"));
}

TEST_F(MemoryJob, WithoutProcessesOnlyWhatIsStoredIsKnown) {
  const MemoryResult result = memory(load_model(model), asked({"mxint8"}));
  ASSERT_EQ(result.accounts.size(), 3u);
  EXPECT_FALSE(result.accounts[0].run);
  EXPECT_LT(result.accounts[2].all_stored(), result.accounts[0].all_stored());
  const Record record = view_of(result);
  EXPECT_EQ(find_block<Table>(record, "memory"), nullptr);
  EXPECT_EQ(table_of(record, "stored").rows.size(), kWeightParts + 1);
}

// 9.4 M weights in layers: 38 MB as f32, 19 MB as bf16, 9.8 MB packed.
TEST_F(MemoryJob, NoDecodedCopyOfAWeightExists) {
  const Model source = build_model({.model = "deberta-v3-small",
                                    .set = {{"hidden_size", "512"},
                                            {"num_hidden_layers", "3"},
                                            {"num_attention_heads", "8"},
                                            {"intermediate_size", "2048"},
                                            {"vocab_size", "4000"}}});
  const std::string file = folder / "packed.safetensors";
  const QuantizedModel quantized = quantize_model(source, {{.to = "mxint8"}}, Compute::bf16);
  int64_t weights = 0;
  for (const QuantizedTensor& t : quantized.tensors) weights += t.bytes_after;
  save_model(file, quantized.graph, source);
  const auto run = [&] {
    Session session(load_model(file).graph, {.cache_folder = folder / "cache"});
    session.run(default_inputs(session.graph(), bind_symbols(session.graph(), {.sequence = 16}), 1));
    EXPECT_LE(session.statistics().prepacked_bytes + session.statistics().direct_weight_bytes, weights * 1005 / 1000);
    const int64_t used = memory_use().anonymous_bytes - session.statistics().arena_bytes;
    return used;
  };
  run();  // what the compiler and the allocator take the first time
  const bool permitted = reset_peak();
  const MemoryUse before = memory_use();
  EXPECT_LE(run() - before.anonymous_bytes, weights + weights / 10);
  if (permitted) {
    EXPECT_LE(memory_use().peak_bytes - before.resident_bytes, 2 * weights) << "pages of the file, then panels of them";
  }
}

}  // namespace
}  // namespace hone

// Tasks on models, from values to typed results.
#include <hone/allocate.h>
#include <hone/bench.h>
#include <hone/prune.h>
#include <hone/quantize.h>
#include <hone/search.h>
#include <hone/sweep.h>

#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/api/error_of.h"

namespace {

using api_test::error_of;
using testing::HasSubstr;

hone::Model product(const std::string& op) {
  return hone::Model(hone::Graph::parse("graph g {\n  %x : f32[8,8] = input \"x\"\n  %y = " + op +
                                        " %x, %x\n  return %y as \"y\"\n}"));
}

// y = x W', with W of 32 rows and columns.
hone::Model linear() {
  std::string values;
  for (int i = 0; i < 32 * 32; ++i) values += (i ? "," : "") + std::to_string(std::sin(i * 0.7) + 0.01);
  return hone::Model(hone::Graph::parse("graph g {\n  %x : f32[B,32] = input \"x\"\n  %w : f32[32,32] = const \"w\" {" +
                                        values + "}\n  %y = linear %x, %w\n  return %y as \"y\"\n}"));
}

// A folder with an array f32[16,32], as NumPy writes it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hone_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 32), }";
    header.resize(117, ' ');
    header += '\n';
    std::ofstream file(data(), std::ios::binary);
    file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0' << header;
    for (int i = 0; i < 16 * 32; ++i) {
      const float value = std::cos(static_cast<float>(i) * 0.3f);
      file.write(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string data() const { return file("x.npy"); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(ApiPrune, TakesOutAShareAndGivesTheModel) {
  hone::PruneOptions options;
  options.sparsity = 0.25;
  const hone::PruneResult result = hone::prune(linear(), options);
  ASSERT_EQ(result.parts.size(), 1u);
  EXPECT_EQ(result.parts[0].all, 1024);
  EXPECT_EQ(result.parts[0].gone, 256);
  EXPECT_LT(result.sparse_bytes, result.whole_bytes);
  EXPECT_FALSE(result.is_smaller);
  options.method = "l3";
  EXPECT_THAT(error_of([&] { hone::prune(linear(), options); }), HasSubstr("l3"));
}

TEST(ApiSweep, MeasuresEachVariantBesideTheOriginal) {
  const Folder folder;
  hone::SweepOptions options;
  options.data = folder.data();
  EXPECT_THAT(error_of([&] { hone::sweep(linear(), options); }), HasSubstr("formats or over sparsities"));
  options.formats = {"int{4,8}"};
  const hone::SweepResult formats = hone::sweep(linear(), options);
  ASSERT_EQ(formats.variants.size(), 2u);
  EXPECT_EQ(formats.variants[1].format, "int8");
  EXPECT_LT(formats.variants[1].held_out.error, formats.variants[0].held_out.error);
  EXPECT_EQ(formats.best, 1u);
  EXPECT_EQ(formats.metric, "");
  EXPECT_EQ(formats.original->average_bits, 32);
  options.formats.clear();
  options.sparsity = "0.25,0.5";
  options.measurements = folder.file("measured.txt");
  const hone::SweepResult pruned = hone::sweep(linear(), options);
  ASSERT_EQ(pruned.variants.size(), 2u);
  EXPECT_EQ(pruned.variants[1].method, "l1");
  EXPECT_EQ(pruned.variants[1].sparsity, 0.5);
  EXPECT_GT(pruned.variants[1].held_out.error, pruned.variants[0].held_out.error);
  EXPECT_EQ(hone::sweep(linear(), options).recalled, 2);
}

TEST(ApiAllocate, ThePlanIsWhatQuantizeTakes) {
  const Folder folder;
  hone::AllocateOptions options;
  options.formats = {"mxint4", "mxint8"};
  options.budget = "avg-bits=8.25";
  options.method = "nearest";
  options.calib = folder.data();
  options.calib_batch = 4;
  const hone::AllocateResult result = hone::allocate(linear(), options);
  ASSERT_EQ(result.tensors.size(), 1u);
  EXPECT_EQ(result.tensors[0].format, "mxint8");
  EXPECT_EQ(result.uniform.size(), 2u);
  hone::QuantizeOptions plan;
  plan.rule = result.rule, plan.method = result.method;
  const hone::QuantizeResult quantized = hone::quantize(linear(), plan);
  ASSERT_EQ(quantized.tensors.size(), 1u);
  EXPECT_EQ(quantized.tensors[0].after, "mxint8");
  EXPECT_EQ(quantized.weight_bytes_after, result.chosen.bytes);
  options.budget = "avg-bits=1";
  EXPECT_THAT(error_of([&] { hone::allocate(linear(), options); }), HasSubstr("no choice of formats meets"));
}

TEST(ApiSearch, ItsStudiesAreKeptAndOpenedAgain) {
  const Folder folder;
  linear().save(folder.file("net.safetensors"));
  hone::SearchOptions options;
  options.model = folder.file("net.safetensors");
  options.space = folder.file("space.toml");
  std::ofstream(options.space) << "[parameters]\n\"quantize.to\" = [\"int4\", \"int8\"]\n";
  options.objective = {"bits"};
  options.sampler = "grid";
  options.trials = 2;
  options.storage = folder.file("study.log");
  options.study = "widths";
  const hone::SearchResult result = hone::search(options);
  ASSERT_EQ(result.studies.size(), 1u);
  const hone::Study& study = result.studies[0];
  ASSERT_EQ(study.trials.size(), 2u);
  ASSERT_FALSE(study.best.empty());
  const hone::StudyTrial& best = study.trials[static_cast<size_t>(study.best[0])];
  EXPECT_EQ(best.parameters.at("quantize.to"), "int4");
  EXPECT_EQ(best.values[0], best.figures.at("bits"));
  ASSERT_EQ(hone::list_studies(options.storage).size(), 1u);
  const hone::Study again = hone::open_study(options.storage);
  EXPECT_EQ(again.name, study.name);
  EXPECT_EQ(again.best, study.best);
  EXPECT_EQ(again.directions, std::vector<std::string>{"MINIMIZE"});
  hone::delete_study(options.storage, study.name);
  EXPECT_TRUE(hone::list_studies(options.storage).empty());
  EXPECT_NE(error_of([&] { hone::open_study(options.storage, "widths"); }), "");
  options.objective = {"bitz"};
  EXPECT_THAT(error_of([&] { hone::search(options); }), HasSubstr("bits"));
}

TEST(ApiBench, TimesModelsInTurnAndComparesThemWithTheFirst) {
  hone::BenchOptions options;
  options.seconds = 0.05;
  options.no_cache = true;
  const hone::BenchResult result = hone::bench({product("matmul"), product("matmul")}, options);
  ASSERT_EQ(result.models.size(), 2u);
  EXPECT_FALSE(result.models[0].comparison);
  ASSERT_TRUE(result.models[1].comparison);
  EXPECT_TRUE(result.models[1].comparison->may_claim);
  EXPECT_GT(result.models[0].median_ns, 0);
  EXPECT_EQ(result.models[0].samples_ns.size(), result.models[1].samples_ns.size());
}

TEST(ApiTasks, WithoutModelsOrDataTheyAreRefused) {
  EXPECT_THAT(error_of([] { hone::bench({}, {}); }), HasSubstr("no model"));
  EXPECT_THAT(error_of([] { hone::evaluate({}, {}); }), HasSubstr("no model"));
  EXPECT_NE(error_of([] { hone::evaluate({product("add")}, {}); }), "");
  EXPECT_NE(error_of([] { hone::train(product("add"), {}); }), "");
  hone::BenchOptions options;
  options.seconds = -1;
  EXPECT_THAT(error_of([&] { hone::bench({product("add")}, options); }), HasSubstr("seconds"));
}

TEST(ApiTasks, ACancelledOneEnds) {
  EXPECT_THROW(hone::bench({product("add")}, {}, {.cancelled = [] { return true; }}), hone::Cancelled);
}

}  // namespace

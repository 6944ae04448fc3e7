// hone prune on a tiny encoder: what is written, schedules with training between, and refusals before anything is
// written.
#include "jobs/prune_model.h"

#include "jobs/prune_sweep.h"
#include "tests/jobs/file_training.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "views/prune.h"
#include "views/prune_sweep.h"

namespace hone {
namespace {

using test::error_of;
using test::FileTraining;
using test::train_file;
using testing::Contains;
using testing::HasSubstr;

class PruneModelTest : public JobsTest {
 protected:
  // A classifier that was trained a little.
  std::string put_classifier() const {
    FileTraining options;
    options.model = model;
    options.data = put_texts({.splits = false});
    options.output = folder / "classifier.safetensors";
    options.training.epochs = 2;
    options.training.batch = 16;
    options.training.rate = 5e-3;
    train_file(options);
    return options.output;
  }

  PruneModelOptions options(PruneOptions prune) const {
    PruneModelOptions all;
    all.prune = std::move(prune);
    return all;
  }

  // Pruned and written, and its record.
  Record pruned(const Model& original, const PruneModelOptions& options) const {
    const PrunedModel result = prune_model(original, options);
    return view_of(result, original, output, save_pruned(output, result, original));
  }

  std::string output = folder / "pruned.safetensors";
  Graph written() const { return load_model(output).graph; }
};

double zeros(const Graph& graph, const std::string& label) {
  const std::vector<float> values = graph.constant(graph.find_constant(label))->to_floats();
  return static_cast<double>(std::ranges::count(values, 0.0f)) / static_cast<double>(values.size());
}

TEST_F(PruneModelTest, SparseWeightsAreSaidToBeNoFaster) {
  const Record record = pruned(load_model(model), options({.sparsity = 0.75}));
  EXPECT_THAT(record.findings, Contains(HasSubstr("(75.00 %)")));
  EXPECT_THAT(record.findings, Contains(HasSubstr("As a bitmap and the values that are left")));
  EXPECT_THAT(record.findings, Contains(HasSubstr("Kernels multiply by zeros, too")));
  EXPECT_EQ(zeros(written(), "encoder.layer.0.output.dense.weight"), 0.75);
  EXPECT_EQ(table_of(record, "pruned").rows.size(), 12);
}

TEST_F(PruneModelTest, NamesWeightsThatItPassesOver) {
  const Record record = pruned(load_model(put_graph("sliced.safetensors", kSliced)), options({.sparsity = 0.5}));
  EXPECT_THAT(record.findings, Contains("1 weight stays unpruned: pair [4,2] (linear reads it behind slice)"));
}

TEST_F(PruneModelTest, StructuresMakeTheModelSmaller) {
  const int64_t before = sizes(canonicalise(load_model(model).graph)).parameters;
  for (const char* structure : {"heads", "neurons", "layers"}) {
    SCOPED_TRACE(structure);
    const Record record = pruned(load_model(model), options({.sparsity = 0.5, .structure = structure}));
    EXPECT_LT(sizes(written()).parameters, before);
    EXPECT_THAT(record.findings, Contains(HasSubstr("the model is smaller, and computes less")));
  }
  EXPECT_THAT(
      error_of([&] { prune_model(load_model(model), options({.structure = "channels", .rule = {"output.dense"}})); }),
      HasSubstr("embedding"));
}

TEST_F(PruneModelTest, ScoresByDataNeedThemAndLabelsWhereTheyFollowALoss) {
  const Model loaded = load_model(model);
  EXPECT_THAT(error_of([&] { prune_model(loaded, options({.method = "wanda"})); }), HasSubstr("give --data FILE"));
  EXPECT_THAT(error_of([&] { prune_model(loaded, options({.method = "snip"})); }), HasSubstr("with labels"));
  PruneModelOptions texts = options({.method = "snip"});
  texts.data.file = folder.put("plain.txt", "the hot house\nand that with\n");
  EXPECT_THAT(error_of([&] { prune_model(loaded, texts); }), HasSubstr("needs data with labels"));
  for (const char* method : {"wanda", "sparsegpt"}) {
    texts.prune.method = method;
    pruned(loaded, texts);
    EXPECT_NEAR(zeros(written(), "encoder.layer.0.output.dense.weight"), 0.5, 1e-9);
  }
  const Model classifier = load_model(put_classifier());
  for (const char* method : {"snip", "movement"}) {
    PruneModelOptions labelled = options({.method = method, .structure = "heads"});
    labelled.data.file = folder / "texts.csv";
    pruned(classifier, labelled);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "pruned.run"));
}

TEST_F(PruneModelTest, SchedulesTrainBetweenTheirStagesAndZerosStay) {
  const Model classifier = load_model(put_classifier());
  PruneModelOptions staged = options({.sparsity = 0.8, .rule = {"dense"}});
  staged.data.file = folder / "texts.csv";
  staged.train_config = folder.put("train.toml", "epochs = 1\nbatch = 16\nrate = 1e-3\n");
  staged.schedule.stages = 2;
  for (const char* schedule : {"gradual", "iterative"}) {
    SCOPED_TRACE(schedule);
    staged.schedule.schedule = schedule;
    const Record record = pruned(classifier, staged);
    EXPECT_NEAR(zeros(written(), "encoder.layer.0.output.dense.weight"), 0.8, 1e-3);
    EXPECT_EQ(zeros(written(), "encoder.layer.0.attention.self.query.weight"), 0);
    EXPECT_EQ(
        std::ranges::count_if(record.findings, [](const std::string& f) { return f.find("trained on") != f.npos; }), 2);
  }
  staged.prune = {.sparsity = 0.5, .structure = "neurons"};
  staged.schedule.schedule = "gradual";
  pruned(classifier, staged);
  EXPECT_EQ(written().constant(written().find_constant("encoder.layer.0.intermediate.dense.weight"))->dim(0), 32);
}

TEST_F(PruneModelTest, ASweepHasACurveForEachMethodAndRemembersIt) {
  std::string texts;
  for (int i = 0; i < 12; ++i) texts += fmt::format("the hot house {} and that\n", i % 2 == 0 ? "with" : "were");
  PruneSweepOptions options{.sparsities = parse_sparsities("0:0.6:0.3"),
                            .methods = {"random", "l1"},
                            .data = {.file = folder.put("texts.txt", texts)},
                            .measurements = folder / "measurements.txt"};
  const Model original = load_model(model);
  const PruneSweep sweep = sweep_pruning(original, options);
  ASSERT_EQ(sweep.prunings.size(), 6);
  EXPECT_EQ(sweep.prunings[0].held_out.error, 0) << "nothing went";
  EXPECT_LT(sweep.prunings[4].held_out.error, sweep.prunings[5].held_out.error);
  EXPECT_LT(sweep.prunings[5].sparse_bytes, sweep.prunings[4].sparse_bytes);
  EXPECT_FALSE(sweep.original_trained);
  const Record record = view_of(sweep, folder / "sweep");
  EXPECT_EQ(table_of(record, "sweep").rows.size(), 6);
  EXPECT_EQ(find_block<LinePlot>(record, "curves")->lines.size(), 2);
  EXPECT_THAT(record.findings, Contains(HasSubstr("nothing was trained after pruning")));
  const PruneSweep again = sweep_pruning(original, options);
  EXPECT_EQ(again.measured, 0);
  EXPECT_EQ(again.prunings[5].held_out.error, sweep.prunings[5].held_out.error);
  options.methods = {"wanda"};
  EXPECT_THAT(error_of([&] { sweep_pruning(original, options); }), HasSubstr("give --calib FILE"));
}

TEST_F(PruneModelTest, ASweepTrainsWhatIsLeftBesidePruningAlone) {
  const Model original = load_model(put_classifier());
  PruneSweepOptions options{.sparsities = {0.3, 0.8}, .methods = {"random"}};
  options.measurements = folder / "measurements.txt";
  options.data.file = options.judged.data.path = put_texts({.rows = 128});
  const PruneSweep alone = sweep_pruning(original, options);
  options.training.emplace();
  options.training->data = options.data.file;
  options.training->training.head = "keep";
  options.training->training.epochs = 4;
  options.training->training.rate = 5e-3;
  const PruneSweep sweep = sweep_pruning(original, options);
  ASSERT_EQ(sweep.prunings.size(), 4);
  EXPECT_EQ(sweep.measured, 3) << "what was pruned alone is remembered";
  for (size_t i = 0; i < 4; i += 2) {
    const SweptPruning &pruned = sweep.prunings[i], &trained = sweep.prunings[i + 1];
    EXPECT_FALSE(pruned.trained);
    EXPECT_TRUE(trained.trained);
    EXPECT_EQ(pruned.sparsity, trained.sparsity);
    EXPECT_EQ(pruned.held_out.error, alone.prunings[i / 2].held_out.error);
    EXPECT_EQ(pruned.sparse_bytes, trained.sparse_bytes) << "zeros stay";
  }
  EXPECT_GT(sweep.prunings[3].held_out.figure->value, sweep.prunings[2].held_out.figure->value);

  const Record record = view_of(sweep, folder / "sweep");
  const LinePlot& curves = *find_block<LinePlot>(record, "curves");
  ASSERT_EQ(curves.lines.size(), 2);
  EXPECT_EQ(curves.lines[0].label, "random");
  EXPECT_EQ(curves.lines[1].label, "random, trained");
  EXPECT_EQ(curves.lines[1].points[1].second, sweep.prunings[3].held_out.figure->value);
  const Table& table = table_of(record, "sweep");
  ASSERT_EQ(table.rows.size(), 6);
  EXPECT_EQ(text_of(cell(table, "how", 2)), "pruned");
  EXPECT_EQ(text_of(cell(table, "how", 3)), "trained");
  EXPECT_EQ(text_of(cell(table, "method", 5)), "the original");
  EXPECT_THAT(record.findings[0], HasSubstr("trained as long without pruning"));
  EXPECT_THAT(csv(sweep), HasSubstr("random,0.8,trained,"));
}

TEST(Sparsities, AreListsAndRanges) {
  EXPECT_EQ(parse_sparsities("0.1:0.3"), (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(parse_sparsities("0.5,0.9"), (std::vector<double>{0.5, 0.9}));
  EXPECT_EQ(parse_sparsities("0.5:0.6:0.05,0.75").size(), 4);
  for (const char* wrong : {"", "1", "0.1:1", "0.9:0.1", "0.1:0.9:0", "0.1:0.2:0.1:0.1", "0:0.9:0.0000001", "nan", "x"})
    EXPECT_THAT(error_of([&] { parse_sparsities(wrong); }), HasSubstr("sparsity")) << wrong;
}

TEST_F(PruneModelTest, RefusesSchedulesThatCanNotBe) {
  const Model loaded = load_model(model);
  const auto error = [&](const PruneModelOptions& o) { return error_of([&] { prune_model(loaded, o); }); };
  PruneModelOptions o = options({});
  o.schedule.schedule = "gradul";
  EXPECT_THAT(error(o), HasSubstr("Did you mean gradual"));
  o.schedule.schedule = "gradual";
  EXPECT_THAT(error(o), HasSubstr("--train-config FILE"));
  o.train_config = folder.put("train.toml", "epochs = 1\n");
  EXPECT_THAT(error(o), HasSubstr("nothing to train on"));
  o.schedule.stages = 0;
  EXPECT_THAT(error(o), HasSubstr("stages are 0"));
  o.schedule = {.schedule = "iterative"};
  o.prune.structure = "heads";
  EXPECT_THAT(error(o), HasSubstr("take gradual"));
  o = options({});
  o.store = "spare";
  EXPECT_THAT(error(o), HasSubstr("Did you mean sparse"));
  EXPECT_THAT(error_of([&] { check_storage(o, folder / "pruned.bin"); }),
              HasSubstr("must end in .safetensors or .onnx"));
  o.store = "sparse";
  EXPECT_THAT(error_of([&] { check_storage(o, folder / "pruned.onnx"); }), HasSubstr("ONNX has all elements"));
}

}  // namespace
}  // namespace hone

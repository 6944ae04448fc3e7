// Judging models: figures that can be counted by hand, on graphs whose answers are known.
#include "jobs/image_inputs.h"
#include "views/evaluation.h"
#include "views/format_sweep.h"

#include "io/artefact.h"
#include "io/numpy.h"
#include "jobs/format_sweep.h"
#include "jobs/max_drop.h"
#include "jobs/save_model.h"
#include "jobs/score_command.h"
#include "ops/registry.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

constexpr int64_t kWords = 244, kHot = 163;  // of tests/data/tokenizer/vocab.txt, and the place of "hot" in it

class EvaluateTest : public JobsTest {
 protected:
  // Class 1 for texts with the word "hot", of logits 1 to 0.5; class 0 for others, of 0.5 to 0. `wrong_from`: from that
  // word on, rows of the table are class 1 too.
  std::string put_classifier(const std::string& name, int64_t wrong_from = kWords,
                             const char* output = "logits") const {
    std::vector<float> table;
    for (int64_t word = 0; word < kWords; ++word)
      table.insert(table.end(), {0.5f, word == kHot || word >= wrong_from ? 1.0f : 0.0f});
    Graph graph;
    const ValueId ids =
        graph.add_input("input_ids", {.dtype = DType::i64, .shape = {Dim::symbol("B"), Dim::symbol("S")}});
    const ValueId words = graph.add_constant("table", Tensor::of<float>({kWords, 2}, table));
    Attributes axes;
    axes.set("axes", std::vector<int64_t>{1});
    axes.set("keepdims", int64_t{0});
    const ValueId rows = graph.emit(ops::get("gather"), {words, ids});
    graph.add_output(graph.emit(ops::get("reduce_max"), {rows}, axes), output);
    return put_with_tokenizer(name, graph);
  }
  std::string put_with_tokenizer(const std::string& name, const Graph& graph, const std::string& config = "") const {
    std::map<std::string, std::string> files{{"vocab.txt", bert.vocabulary}};
    if (!config.empty()) files["config.json"] = config;
    save_artefact(folder / name, graph, files);
    return folder / name;
  }
  // Texts of both classes, of which `wrong` have the other's label.
  std::string put_reviews(int rows, int wrong, const std::string& hot = "warm",
                          const std::string& cold = "cold") const {
    std::string csv = "text,label\n";
    for (int i = 0; i < rows; ++i) {
      const bool is_hot = i % 2 == 1, says_hot = is_hot != (i < wrong);
      csv += fmt::format("the {} {},{}\n", is_hot ? "hot" : "other", i, says_hot ? hot : cold);
    }
    return folder.put("reviews.csv", csv);
  }
  QualityOptions on(const std::string& data, std::vector<std::string> metrics = {}) const {
    QualityOptions options;
    options.evaluation.data.path = data;
    options.evaluation.data.batch = 4;
    options.evaluation.metrics = std::move(metrics);
    return options;
  }
  QualityComparison compared(const std::vector<std::string>& paths, const QualityOptions& options) const {
    std::vector<Model> models;
    for (const std::string& path : paths) models.push_back(load_model(path));
    return compare_quality(models, options);
  }
  Evaluated evaluated(const std::string& of, const QualityOptions& options) const {
    return compared({of}, options).models.at(0).evaluated;
  }
};

// "cold" sorts before "warm": class 0 and 1. Rows 0 and 1 have the other's label.
TEST_F(EvaluateTest, CountsWhatIsRight) {
  const Evaluated e = evaluated(put_classifier("c.safetensors"), on(put_reviews(20, 2), {"accuracy", "f1", "mcc"}));
  ASSERT_EQ(e.figures.size(), 3u);
  EXPECT_EQ(e.figures[0].estimate.value, 0.9);
  EXPECT_EQ(e.figures[0].estimate.ci95->low, share_interval(0.9, 20).low);
  EXPECT_EQ(e.figures[1].estimate.value, 0.9);  // found 9, claimed 1, missed 1
  EXPECT_EQ(e.figures[2].estimate.value, 0.8);  // (9·9 - 1·1) / 100
  EXPECT_EQ(e.confusion->count(0, 1), 1);
  EXPECT_EQ(e.confusion->count(1, 1), 9);
  EXPECT_EQ(e.samples, 20);
}

TEST_F(EvaluateTest, ClassesAreAskedForAccuracyWhereNothingIsSaid) {
  EXPECT_EQ(evaluated(put_classifier("c.safetensors"), on(put_reviews(20, 2))).figures.at(0).name, "accuracy");
}

TEST_F(EvaluateTest, PackedModelsAreJudgedAsTheyAre) {
  const Model source = load_model(put_classifier("c.safetensors"));
  QuantizeOptions options;
  options.to = "int8";
  save_model(folder / "small.safetensors", quantize_model(source, options, std::nullopt).graph, source);
  EXPECT_EQ(evaluated(folder / "small.safetensors", on(put_reviews(20, 2))).figures[0].estimate.value, 0.9);
}

// A model that takes digits from "5" on (word 36) for heat is wrong for half of the cold texts with one.
TEST_F(EvaluateTest, SeveralModelsAreComparedOnTheSameRows) {
  const std::string good = put_classifier("good.safetensors"), bad = put_classifier("bad.safetensors", 200);
  const QualityComparison c = compared({good, bad}, on(put_reviews(60, 0)));
  const Difference d = c.models[1].differences.at(0);
  EXPECT_EQ(c.models[0].evaluated.figures[0].estimate.value, 1);
  EXPECT_LT(d.value, 0);
  EXPECT_NEAR(d.value, c.models[1].evaluated.figures[0].estimate.value - 1, 1e-15);
  EXPECT_TRUE(d.shown());
  EXPECT_THAT(findings_of(c).at(1), testing::AllOf(HasSubstr("points lower"), HasSubstr("which is worse")));
  EXPECT_TRUE(c.models[0].differences.empty());
}

// Rows that run together must not change the answers, nor what is drawn.
TEST_F(EvaluateTest, LimitsDrawTheSameRowsForAllBatches) {
  const std::string of = put_classifier("c.safetensors"), data = put_reviews(50, 20);
  QualityOptions options = on(data);
  options.evaluation.data.limit = 17;
  const Evaluated some = evaluated(of, options);
  EXPECT_EQ(some.samples, 17);
  options.evaluation.data.batch = 17;
  EXPECT_EQ(evaluated(of, options).figures[0].estimate.value, some.figures[0].estimate.value);
  EXPECT_THAT(compared({of}, options).data, HasSubstr("17 of 50 rows of"));
}

TEST_F(EvaluateTest, TheTestSplitIsTakenUnlessAnotherIsNamed) {
  const std::string data =
      folder.put("s.csv", "text,label,split\nhot,b,train\nthe,a,train\nhot,a,test\nthe,a,test\nhot,b,dev\n");
  const std::string of = put_classifier("c.safetensors");
  EXPECT_EQ(evaluated(of, on(data)).figures[0].estimate.value, 0.5);
  QualityOptions options = on(data);
  options.evaluation.data.split = "dev";
  EXPECT_EQ(evaluated(of, options).samples, 1);
  options.evaluation.data.split = "tset";
  EXPECT_THAT(error_of([&] { evaluated(of, options); }), testing::AllOf(HasSubstr("tset"), HasSubstr("test")));
}

TEST_F(EvaluateTest, ClassesAreMatchedWithTheModelsNames) {
  const Model source = load_model(put_classifier("c.safetensors"));
  const std::string named =
      put_with_tokenizer("named.safetensors", source.graph, R"({"id2label": {"0": "STALE", "1": "FRESH"}})");
  // Sorted, "fresh" is the data's class 0.
  const QualityComparison c = compared({named}, on(put_reviews(20, 2, "fresh", "stale")));
  EXPECT_EQ(c.models[0].evaluated.figures[0].estimate.value, 0.9);
  EXPECT_THAT(c.notes.at(0), HasSubstr("STALE, FRESH"));
  const QualityComparison other = compared({named}, on(put_reviews(20, 2, "yes", "no")));
  EXPECT_THAT(other.notes.at(0), HasSubstr("in this order"));
  EXPECT_EQ(other.models[0].evaluated.figures[0].estimate.value, 0.9);
}

// Four rows at a time, of ten: what fills the last batch up does not count.
TEST_F(EvaluateTest, ArraysAreGivenByName) {
  const std::string of = put_graph("n.safetensors", R"(
    %x : f32[4,2] = input "x"
    %y = neg %x
    return %y as "scores")");
  std::vector<float> x;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 10; ++i) x.insert(x.end(), {i < 7 ? 0.f : 2.f, 1.f}), labels.push_back(i % 5 == 0 ? 1 : 0);
  write_npz(folder / "d.npz", std::vector<NamedTensor>{{"x", Tensor::of<float>({10, 2}, x)},
                                                       {"labels", Tensor::of<int64_t>({10}, labels)}});
  const Evaluated e = evaluated(of, on(folder / "d.npz", {"accuracy"}));
  EXPECT_EQ(e.figures[0].estimate.value, 0.5);  // right: 1, 2, 3, 4, 6; the last three are called 1
  EXPECT_EQ(e.figures[0].estimate.counted, 10);
  EXPECT_EQ(e.confusion->count(0, 1), 3);
}

TEST_F(EvaluateTest, ImagesAreNormalisedAsTheModelSays) {
  Graph graph = test::parse(R"(
    %x : f32[N,1,1,2] = input "image"
    %w : f32[2,2] = const "w" {1, 0, 0, 1}
    %f = reshape %x {shape=[N,2]}
    %y = linear %f, %w
    return %y as "logits")");
  // Of (0.2, 0) the second is the larger one once 0.5 and 0.1 are taken off.
  graph.metadata["image.mean"] = "0.5";
  save_artefact(folder / "plain.safetensors", graph);
  const Tensor images = Tensor::of<uint8_t>({3, 1, 2}, {51, 0, 0, 51, 255, 0});
  write_npz(folder / "d.npz",
            std::vector<NamedTensor>{{"images", images}, {"labels", Tensor::of<int64_t>({3}, {0, 1, 1})}});
  QualityOptions options = on(folder / "d.npz", {"cmd:cat"});
  // What the model was given comes out: (51 / 255 - 0.5) of the first.
  options.evaluation.metrics = {"cmd:" + folder.put("first.sh", "head -n 1 $1 | sed 's/.*logits\": \\[//; s/,.*//'\n")};
  std::filesystem::permissions(folder / "first.sh", std::filesystem::perms::owner_all);
  EXPECT_NEAR(evaluated(folder / "plain.safetensors", options).figures.at(0).estimate.value, 0.2 - 0.5, 1e-6);
  options.evaluation.metrics = {"accuracy"};
  EXPECT_NEAR(evaluated(folder / "plain.safetensors", options).figures[0].estimate.value, 2.0 / 3, 1e-15);
  graph.metadata["image.mean"] = "half";
  save_artefact(folder / "bad.safetensors", graph);
  EXPECT_THAT(error_of([&] { evaluated(folder / "bad.safetensors", options); }),
              HasSubstr("metadata \"image.mean\" is \"half\""));
  graph.metadata["image.mean"] = "0.5";
  for (const char* size : {"8", "8,0", "8,8.5", "8,70000", "-1,8"}) {
    graph.metadata["image.size"] = size;
    save_artefact(folder / "size.safetensors", graph);
    EXPECT_THAT(error_of([&] { image_transform_of(load_model(folder / "size.safetensors")); }),
                HasSubstr("metadata \"image.size\" is"))
        << size;
  }
}

// Each word by the class of its first token; a word of two tokens counts once.
TEST_F(EvaluateTest, WordsAreJudgedAtTheirFirstTokens) {
  std::vector<float> table;
  for (int64_t word = 0; word < kWords; ++word) table.insert(table.end(), {0.5f, word == kHot ? 1.f : 0.f});
  Graph graph;
  const ValueId ids =
      graph.add_input("input_ids", {.dtype = DType::i64, .shape = {Dim::symbol("B"), Dim::symbol("S")}});
  const ValueId words = graph.add_constant("table", Tensor::of<float>({kWords, 2}, table));
  graph.add_output(graph.emit(ops::get("gather"), {words, ids}), "logits");
  const std::string data = folder.put("w.jsonl", R"({"tokens": ["the", "hot", "believer"], "tags": ["O", "WARM", "O"]})"
                                                 "\n"
                                                 R"({"tokens": ["hot"], "tags": ["O"]})"
                                                 "\n");
  const Evaluated e = evaluated(put_with_tokenizer("w.safetensors", graph), on(data));
  ASSERT_EQ(e.figures.size(), 2U);
  EXPECT_EQ(e.figures[0].name, "accuracy");
  EXPECT_EQ(e.figures[0].estimate.value, 0.75);
  EXPECT_EQ(e.figures[0].estimate.counted, 4);
  EXPECT_EQ(e.figures[1].name, "f1_macro");
  EXPECT_EQ(e.confusion->count(0, 1), 1);
}

// A pair with classes is one text to the model.
TEST_F(EvaluateTest, PairsWithClassesAreReadTogether) {
  const std::string data = folder.put("p.csv", "text,text2,label\nthe,hot,b\nthe,other,a\nhot,the,b\nhot,hot,a\n");
  EXPECT_EQ(evaluated(put_classifier("c.safetensors"), on(data)).figures.at(0).estimate.value, 0.75);
}

// A table of zeros gives every token the same score.
TEST_F(EvaluateTest, PerplexityIsOfTheNextToken) {
  Graph graph;
  const ValueId ids =
      graph.add_input("input_ids", {.dtype = DType::i64, .shape = {Dim::symbol("B"), Dim::symbol("S")}});
  const ValueId table = graph.add_constant("table", Tensor(DType::f32, {kWords, kWords}));
  graph.add_output(graph.emit(ops::get("gather"), {table, ids}), "logits");
  const std::string of = put_with_tokenizer("lm.safetensors", graph);
  const Evaluated e = evaluated(of, on(folder.put("t.csv", "text\nthe hot cup\nthis and that word\n")));
  EXPECT_EQ(e.figures.at(0).name, "perplexity");
  EXPECT_NEAR(e.figures[0].estimate.value, kWords, 1e-9);
  EXPECT_EQ(e.figures[0].estimate.counted, 4 + 5);  // [SEP] is the last that is predicted; padding is not
}

TEST_F(EvaluateTest, PairsAreRetrievedByTheirEmbeddings) {
  const std::string data = folder.put("p.csv",
                                      "text,text2\nthe hot cup,the hot cup\nan other house,an other house\n"
                                      "believ it,believ it\nshe said,she said\n");
  const Evaluated e = evaluated(model, on(data));
  ASSERT_EQ(e.figures.size(), 3u);
  EXPECT_EQ(e.figures[0].name, "recall");
  EXPECT_EQ(e.figures[1].name, "recall@10");
  EXPECT_EQ(e.figures[2].name, "mrr");
  for (const Figure& f : e.figures) EXPECT_EQ(f.estimate.value, 1) << f.name;
}

TEST_F(EvaluateTest, PairsWithNumbersAreCompared) {
  const std::string data = folder.put(
      "p.csv", "text,text2,score\nthe hot cup,the hot cup,5\nan other house,she said,0\nthe cup,the hot cup,4\n");
  const Evaluated e = evaluated(model, on(data, {"spearman"}));
  EXPECT_GT(e.figures[0].estimate.value, 0.4);
}

TEST_F(EvaluateTest, AgreementIsWithTheFirstModel) {
  const std::string small = quantized("int8"),
                    data = folder.put("t.csv", "text\nthe hot cup\nshe said it\nan other\nup\n");
  const QualityComparison c = compared({model, small}, on(data, {"agreement"}));
  ASSERT_TRUE(c.models[1].agreement);
  EXPECT_EQ(c.models[1].agreement->outputs.at(0).cosine.rows, 4);
  EXPECT_GT(c.models[1].agreement->outputs[0].cosine.mean, 0.99);
  EXPECT_TRUE(c.models[1].evaluated.figures.empty());
  EXPECT_THAT(error_of([&] { compared({model}, on(data, {"agreement"})); }), HasSubstr("is between models"));
}

TEST_F(EvaluateTest, APrograMayJudge) {
  const std::string script = folder.put("score.sh", "#!/bin/sh\necho reading \"$2\" 1>&2\ngrep -c warm \"$2\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Evaluated e =
      evaluated(put_classifier("c.safetensors"), on(put_reviews(10, 0), {"accuracy", "cmd:" + script + " -x"}));
  EXPECT_EQ(e.figures.at(1).estimate.value, 5);
  EXPECT_FALSE(e.figures[1].estimate.ci95);
}

TEST_F(EvaluateTest, MetricsThatDoNotFitAreRefused) {
  const std::string of = put_classifier("c.safetensors"), data = put_reviews(10, 0);
  EXPECT_THAT(error_of([&] { evaluated(of, on(data, {"mse"})); }),
              testing::AllOf(HasSubstr("metric mse"), HasSubstr("judged by classes: accuracy would")));
  EXPECT_THAT(error_of([&] { evaluated(of, on(data, {"accuracy", "mrr"})); }), HasSubstr("no one way"));
  EXPECT_THAT(error_of([&] { evaluated(of, on(data, {"f2"})); }), HasSubstr("there is no metric \"f2\""));
  EXPECT_THAT(error_of([&] { evaluated(of, on(data, {"cmd:"})); }), HasSubstr("needs a program"));
  EXPECT_THAT(error_of([&] { evaluated(of, on(folder.put("n.csv", "text\nthe\n"), {"accuracy"})); }),
              HasSubstr("to judge texts by their next tokens an output of 3 axes is needed"));
}

TEST_F(EvaluateTest, DataOfOtherClassesAreRefused) {
  const std::string data = folder.put("three.csv", "text,label\nhot,a\nthe,b\nof,c\n");
  EXPECT_THAT(error_of([&] { evaluated(put_classifier("c.safetensors"), on(data)); }),
              testing::AllOf(HasSubstr("f32[3,2], for 2 classes"), HasSubstr("has 3: a, b, c")));
}

TEST_F(EvaluateTest, AnOutputIsNamedWhereSeveralFit) {
  Graph graph = load_model(put_classifier("c.safetensors", kWords, "first")).graph;
  const ValueId logits = graph.outputs()[0].value;
  graph.add_output(graph.emit(ops::get("neg"), {logits}), "negated");
  const std::string of = put_with_tokenizer("two.safetensors", graph);
  QualityOptions options = on(put_reviews(20, 2));
  EXPECT_THAT(error_of([&] { evaluated(of, options); }),
              testing::AllOf(HasSubstr("first f32[4,2], negated f32[4,2]"), HasSubstr("--score-output")));
  options.evaluation.output = "negated";
  EXPECT_NEAR(evaluated(of, options).figures[0].estimate.value, 0.1, 1e-15);
  options.evaluation.output = "neg";
  EXPECT_THAT(error_of([&] { evaluated(of, options); }), HasSubstr("has no output \"neg\""));
}

TEST_F(EvaluateTest, TheRecordSaysWhatWasMeasuredOnWhat) {
  const std::string good = put_classifier("good.safetensors"), bad = put_classifier("bad.safetensors", 200);
  const Record record = view_of(compared({good, bad}, on(put_reviews(20, 2), {"accuracy", "f1"})));
  check(record);
  const Table& table = table_of(record, "evaluation");
  EXPECT_EQ(value_of(cell(table, "accuracy", 0)), 0.9);
  EXPECT_TRUE(is_empty(cell(table, "accuracy_difference", 0)));
  EXPECT_FALSE(is_empty(cell(table, "f1_difference", 1)));
  EXPECT_EQ(value_of(cell(table_of(record, "confusion"), "as_1", 1)), 9);
  EXPECT_EQ(text_of(cell(table_of(record, "confusion"), "right", 1)), "warm");
  EXPECT_EQ(record.manifest.size(), 3u);
  EXPECT_THAT(record.findings.at(0), HasSubstr("accuracy 90.00 % (69.90-97.21)"));
}

TEST_F(EvaluateTest, SweepsChooseAndReportByTheSameFigures) {
  const Model classifier = load_model(put_classifier("c.safetensors"));
  FormatSweepOptions options;
  options.formats = {"int8"};
  options.data.file = put_reviews(40, 4), options.data.batch = 4;
  options.judged.metrics = {"f1"};
  const Record record = view_of(sweep_formats(classifier, options), folder / "sweep");
  const Table& table = table_of(record, "sweep");
  ASSERT_EQ(table.rows.size(), 2U);
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_GT(value_of(cell(table, "f1", row)), 0.7);
    EXPECT_LT(value_of(cell(table, "selection_f1", row)), 1.1);
  }
  EXPECT_EQ(value_of(cell(table, "f1_difference", 0)), 0);
  EXPECT_THAT(table.title, HasSubstr("On 20 of the 40 samples of"));
}

// 20 pairs of equal texts: every embedding finds its partner, in any format.
TEST_F(EvaluateTest, SweepsOfEncodersMayRetrieve) {
  std::string csv = "text,text2\n";
  for (char c = 'a'; c < 'u'; ++c) csv += fmt::format("the {0} cup,the {0} cup\n", c);
  const Model encoder = load_model(model);
  FormatSweepOptions options;
  options.formats = {"int8"};
  options.data.file = folder.put("p.csv", csv), options.data.batch = 4;
  options.judged.metrics = {"mrr"};
  const Record record = view_of(sweep_formats(encoder, options), folder / "sweep");
  const Table& table = table_of(record, "sweep");
  EXPECT_EQ(value_of(cell(table, "mrr", 0)), 1);
  EXPECT_THAT(table.title, HasSubstr("On 8 of the 20 samples of"));  // two of five batches
  options.judged.metrics = {"retrieval"};
  EXPECT_THAT(error_of([&] { sweep_formats(encoder, options); }), HasSubstr("by one metric; 3 are given"));
  options.judged.metrics = {"agreement"};
  EXPECT_THAT(error_of([&] { sweep_formats(encoder, options); }), HasSubstr("agreement is none"));
}

TEST(MaxDrop, IsOfPointsOrOfTheFigure) {
  EXPECT_EQ(parse_max_drop("0.5%").of(0.8, true), 0.005);
  EXPECT_EQ(parse_max_drop("0.5%").of(20, false), 0.1);
  EXPECT_EQ(parse_max_drop("0.01").of(0.8, true), 0.01);
  EXPECT_EQ(to_string(parse_max_drop("0.5%")), "0.5%");
  for (const char* bad : {"", "%", "-1", "1e999", "x", "0.5 %", "nan"})
    EXPECT_THAT(error_of([&] { parse_max_drop(bad); }), HasSubstr("is no drop")) << bad;
}

TEST(ScoreCommand, SaysWhatWentWrong) {
  const auto error = [](const std::string& command, double seconds = 10) {
    return error_of([&] { run_score_command(command, "/dev/null", seconds); });
  };
  EXPECT_EQ(run_score_command("printf '1\\n0.25\\n\\n'; true", "/dev/null", 10), 0.25);
  EXPECT_EQ(error("exit 3; true"), "metric cmd:exit 3; true: ended with code 3");
  EXPECT_EQ(error("echo no data >&2; exit 4; true"),
            "metric cmd:echo no data >&2; exit 4; true: ended with code 4; it said: no data");
  EXPECT_EQ(
      error("echo about 3; true"),
      "metric cmd:echo about 3; true: a number is expected on the last line of what it prints, found \"about 3\"");
  EXPECT_THAT(error("true"), HasSubstr("found \"\""));
  EXPECT_THAT(error("echo nan; true"), HasSubstr("found \"nan\""));
  EXPECT_THAT(error("/no/such/program"), HasSubstr("ended with code 127; it said: "));
  EXPECT_THAT(error("kill -9 $$; true"), HasSubstr("ended by signal 9"));
  EXPECT_THAT(error("sleep 60 & wait; true", 0.2), HasSubstr("did not end within 0.2 s (--cmd-seconds)"));
}

TEST(AnswerFile, IsJsonLines) {
  const TemporaryFolder folder;
  AnswerFile file(folder / "a.jsonl");
  const std::vector<std::string> names{"logits", "ids", "pooled"};
  file.add(std::vector<AnswerRow>{{7, "a.csv:9", "\"good\""}, {3, "a.csv:4", "null"}}, names,
           std::vector<Tensor>{Tensor::of<float>({2, 2}, {0.1f, -2, INFINITY, 4}),
                               Tensor::of<int64_t>({2, 1, 2}, {1, 2, 3, 4}), Tensor::of<float>({3}, {1, 2, 3})});
  file.commit();
  EXPECT_EQ(read_file(folder / "a.jsonl"),
            "{\"row\": 7, \"where\": \"a.csv:9\", \"label\": \"good\", \"outputs\": {\"logits\": [0.1, -2], \"ids\": "
            "[[1, 2]]}}\n"
            "{\"row\": 3, \"where\": \"a.csv:4\", \"label\": null, \"outputs\": {\"logits\": [null, 4], \"ids\": [[3, "
            "4]]}}\n");
}

}  // namespace
}  // namespace hone

// hone train end to end on models of a few thousand weights: what it learns, what it leaves behind, that an interrupted
// run goes on with the same bits, and what it refuses.
#include "jobs/train_model.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "base/philox.h"
#include "base/stop.h"
#include "io/numpy.h"
#include "io/onnx/export_model.h"
#include "tests/jobs/file_training.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/pyramid.h"
#include "train/loop/checkpoint.h"

namespace hone {
namespace {

using test::error_of;
using test::FileTraining;
using test::train_file;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

class TrainModelTest : public JobsTest {
 protected:
  FileTraining texts_options(int rows = 160) {
    FileTraining options;
    options.model = model;
    options.data = put_texts({.rows = rows});
    options.output = folder / "out.safetensors";
    options.training.epochs = 4;
    options.training.batch = 16;
    options.training.rate = 5e-3;
    options.training.log_every = 2;
    return options;
  }
};

TEST_F(TrainModelTest, AnEncoderLearnsToTellTexts) {
  const FileTraining options = texts_options();
  std::vector<std::string> said;
  const TrainedModel trained = train_file(options, &said);
  ASSERT_TRUE(trained.outcome.best);
  EXPECT_GT(trained.outcome.best->metric, 0.9);
  ASSERT_TRUE(trained.outcome.best->estimate);
  EXPECT_TRUE(trained.outcome.best->estimate->ci95);
  EXPECT_EQ(trained.outcome.best->confusion->classes(), 2);
  EXPECT_EQ(trained.classes, (std::vector<std::string>{"no", "yes"}));
  for (const char* split : {"train", "validation"})
    EXPECT_THAT(trained.outcome.log, Contains(Field(&LogEntry::split, split)));
  EXPECT_THAT(trained.head, HasSubstr("classifier.weight"));
  EXPECT_GT(trained.planned.total(), trained.planned.state);
  EXPECT_THAT(said, Contains(HasSubstr("classifier.weight [2,32] behind embedding")));
  EXPECT_THAT(said, Contains(HasSubstr("training takes ")));

  const Model written = load_model(options.output);
  EXPECT_EQ(to_string(written.graph.type(written.graph.outputs()[0].value)), "f32[B,2]");
  const Json config = parse_json(written.files.at("config.json"), "config.json");
  EXPECT_EQ(config.at("id2label").at("1"), "yes");
  EXPECT_TRUE(written.files.contains("vocab.txt"));
  for (const char* file : {"last.safetensors", "best.safetensors", "log.csv", "log.jsonl"})
    EXPECT_TRUE(std::filesystem::exists(folder / "out.run/" + file)) << file;
}

TEST_F(TrainModelTest, ARunThatWasEndedGoesOnWithTheSameBits) {
  FileTraining options = texts_options(80);
  options.training.optimizer = "adamw";
  options.training.epochs = 3;
  options.training.checkpoint_every = 2;
  options.training.clip_norm = 1;
  options.training.dropout = 0.1;
  train_file(options);
  const std::string whole = read_file(options.output), log = read_file(folder / "out.run/log.csv");

  FileTraining part = options;
  part.output = folder / "part.safetensors";
  part.resume = true;
  for (int end : {3, 6, 9}) {  // in a step between two checkpoints, while validating, and near the end
    int told = 0;
    part.context.progress = [&](const std::string& next) {
      if (next.find("step ") != std::string::npos && ++told == end) throw Stopped(Stop::interrupted);
    };
    EXPECT_THROW(train_file(part), Stopped);
    EXPECT_FALSE(std::filesystem::exists(part.output));
  }
  part.context.progress = {};
  train_file(part);
  EXPECT_EQ(read_file(part.output), whole);
  const std::string resumed = read_file(folder / "part.run/log.csv");
  EXPECT_EQ(std::ranges::count(resumed, '\n'), std::ranges::count(log, '\n'));
}

// What a library has in hand is trained, and nothing is written but into a scratch folder that goes.
TEST_F(TrainModelTest, AModelIsTrainedWithoutAPlaceForFiles) {
  FileTraining options = texts_options(64);
  options.training.epochs = 1;
  train_file(options);
  const Model original = load_model(model);
  const TrainedModel trained = train_model(original, options);
  EXPECT_EQ(trained.folder, "");
  const Graph written = load_model(options.output).graph;
  for (ValueId id : written.constants()) {
    if (written.value(id).label.empty()) continue;
    const Tensor* same = trained.model.graph.constant(trained.model.graph.find_constant(written.value(id).label));
    ASSERT_TRUE(same) << written.value(id).label;
    EXPECT_TRUE(same->same_bits(*written.constant(id))) << written.value(id).label;
  }
  options.resume = true;
  options.folder.clear();
  EXPECT_THAT(error_of([&] { train_model(original, options); }), HasSubstr("no folder"));
}

TEST_F(TrainModelTest, ACallerEndsATraining) {
  const FileTraining options = texts_options(64);
  int asked = 0;
  const TaskContext context{.cancelled = [&] { return ++asked == 3; }};
  EXPECT_THROW(train_model(load_model(model), options, context), Stopped);
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

TEST_F(TrainModelTest, AnyNumberOfThreadsGivesTheSameModel) {
  FileTraining options = texts_options(64);
  options.training.epochs = 1;
  train_file(options);
  const std::string one = read_file(options.output);
  options.session.threads = 3;
  options.output = folder / "three.safetensors";
  train_file(options);
  EXPECT_EQ(read_file(options.output), one);
}

TEST_F(TrainModelTest, PartsOfABatchLearnTheSame) {
  FileTraining options = texts_options();
  options.training.parts = 4;
  options.training.recompute = 1;
  const TrainedModel trained = train_file(options);
  EXPECT_GT(trained.outcome.best->metric, 0.9);
}

TEST_F(TrainModelTest, EndsWhenValidationsGetNoBetter) {
  FileTraining options = texts_options(64);
  options.training.epochs = 50;
  options.training.patience = 2;
  const TrainedModel trained = train_file(options);
  EXPECT_THAT(trained.outcome.ended, HasSubstr("2 validations have not raised the accuracy"));
  EXPECT_LT(trained.outcome.steps, 50 * 3);
}

// The last batch of an epoch is smaller, and so are parts: the number of rows stays open.
TEST_F(TrainModelTest, SizesThatAModelLeavesOpenAreTheDatas) {
  save_artefact(folder / "pyramid.safetensors", test::pyramid());
  Philox random(1);
  std::vector<int64_t> labels;
  std::vector<float> x;
  for (int64_t row = 0; row < 42; ++row) {
    labels.push_back(row % 3);
    for (int i = 0; i < 64; ++i) x.push_back(static_cast<float>(row % 3) + 0.1f * static_cast<float>(random.normal()));
  }
  write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", Tensor::of<float>({42, 1, 8, 8}, x)},
                                                          {"label", Tensor::of<int64_t>({42}, labels)}});
  FileTraining options;
  options.model = folder / "pyramid.safetensors";
  options.data = folder / "data.npz";
  options.output = folder / "out.safetensors";
  options.reading.label = "label";
  options.reading.classes = {"0", "1", "2"};
  options.training.batch = 8;
  options.training.parts = 2;
  options.training.epochs = 20;
  options.training.rate = 2e-2;
  std::vector<std::string> said;
  train_file(options, &said);
  EXPECT_THAT(said, Contains(HasSubstr("the largest with H = 8, W = 8")));
  const std::string log = read_file(folder / "out.run/log.csv");
  EXPECT_EQ(std::ranges::count(log, '\n'), 13);  // a head, and each tenth of 120 steps
  EXPECT_EQ(to_string(load_model(options.output).graph.type(load_model(options.output).graph.arguments()[0])),
            "f32[B,1,H,W]");
}

// A classifier as ONNX's MatMul and Add have it, with numbers that passes for inference simplify away.
constexpr const char* kOnnxLike = R"(
  %x : f32[B,2] = input "x"
  %w : f32[2,3] = const "hidden.kernel" {1, -2, 0.5, -0.25, 1, 2}
  %b : f32[1,3] = const "hidden.bias" {0, 0, 0}
  %s : f32[3] = const "norm.scale" {1, 1, 1}
  %v : f32[2,3] = const "head.weight" {1, 0, -1, 0.5, 0.25, 0}
  %c : f32[2] = const "head.bias" {0, 0}
  %m = matmul %x, %w
  %a = add %m, %b
  %n = mul %a, %s
  %h = tanh %n
  %y = linear %h, %v, %c
  return %y as "logits")";

TEST_F(TrainModelTest, EveryStoredTensorIsTrainedAndComesBackAsItWas) {
  const Graph graph = test::parse(kOnnxLike);
  export_onnx(graph, folder / "model.onnx", {.keep_layouts = true});
  std::vector<int64_t> labels;
  std::vector<float> rows;
  for (int i = 0; i < 32; ++i) {
    labels.push_back(i % 2);
    rows.insert(rows.end(), {static_cast<float>(i % 5 - 2), static_cast<float>(i % 3 - 1)});
  }
  write_npz(folder / "rows.npz", std::vector<NamedTensor>{{"x", Tensor::of<float>({32, 2}, rows)},
                                                          {"label", Tensor::of<int64_t>({32}, labels)}});
  for (const char* ending : {"onnx", "safetensors"}) {
    SCOPED_TRACE(ending);
    FileTraining options;
    options.model = folder / "model.onnx";
    options.data = folder / "rows.npz";
    options.output = folder / fmt::format("as_{0}.{0}", ending);
    options.training.epochs = 1;
    options.training.batch = 8;
    options.training.head = "keep";
    std::vector<std::string> said;
    train_file(options, &said);
    EXPECT_THAT(said, Contains(HasSubstr("20 weights in 5 tensors are trained, 0 tensors are frozen")));
    const Graph before = load_model(options.model).graph, after = load_model(options.output).graph;
    for (const char* name : {"hidden.kernel", "hidden.bias", "norm.scale", "head.weight", "head.bias"}) {
      const Tensor *was = before.constant(before.find_constant(name)), *is = after.constant(after.find_constant(name));
      ASSERT_TRUE(was && is) << name;
      EXPECT_EQ(was->shape(), is->shape()) << name;
      EXPECT_FALSE(was->same_bits(*is)) << name << " is not trained";
    }
  }
}

TEST_F(TrainModelTest, FrozenLayersStayWhatTheyAre) {
  FileTraining options = texts_options(64);
  options.training.epochs = 1;
  options.training.rule = {"embeddings|encoder=frozen"};
  train_file(options);
  const Graph before = load_model(model).graph, after = load_model(options.output).graph;
  const auto same = [&](const std::string& name) {
    return before.constant(before.find_constant(name))->same_bits(*after.constant(after.find_constant(name)));
  };
  EXPECT_TRUE(same("embeddings.word_embeddings.weight"));
  EXPECT_TRUE(same("encoder.layer.1.output.dense.weight"));
  EXPECT_NE(after.find_constant("classifier.weight"), kNone);
}

TEST_F(TrainModelTest, Bf16ProductsLearn) {
  FileTraining options = texts_options();
  options.session.compute = Compute::bf16;
  const TrainedModel trained = train_file(options);
  EXPECT_GT(trained.outcome.best->metric, 0.9);
}

TEST_F(TrainModelTest, ALossThatIsNoNumberIsNamedAndTheLastCheckpointKept) {
  FileTraining options = texts_options(64);
  options.training.rate = 1e30;
  options.training.schedule = "constant";
  options.training.optimizer = "sgd";
  options.training.checkpoint_every = 1;
  const std::string error = error_of([&] { train_file(options); });
  EXPECT_THAT(error, HasSubstr("the loss of step "));
  EXPECT_THAT(error, HasSubstr("in step "));
  EXPECT_THAT(error, HasSubstr("Try a smaller rate"));
  const Checkpoint kept = load_checkpoint(folder / "out.run/last.safetensors");
  EXPECT_GE(kept.progress.at("step"), 1);
  EXPECT_FALSE(std::filesystem::exists(options.output));
}

TEST_F(TrainModelTest, RefusesARunOfAnotherKindInItsFolder) {
  FileTraining options = texts_options(64);
  options.training.epochs = 1;
  train_file(options);
  EXPECT_THAT(error_of([&] { train_file(options); }), HasSubstr("holds a run already; --resume goes on with it"));
  options.resume = true;
  options.training.seed = 2;
  EXPECT_THAT(error_of([&] { train_file(options); }), HasSubstr("was written with other options"));
  options.training.seed = 1;
  std::string bytes = read_file(folder / "out.run/last.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  write_file(folder / "out.run/last.safetensors", bytes);
  EXPECT_THAT(error_of([&] { train_file(options); }), HasSubstr("do not fit its checksum"));
  write_file(folder / "out.run/last.safetensors", bytes.substr(0, bytes.size() / 2));
  EXPECT_NE(error_of([&] { train_file(options); }), "");
}

TEST_F(TrainModelTest, SaysWhatDoesNotFit) {
  const auto refused = [&](auto change) {
    FileTraining options = texts_options(64);
    change(options);
    const std::string error = error_of([&] { train_file(options); });
    EXPECT_FALSE(std::filesystem::exists(folder / "out.run")) << error;
    return error;
  };
  EXPECT_THAT(refused([](auto& o) { o.training.batch = 100; }),
              HasSubstr("has 48 rows to train on, fewer than a batch of 100"));
  EXPECT_THAT(refused([&](auto& o) { o.data = folder.put("plain.csv", "text\nhot\nhouse\n"); }), HasSubstr("label"));
  EXPECT_THAT(refused([&](auto& o) {
                o.data = folder.put("one.csv", "text,label\nhot,a\nhouse,a\n");
                o.training.batch = 1;
              }),
              HasSubstr("class"));
  EXPECT_THAT(refused([](auto& o) { o.training.loss = "mse"; }), HasSubstr("the loss mse does not go with the labels"));
  EXPECT_THAT(refused([](auto& o) { o.training.metric = "mse"; }), HasSubstr("metric mse is not one of"));
  EXPECT_THAT(refused([](auto& o) { o.training.optimizer = "adamm"; }), HasSubstr("unknown optimizer adamm"));
  EXPECT_THAT(refused([](auto& o) { o.training.rule = {".*=frozen"}; }), HasSubstr("nothing is left to train"));
  EXPECT_THAT(refused([](auto& o) { o.training.max_length = 1000; }),
              HasSubstr("max-length is 1000; the model takes 64"));
  EXPECT_THAT(refused([](auto& o) { o.training.parts = 17; }), HasSubstr("a batch of 16 rows can't run in 17 parts"));
  EXPECT_THAT(refused([](auto& o) { o.training.head = "keep"; }), HasSubstr("let its last layer be replaced"));
  EXPECT_THAT(refused([](auto& o) { o.training.class_weights = "1,x"; }), HasSubstr("\"x\" is no number"));
}

TEST_F(TrainModelTest, ReadsItsOptionsFromAFile) {
  const std::string file =
      folder.put("train.toml",
                 "rate = 0.1\noptimizer = \"adamw\"\nrule = [\"a=frozen\"]\n"
                 "[adamw]\nbeta2 = 0.98\n[sgd]\nmomentum = 0.9\n[data]\npath = \"texts.csv\"\nlabel = \"y\"\n");
  TrainingOptions options;
  DataOptions reading;
  std::string data;
  read_train_config(file, options, reading, data);
  EXPECT_EQ(data, folder / "texts.csv");
  EXPECT_EQ(options.rate, 0.1);
  EXPECT_EQ(options.rule, std::vector<std::string>{"a=frozen"});
  EXPECT_EQ(options.optimizer_option, std::vector<std::string>{"beta2=0.98"});
  EXPECT_EQ(reading.label, "y");
  folder.put("train.toml", "ratee = 1\n");
  EXPECT_THAT(error_of([&] { read_train_config(file, options, reading, data); }), HasSubstr("Did you mean rate"));
  folder.put("train.toml", "[adamm]\nbeta2 = 1\n");
  EXPECT_THAT(error_of([&] { read_train_config(file, options, reading, data); }), HasSubstr("unknown table [adamm]"));
}

}  // namespace
}  // namespace hone

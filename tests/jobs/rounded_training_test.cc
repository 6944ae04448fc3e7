// hone train --qat and --teacher, and hone sweep --train: on models of a few thousand weights.
#include <algorithm>
#include <filesystem>

#include "jobs/format_sweep.h"
#include "passes/pipelines.h"
#include "tests/jobs/file_training.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "train/initialise.h"
#include "train/loop/checkpoint.h"
#include "train/losses/distillation.h"
#include "views/format_sweep.h"

namespace hone {
namespace {

using test::error_of;
using test::FileTraining;
using test::train_file;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

class RoundedTrainingTest : public JobsTest {
 protected:
  FileTraining options(const std::string& from, const std::string& name) const {
    FileTraining o;
    o.model = from;
    o.data = put_texts({.rows = 128});
    o.output = folder / name;
    o.training.epochs = 4;
    o.training.batch = 16;
    o.training.rate = 5e-3;
    return o;
  }

  std::string put_classifier() const {
    const FileTraining o = options(model, "classifier.safetensors");
    train_file(o);
    return o.output;
  }

  static double accuracy(const TrainedModel& trained) { return trained.outcome.best->metric; }
};

TEST_F(RoundedTrainingTest, WritesThePackedModelThatItTrained) {
  FileTraining o = options(put_classifier(), "rounded.safetensors");
  o.training.qat = {"op:linear=int3.channel", "op:linear.in=int8", "classifier=keep"};
  for (const bool learn : {false, true}) {
    SCOPED_TRACE(learn);
    o.training.learn_scales = learn;
    o.folder = folder / (learn ? "learn" : "data");
    std::vector<std::string> said;
    const TrainedModel trained = train_file(o, &said);
    EXPECT_GT(accuracy(trained), 0.9);
    EXPECT_THAT(said, Contains(AllOf(HasSubstr("are rounded"), HasSubstr("in int3.channel"), HasSubstr("in int8"))));
    EXPECT_THAT(trained.notes, Contains(HasSubstr("are rounded")));
    EXPECT_TRUE(trained.is_rounded);
    const Graph written = load_model(o.output).graph;
    const auto format_of = [&](const char* name) {
      const Tensor& tensor = *written.constant(written.find_constant(name));
      return tensor.is_packed() ? to_string(*tensor.format()) : "";
    };
    EXPECT_EQ(format_of("encoder.layer.0.output.dense.weight"), "int3.channel");
    EXPECT_EQ(format_of("classifier.weight"), "");
    const bool has_scale = written.find_constant("encoder.layer.0.output.dense.in.quant_scale") != kNone;
    EXPECT_EQ(has_scale, learn);
  }
}

// The order is: adapters, then rounding of what they stand beside.
TEST_F(RoundedTrainingTest, RoundsWhatAdaptersStandBeside) {
  FileTraining o = options(put_classifier(), "adapted.safetensors");
  o.training.lora = {"op:linear"};
  o.training.qat = {"dense\\.weight=int4.channel"};
  EXPECT_GT(accuracy(train_file(o)), 0.8);
  const Graph written = load_model(o.output).graph;
  EXPECT_TRUE(written.constant(written.find_constant("encoder.layer.0.output.dense.weight"))->is_packed());
  EXPECT_TRUE(has_adapters(written));
}

TEST_F(RoundedTrainingTest, RefusesRulesThatDoNotFit) {
  FileTraining o = options(model, "out.safetensors");
  o.training.learn_scales = true;
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("qat names them"));
  o.training.qat = {"encodre=int4"};
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("encodre"));
  o.training.qat = {"op:linear=nvfp4"};
  EXPECT_THAT(error_of([&] { train_file(o); }), AllOf(HasSubstr("no scale can be learned"), HasSubstr("E4M3")));
  o.training.qat = {"op:linear=int5000"};
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("E_WIDTH"));
  EXPECT_FALSE(std::filesystem::exists(o.output));
}

TEST_F(RoundedTrainingTest, AStudentLearnsFromATeachersPredictionsAndLayers) {
  FileTraining o = options(model, "student.safetensors");
  o.training.teacher = put_classifier();
  o.training.from_scratch = true;
  o.training.distill_weight = 1;
  o.training.distill_layers = {"encoder.layer.0.output.dense=encoder.layer.1.output.dense"};
  o.training.distill_layer_weight = 0.1;
  o.training.epochs = 8;
  std::vector<std::string> said;
  const TrainedModel trained = train_file(o, &said);
  EXPECT_GT(accuracy(trained), 0.9);
  EXPECT_THAT(said, Contains(HasSubstr("its predictions and what 1 of its layers compute")));
  EXPECT_THAT(said, Contains(HasSubstr(" of the teacher")));
  const Graph written = load_model(o.output).graph;
  EXPECT_EQ(written.outputs().size(), 1);
}

// By a matrix that is trained beside the student, adapters or not, and goes at the end.
TEST_F(RoundedTrainingTest, LayersOfAnotherWidthAreComparedThroughAProjection) {
  const std::string classifier = put_classifier();
  for (const char* lora : {"", "query"}) {
    FileTraining o = options(classifier, fmt::format("student{}.safetensors", lora));
    o.training.teacher = o.model;
    if (*lora) o.training.lora = {lora};
    o.training.distill_layers = {"encoder.layer.1.output.dense=encoder.layer.1.intermediate.dense"};
    EXPECT_GT(accuracy(train_file(o)), 0.8);
    const Checkpoint last = load_checkpoint(run_folder(o.output) + "/last.safetensors");
    const std::string name = "distill.projection.0.weight";
    const Tensor& projection = last.tensors.at("parameter/" + name);
    EXPECT_EQ(projection.shape(), (std::vector<int64_t>{64, 32}));
    EXPECT_FALSE(projection.same_bits(random_matrix(static_cast<uint64_t>(o.training.seed), name, 64, 32)));
    const Graph written = load_model(o.output).graph;
    for (ValueId id : written.constants()) EXPECT_FALSE(is_projection(written.value(id).label));
  }
}

TEST_F(RoundedTrainingTest, DistillationGoesWithRoundingAndAdaptersAndParts) {
  FileTraining o = options(put_classifier(), "student.safetensors");
  o.training.teacher = o.model;
  o.training.qat = {"dense\\.weight=int3.channel"};
  o.training.lora = {"query"};
  o.training.parts = 2;
  o.training.keep_zeros = true;
  o.training.distill_layers = {"encoder.layer.1.output.dense=encoder.layer.1.output.dense"};
  EXPECT_GT(accuracy(train_file(o)), 0.8);
}

TEST_F(RoundedTrainingTest, RefusesATeacherThatDoesNotFit) {
  FileTraining o = options(model, "student.safetensors");
  o.training.temperature = 3;
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("teacher names a model"));
  o.training.teacher = put_classifier();
  o.training.temperature = 0;
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("temperature is 0; accepted: above 0"));
  o.training.temperature = 2;
  o.training.distill_weight = 0;
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("nothing is learned from the teacher"));
  o.training.distill_layers = {"encoder.layer.7.output.dense=encoder.layer.1.output.dense"};
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("has no layer \"encoder.layer.7.output.dense\""));
  o.training.distill_layers = {"encoder.layer.1.output.dense=encoder.layer.9.output.dense"};
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("the teacher classifier.safetensors has no layer"));
  o.training.distill_layers = {"encoder.layer.1.output.dense=classifier"};
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("they must have one shape but for the last dimension"));
  o.training.distill_layers.clear();
  o.training.distill_weight = 0.5;
  o.data = put_texts({.rows = 128, .file = "others.csv", .yes = "good", .no = "bad"});
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("has other classes than the data"));
  o.data = put_texts({.rows = 128});
  o.training.teacher = model;  // gives sentence embeddings
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("predictions: the teacher gives"));
  o.training.teacher = folder / "nothing";
  EXPECT_THAT(error_of([&] { train_file(o); }), HasSubstr("nothing"));
  EXPECT_FALSE(std::filesystem::exists(o.output));
}

TEST_F(RoundedTrainingTest, ASweepTrainsInEachFormatBesideQuantizing) {
  const Model original = load_model(put_classifier());
  FormatSweepOptions o;
  o.measurements = folder / "measurements.txt";
  o.formats = {"int2.channel", "int4.f2", "int8.channel"};
  o.data.file = o.judged.data.path = put_texts({.rows = 128});
  FileTraining training = options("", "");
  training.data = o.data.file;
  training.training.head = "keep";
  training.training.epochs = 2;
  o.training = training;
  const FormatSweep sweep = sweep_formats(original, o);
  ASSERT_EQ(sweep.formats.size(), 6);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(sweep.formats[i].trained, i % 2 == 1);
  EXPECT_GT(sweep.formats[1].held_out.figure->value, sweep.formats[0].held_out.figure->value);
  EXPECT_EQ(sweep.formats[1].average_bits, sweep.formats[0].average_bits);
  ASSERT_TRUE(sweep.original_trained);

  const Record record = view_of(sweep, folder / "sweep");
  const Table& table = table_of(record, "sweep");
  ASSERT_EQ(table.rows.size(), 8);
  for (size_t row = 0; row < 6; ++row)
    EXPECT_EQ(text_of(cell(table, "how", row)), row % 2 == 0 ? "quantized" : "trained");
  EXPECT_EQ(text_of(cell(table, "how", 7)), "trained");
  EXPECT_EQ(find_block<LinePlot>(record, "curves")->lines.size(), 4);  // families: options are theirs
  EXPECT_THAT(record.findings, Contains(HasSubstr("trained in the format beside quantized after training")));

  // Over width formats of one kind are two curves, whatever their options.
  const LinePlot& widths = *find_block<LinePlot>(record, "width_curves");
  ASSERT_EQ(widths.lines.size(), 2);
  EXPECT_EQ(widths.lines[0].label, "int, PTQ");
  EXPECT_EQ(widths.lines[1].label, "int, QAT");
  for (const Line& line : widths.lines) {
    ASSERT_EQ(line.points.size(), 3);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(line.points[i].first, std::vector<double>({2, 4, 8})[i]);
  }
  EXPECT_EQ(widths.lines[1].points[0].second, sweep.formats[1].held_out.figure->value);
  const Table& by_width = table_of(record, "widths");
  ASSERT_EQ(by_width.rows.size(), 3);
  EXPECT_EQ(text_of(cell(by_width, "ptq_format", 1)), "int4.f2");
  EXPECT_EQ(value_of(cell(by_width, "qat", 0)), sweep.formats[1].held_out.figure->value);

  EXPECT_EQ(sweep_formats(original, o).measured, 0);
}

}  // namespace
}  // namespace hone

// hone train of models with batch norms: what a batch has to hold, and norms that go by the batch in the file.
#include "io/numpy.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/batch_norm_train.h"
#include "tests/jobs/file_training.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/normal_tensor.h"

namespace hone {
namespace {

using test::error_of;
using test::FileTraining;
using test::train_file;
using testing::Contains;
using testing::HasSubstr;

// A line of the graph that normalises %a, f32[N,4].
constexpr const char *kRelu = "%b = relu %a", *kByStatistics = "%b = batch_norm %a, %scale, %shift, %mean, %variance",
                     *kByTheBatch =
                         "%b, %m, %i, %mean2, %variance2 = batch_norm_train %a, %scale, %shift, %mean, %variance";

std::string perceptron(const std::string& norm) {
  return R"(graph perceptron {
  %x : f32[N,3] = input "x"
  %w : f32[4,3] = const "first.weight" {1,-2,3,-1,2,1,0.5,1,-1,2,1,-3}
  %scale : f32[4] = const "norm.weight" {1.5,0.5,2,1.25}
  %shift : f32[4] = const "norm.bias" {0.5,-0.5,0.25,1}
  %mean : f32[4] = const "norm.running_mean" {0.5,1,2,3}
  %variance : f32[4] = const "norm.running_var" {2,3,4,5}
  %v : f32[2,4] = const "last.weight" {1,2,-1,-2,0.5,1,2,-1}
  %a = linear %x, %w
  )" + norm +
         R"(
  %y = linear %b, %v
  return %y as "logits"
})";
}

class TrainNorms : public JobsTest {
 protected:
  FileTraining options_for(const std::string& norm, int64_t rows, int64_t batch) {
    std::vector<int64_t> labels(static_cast<size_t>(rows));
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = i % 2;
    const std::vector<NamedTensor> arrays{{"x", test::normal_tensor(1, {rows, 3})},
                                          {"y", Tensor::of<int64_t>({rows}, labels)}};
    write_npz(folder / "rows.npz", arrays);
    FileTraining options;
    options.model = put_graph("model.safetensors", perceptron(norm));
    options.data = folder / "rows.npz";
    options.output = folder / "out.safetensors";
    options.training.epochs = 1;
    options.training.batch = batch;
    options.training.head = "keep";
    options.training.rate = 1e-3;
    return options;
  }
  int64_t steps_of(const FileTraining& options) {
    said.clear();
    const TrainedModel trained = train_file(options, &said);
    std::filesystem::remove_all(folder / "out.run");
    return trained.outcome.steps;
  }

  std::vector<std::string> said;
};

TEST_F(TrainNorms, ASingleRowIsLeftOutWhereANormWouldSeeNothingElse) {
  EXPECT_EQ(steps_of(options_for(kRelu, 10, 3)), 4);
  EXPECT_EQ(steps_of(options_for(kByStatistics, 10, 3)), 3);
  EXPECT_THAT(said, Contains(HasSubstr("each epoch leaves out one row, another time others: in the batch that is left "
                                       "over, the batch norm of norm.weight would see a single value")));
  FileTraining frozen = options_for(kByStatistics, 10, 3);
  frozen.training.rule = {"norm=frozen"};
  EXPECT_EQ(steps_of(frozen), 4);
}

TEST_F(TrainNorms, TheRowsOfAPartCount) {
  FileTraining options = options_for(kByStatistics, 11, 4);
  options.training.parts = 2;
  options.training.in_order = true;
  EXPECT_EQ(steps_of(options), 2);  // 4, 4 and 3, which would be parts of 2 and 1
  EXPECT_THAT(said, Contains(HasSubstr("each epoch leaves out 3 rows, always the last")));
}

TEST_F(TrainNorms, ABatchOfSingleValuesIsRefusedBeforeTheFirstStep) {
  for (const auto& [batch, parts] : {std::pair{1, 1}, {4, 4}}) {
    FileTraining options = options_for(kByStatistics, 8, batch);
    options.training.parts = parts;
    EXPECT_THAT(error_of([&] { train_file(options); }),
                HasSubstr("the batch norm of norm.weight would see a single value of each channel"));
    EXPECT_FALSE(std::filesystem::exists(folder / "out.run"));
  }
}

TEST_F(TrainNorms, ANormThatGoesByTheBatchIsTrainedToGoByItsStatistics) {
  const FileTraining options = options_for(kByTheBatch, 12, 4);
  EXPECT_EQ(load_model(options.model).graph.nodes(batch_norm_train_def).size(), 1u);
  train_file(options);
  const Graph written = load_model(options.output).graph;
  EXPECT_EQ(written.nodes(batch_norm_def).size(), 1u);
  EXPECT_TRUE(written.nodes(batch_norm_train_def).empty());
  EXPECT_NE(written.constant(written.find_constant("norm.running_mean"))->to_floats()[0], 0.5f);
  EXPECT_NE(written.constant(written.find_constant("norm.running_var"))->to_floats()[0], 2.0f);
}

TEST_F(TrainNorms, AndTrainsAsOneThatGoesByThemInTheFile) {
  std::vector<Graph> written;
  for (const char* norm : {kByStatistics, kByTheBatch}) {
    const FileTraining options = options_for(norm, 12, 4);
    train_file(options);
    std::filesystem::remove_all(folder / "out.run");
    written.push_back(load_model(options.output).graph);
  }
  ASSERT_GT(written[0].constants().size(), 4u);
  for (ValueId id : written[0].constants()) {
    const Tensor* same = written[1].constant(written[1].find_constant(written[0].value(id).label));
    ASSERT_TRUE(same) << written[0].value(id).label;
    EXPECT_TRUE(same->same_bits(*written[0].constant(id))) << written[0].value(id).label;
  }
}

// Types in the file are those of the original, statistics' too.
TEST_F(TrainNorms, TensorsOfSixteenBitsAreWrittenSo) {
  FileTraining options = options_for(kByStatistics, 16, 4);
  std::string text = perceptron(kByStatistics);
  for (size_t at; (at = text.find("] = const \"")) != std::string::npos;) {
    text.replace(at, 11, "] = const  \"");
    text.replace(text.rfind("f32", at), 3, "bf16");
  }
  options.model = put_graph("model.safetensors", text);
  steps_of(options);
  EXPECT_THAT(said, Contains(HasSubstr("written in the type of the file, rounded to nearest")));
  const Graph before = load_model(options.model).graph, after = load_model(options.output).graph;
  for (const char* name : {"first.weight", "norm.weight", "norm.running_var", "last.weight"}) {
    const Tensor &trained = *after.constant(after.find_constant(name)),
                 &original = *before.constant(before.find_constant(name));
    EXPECT_EQ(to_string(trained.type()), to_string(original.type())) << name;
    EXPECT_FALSE(trained.same_bits(original)) << name;
  }
}

}  // namespace
}  // namespace hone

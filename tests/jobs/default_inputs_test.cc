#include "jobs/default_inputs.h"

#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class DefaultInputs : public JobsTest {
 protected:
  Graph encoder(const std::vector<std::string>& inputs = {}) const { return load_model(model, inputs).graph; }
};

std::vector<int64_t> extremes(const Tensor& tensor) {
  const std::vector<int64_t> values = tensor.to_integers();
  return {*std::min_element(values.begin(), values.end()), *std::max_element(values.begin(), values.end())};
}

TEST_F(DefaultInputs, TokensAreRowsOfTheTableAndMasksAreOnes) {
  const Graph graph = encoder({"input_ids", "attention_mask", "token_type_ids"});
  const NamedTensors inputs = default_inputs(graph, bind_symbols(graph, {.batch = 8, .sequence = 60, .dims = {}}), 1);
  ASSERT_EQ(inputs.size(), 3u);
  for (const auto& [name, tensor] : inputs) EXPECT_EQ(to_string(tensor.type()), "i64[8,60]") << name;
  const std::vector<int64_t> ids = extremes(inputs.at("input_ids"));  // 480 of 244 words: near both ends of the table
  EXPECT_TRUE(ids[0] >= 0 && ids[0] < 20 && ids[1] < 244 && ids[1] > 223) << ids[0] << " to " << ids[1];
  EXPECT_EQ(extremes(inputs.at("attention_mask")), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(extremes(inputs.at("token_type_ids")), (std::vector<int64_t>{0, 1}));
}

TEST_F(DefaultInputs, LabelsAreClasses) {
  const Graph graph =
      test::parse("%x : f32[B,3] = input \"x\" %l : i64[B] = input \"labels\" %r = cross_entropy %x, %l return %r");
  const NamedTensors inputs = default_inputs(graph, bind_symbols(graph, {.batch = 64, .sequence = {}, .dims = {}}), 1);
  EXPECT_EQ(extremes(inputs.at("labels")), (std::vector<int64_t>{0, 2}));
}

// Mean within 5 / sqrt(n), and as many values beyond 2 as a normal distribution has (4.55 %) within 5 deviations of
// that count.
TEST_F(DefaultInputs, FloatsAreNormal) {
  const Graph graph = test::parse("%x : f32[B,100] = input \"x\" %r = relu %x return %r");
  const std::vector<float> values = default_inputs(graph, {{"B", 100}}, 3).at("x").to_floats();
  double sum = 0, far = 0;
  for (float v : values) sum += v, far += std::abs(v) > 2;
  EXPECT_LT(std::abs(sum / 1e4), 0.05);
  EXPECT_NEAR(far, 455, 5 * std::sqrt(455.0));
}

// With no op that says more, only 0 is sure to be accepted.
TEST_F(DefaultInputs, OtherIntegersAreZero) {
  const Graph graph = test::parse("%x : i32[5] = input \"x\" %r = add %x, %x return %r");
  EXPECT_EQ(extremes(default_inputs(graph, {}, 1).at("x")), (std::vector<int64_t>{0, 0}));
}

TEST_F(DefaultInputs, TheSeedDecides) {
  const Graph graph = encoder();
  const Bindings shapes{{"B", 2}, {"S", 16}};
  const Tensor first = default_inputs(graph, shapes, 1).at("input_ids");
  EXPECT_TRUE(default_inputs(graph, shapes, 1).at("input_ids").same_bits(first));
  EXPECT_FALSE(default_inputs(graph, shapes, 2).at("input_ids").same_bits(first));
}

TEST_F(DefaultInputs, SymbolsAreBoundByPlaceAndByName) {
  const Graph graph = encoder();
  EXPECT_EQ(bind_symbols(graph, {}), (Bindings{{"B", 1}, {"S", 64}}));  // 128, but the model has 64 positions
  EXPECT_EQ(bind_symbols(graph, {.batch = 3, .sequence = 5, .dims = {}}), (Bindings{{"B", 3}, {"S", 5}}));
  EXPECT_EQ(bind_symbols(graph, {.batch = 3, .sequence = 5, .dims = {{"S", 7}}}), (Bindings{{"B", 3}, {"S", 7}}));
  const Graph images = test::parse("%x : f32[N,C,H] = input \"x\" %r = relu %x return %r");
  EXPECT_EQ(bind_symbols(images, {.batch = 2, .sequence = {}, .dims = {{"H", 9}}}),
            (Bindings{{"N", 2}, {"C", 128}, {"H", 9}}));
}

TEST_F(DefaultInputs, SizesAreThoseOfTheWeightsTheyMeet) {
  const Graph graph = test::parse(R"(
    %x : f32[B,F] = input "x"  %p : f32[N,C,H,W] = input "p"  %s : f32[G,T] = input "s"
    %w : f32[2,6] = const "w" {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
    %k : f32[2,2,1,1] = const "k" {1, 2, 3, 4}
    %b : f32[5] = const "b" {1, 2, 3, 4, 5}
    %y = linear %x, %w
    %c = conv %p, %k {groups=2}
    %a = add %s, %b
    return %y, %c, %a)");
  EXPECT_EQ(bind_symbols(graph, {}),
            (Bindings{{"B", 1}, {"F", 6}, {"N", 1}, {"C", 4}, {"H", 224}, {"W", 224}, {"G", 1}, {"T", 5}}));
  const Graph packed = test::parse(R"(
    %p : f32[N,C,H] = input "p"  %q : f32[N,2*D+1,H] = input "q"
    %k : f32[1,6] = const "k" {1, 2, 3, 4, 5, 6}
    %l : f32[1,5,1] = const "l" {1, 2, 3, 4, 5}
    %c = conv %p, %k {kernel_shape=[3]}
    %d = conv %q, %l
    return %c, %d)");
  EXPECT_EQ(bind_symbols(packed, {}), (Bindings{{"N", 1}, {"C", 2}, {"D", 2}, {"H", 16}})) << "C * 3 taps, 2 * D + 1";
  EXPECT_EQ(bind_symbols(graph, {.dims = {{"F", 7}}}).at("F"), 7) << "what is given is given";
}

// Five volumes of three taps, and half of what is left: a size of 1 leaves nothing.
TEST_F(DefaultInputs, SizesThatLeaveNothingAreLarger) {
  const Graph graph = test::parse(R"(
    %x : f32[B,1,D,H,W] = input "x"
    %y = max_pool %x {kernel_shape=[3,3,3]}
    %z = max_pool %y {kernel_shape=[3,3,3], strides=[2,2,2]}
    return %z)");
  EXPECT_EQ(bind_symbols(graph, {}), (Bindings{{"B", 1}, {"D", 16}, {"H", 16}, {"W", 16}}));
  EXPECT_EQ(bind_symbols(graph, {.dims = {{"D", 2}}}), (Bindings{{"B", 1}, {"D", 2}, {"H", 1}, {"W", 1}}))
      << "no size beside the given one would help";
  const Graph sound = test::parse(R"(
    %x : f32[B,T] = input "x"
    %r = reshape %x {shape=[B,1,T]}
    %y = max_pool %r {kernel_shape=[400], strides=[320]}
    return %y)");
  EXPECT_EQ(bind_symbols(sound, {}), (Bindings{{"B", 1}, {"T", 1024}}));
  EXPECT_EQ(bind_symbols(sound, {.sequence = 50, .dims = {}}), (Bindings{{"B", 1}, {"T", 50}}));
}

TEST_F(DefaultInputs, OperandsThatAreAbsentSelectNothing) {
  const Graph graph = test::parse(R"(
    %c : bool[] = input "c"
    %x : f32[2] = input "x"
    %y = loop _, %c, %x {carried=1} do graph b { %i : i64[] = input "i" %k : bool[] = input "k" %v : f32[2] = input "v" return %k, %v }
    return %y)");
  EXPECT_EQ(indexed_rows(graph, graph.find_value("c")), std::nullopt);
  EXPECT_EQ(default_inputs(graph, {}, 1).size(), 2u);
}

TEST_F(DefaultInputs, SizesThatTheModelCannotTakeAreRefused) {
  const Graph graph = encoder();
  const auto error = [&](const ShapeOptions& options) { return error_of([&] { bind_symbols(graph, options); }); };
  EXPECT_THAT(error({.batch = 1, .sequence = 65, .dims = {}}),
              testing::AllOf(HasSubstr("65"), HasSubstr("64 positions")));
  EXPECT_THAT(error({.batch = 1, .sequence = {}, .dims = {{"S", 65}}}),
              testing::AllOf(HasSubstr("65"), HasSubstr("64 positions")));
  EXPECT_EQ(error({.batch = 1, .sequence = 64, .dims = {}}), "");
  EXPECT_THAT(error({.batch = 0, .sequence = {}, .dims = {}}), HasSubstr("batch 0"));
  EXPECT_THAT(error({.batch = 1, .sequence = -1, .dims = {}}), HasSubstr("sequence -1"));
  EXPECT_THAT(error({.batch = 1, .sequence = {}, .dims = {{"S", 0}}}), HasSubstr("S is 0"));
  EXPECT_THAT(error({.batch = 1, .sequence = {}, .dims = {{"T", 4}}}), HasSubstr("no dimension \"T\""));
}

}  // namespace
}  // namespace hone

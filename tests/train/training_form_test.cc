// Passes see no values of stored tensors: whatever these hold, all of them are there after, once, under their names.
#include "train/training_form.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/bodies.h"
#include "ops/evaluate.h"
#include "tests/passes/parse_ops.h"

namespace hone::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<std::string> labels_of(const Graph& graph) {
  std::vector<std::string> labels;
  for (ValueId id : graph.constants())
    if (!graph.value(id).label.empty()) labels.push_back(graph.value(id).label);
  return labels;
}

std::vector<int64_t> shape_of(const Graph& graph, const std::string& label) {
  return graph.constant(graph.find_constant(label))->shape();
}

void expect_same_outputs(const Graph& a, const Graph& b, const std::map<std::string, Tensor>& inputs) {
  const std::vector<Tensor> want = evaluate(a, inputs), got = evaluate(b, inputs);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(want[i].to_doubles(), got[i].to_doubles());
}

const std::map<std::string, Tensor> kOne{{"x", Tensor::of<float>({1, 2}, {1, 2})}};

TEST(TrainingForm, KeepsBiasesOfZerosAndScalesOfOnes) {
  const Graph form = canonicalise_for_training(parse(R"(
    %x : f32[B,2] = input
    %w : f32[2,3] = const "w" {1, 2, 3, 4, 5, 6}
    %b : f32[3] = const "b" {0, 0, 0}
    %s : f32[3] = const "s" {1, 1, 1}
    %one : f32[1] = const "gain" {1}
    %m = matmul %x, %w
    %a = add %m, %b
    %c = mul %a, %s
    %y = mul %c, %one
    return %y)"));
  EXPECT_THAT(labels_of(form), UnorderedElementsAre("w", "b", "s", "gain"));
}

constexpr const char* kTwoNorms = R"(
    %x : f32[B,2] = input
    %v : f32[2,2] = const "v" {1, 2, 3, 4}
    %w : f32[2,2] = const "w" {4, 3, 2, 1}
    %s : f32[2] = const "scale" {SCALE}
    %b : f32[2] = const "bias" {0, 0}
    %m = matmul %x, %v
    %n = layer_norm %m, %s, %b
    %o = matmul %n, SECOND
    %y = layer_norm %o, %s, %b
    return %y)";

std::vector<std::string> labels_of_two_norms(const std::string& scale, const std::string& second) {
  std::string text = kTwoNorms;
  text.replace(text.find("SCALE"), 5, scale).replace(text.find("SECOND"), 6, second);
  return labels_of(canonicalise_for_training(parse(text)));
}

TEST(TrainingForm, FreshScalesAndBiasesThatAnExporterStoredOnceAreApart) {
  EXPECT_THAT(labels_of_two_norms("1, 1", "%w"), UnorderedElementsAre("v", "w", "scale", "scale.2", "bias", "bias.2"));
}

TEST(TrainingForm, ATrainedScaleThatTwoNormsReadIsOneTensor) {
  EXPECT_THAT(labels_of_two_norms("1, 2", "%w"), UnorderedElementsAre("v", "w", "scale", "bias", "bias.2"));
}

TEST(TrainingForm, FreshScalesOfSharedLayersAreOneTensor) {
  EXPECT_THAT(labels_of_two_norms("1, 1", "%v"), UnorderedElementsAre("v", "scale", "bias"));
}

TEST(TrainingForm, ATiedTableIsOneTensor) {
  const Graph tied = parse(R"(
    %i : i64[B,2] = input "i"
    %e : f32[3,2] = const "table" {1, 2, 3, 4, 5, 6}
    %h = gather %e, %i
    %t = transpose %e {perm=[1,0]}
    %y = matmul %h, %t
    return %y)");
  const TrainingForm form = training_form(tied);
  EXPECT_THAT(labels_of(form.graph), ElementsAre("table"));
  EXPECT_EQ(form.graph.nodes("linear").size(), 1u) << "of the table as it lies";
  EXPECT_TRUE(form.relaid.empty());
  expect_same_outputs(tied, form.graph, {{"i", Tensor::of<int64_t>({1, 2}, {2, 0})}});
}

TEST(TrainingForm, WeightsLieAsLayersReadThemAndGoBack) {
  const Graph graph = parse(R"(
    %x : f32[B,2] = input
    %w : f32[2,3] = const "w" {1, 2, 3, 4, 5, 6}
    %b : f32[1,3] = const "b" {1, 2, 3}
    %m = matmul %x, %w
    %y = add %m, %b
    return %y)");
  const TrainingForm form = training_form(graph);
  EXPECT_THAT(shape_of(form.graph, "w"), ElementsAre(3, 2));
  EXPECT_THAT(shape_of(form.graph, "b"), ElementsAre(3));
  EXPECT_THAT(stored_shape(form.relaid, "w", {}), ElementsAre(2, 3));
  const Graph back = in_stored_form(form.graph, form.relaid);
  for (const char* name : {"w", "b"})
    EXPECT_TRUE(back.constant(back.find_constant(name))->same_bits(*graph.constant(graph.find_constant(name)))) << name;
  expect_same_outputs(graph, back, kOne);
}

TEST(TrainingForm, AReplacedLayerGoesBackAsTheOneBefore) {
  TrainingForm form = training_form(parse(R"(
    %x : f32[B,2] = input
    %w : f32[2,3] = const "w" {1, 2, 3, 4, 5, 6}
    %b : f32[1,3] = const "b" {1, 2, 3}
    %m = matmul %x, %w
    %y = add %m, %b
    return %y)"));
  form.graph.set_constant(form.graph.find_constant("w"), Tensor(DType::f32, {5, 2}));
  form.graph.set_constant(form.graph.find_constant("b"), Tensor(DType::f32, {5}));
  form.graph.reinfer();
  const Graph back = in_stored_form(form.graph, form.relaid);
  EXPECT_THAT(shape_of(back, "w"), ElementsAre(2, 5));
  EXPECT_THAT(shape_of(back, "b"), ElementsAre(1, 5));
}

// Weights of 16 bits are trained in 32, and go back rounded to nearest: 1 + 2^-11 lies in the middle of two halves.
TEST(TrainingForm, HalvesThatAreWidenedBecomeFloats) {
  const Graph graph = parse(R"(
    %x : f32[B,2] = input
    %w : f16[2,2] = const "w" {1, 2, 3, 4}
    %f = cast %w {dtype=f32}
    %y = matmul %x, %f
    return %y)");
  const TrainingForm form = training_form(graph);
  EXPECT_EQ(form.graph.type(form.graph.find_constant("w")).dtype, DType::f32);
  EXPECT_EQ(form.graph.nodes("linear").size(), 1u);
  const Graph back = in_stored_form(form.graph, form.relaid);
  EXPECT_TRUE(back.constant(back.find_constant("w"))->same_bits(*graph.constant(graph.find_constant("w"))));
  EXPECT_EQ(back.nodes("matmul").size(), 1u);
  EXPECT_TRUE(back.nodes("transpose").empty());
  Graph trained = form.graph;
  trained.set_constant(trained.find_constant("w"), Tensor::of<float>({2, 2}, {1.00048828125f, -1.0007f, 3, 70000}));
  const Graph written = in_stored_form(trained, form.relaid);
  EXPECT_EQ(written.type(written.find_constant("w")).dtype, DType::f16);
  EXPECT_THAT(written.constant(written.find_constant("w"))->to_floats(),
              ElementsAre(1, 3, -1.0009765625f, std::numeric_limits<float>::infinity()));
  const Tensor& value = *trained.constant(trained.find_constant("w"));
  EXPECT_THAT(rounded_as_stored(form.relaid, "w", value).to_floats(),
              ElementsAre(1, -1.0009765625f, 3, std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(rounded_as_stored(form.relaid, "v", value).same_bits(value));
}

// Products are summed in f32 whatever their weights are; sums of halves are halves, so that an f32 would change them.
TEST(TrainingForm, TypesGoBackWhereNothingIsComputedInThem) {
  TrainingForm form = training_form(parse(R"(
    %x : f32[B,2] = input
    %w : bf16[2,2] = const "w" {1, 2, 3, 4}
    %b : f16[2] = const "b" {1, 2}
    %p = linear %x, %w
    %h = cast %p {dtype=f16}
    %y = add %h, %b
    return %y)"));
  EXPECT_THAT(form.computed_in_own_type, ElementsAre("b"));
  for (const char* name : {"w", "b"}) {
    const ValueId id = form.graph.find_constant(name);
    form.graph.set_constant(id, form.graph.constant(id)->converted(DType::f32));
  }
  form.graph.reinfer();
  const Graph back = in_stored_form(form.graph, form.relaid);
  EXPECT_EQ(back.type(back.find_constant("w")).dtype, DType::bf16);
  EXPECT_EQ(back.type(back.find_constant("b")).dtype, DType::f32);
}

// One row of a table is read, and all of it stays.
TEST(TrainingForm, ATableOfWhichOneRowIsReadStaysWhole) {
  const Graph form = canonicalise_for_training(parse(R"(
    %x : f32[B,2] = input
    %t : f32[3,2] = const "types" {1, 2, 3, 4, 5, 6}
    %zero : i64[] = const {0}
    %row = gather %t, %zero
    %y = add %x, %row
    return %y)"));
  EXPECT_THAT(shape_of(form, "types"), ElementsAre(3, 2));
}

TEST(TrainingForm, WhatIsComputedFromIntegersIsNoTensorOfTheFile) {
  const Graph form = canonicalise_for_training(parse(R"(
    %x : f32[B,2] = input
    %w : f32[2,2] = const "w" {1, 2, 3, 4}
    %p : i64[2] = const "positions" {0, 1}
    %f = cast %p {dtype=f32}
    %s = sin %f
    %l = linear %x, %w
    %y = add %l, %s
    return %y)"));
  EXPECT_THAT(labels_of(form), ElementsAre("w"));
}

TEST(TrainingForm, WeightsOfBodiesAreCaptured) {
  const Graph graph = parse(R"(
    %c : bool[] = input "c"
    %x : f32[1,2] = input "x"
    %y = if %c, %x, %x {then_captures=1} do
      graph yes {
        %a : f32[1,2] = input "a"
        %w : f32[2] = const "w" {1, 1}
        %p = mul %a, %w
        return %p as "0"
      }
      graph no {
        %a : f32[1,2] = input "a"
        %w : f32[2] = const "w" {1, 1}
        %b : f32[2] = const "b" {0, 0}
        %m = mul %a, %w
        %p = add %m, %b
        return %p as "0"
      }
    return %y)");
  const Graph form = canonicalise_for_training(graph);
  EXPECT_THAT(labels_of(form), UnorderedElementsAre("w", "b"));
  for (const Graph& body : form.node(form.nodes("if")[0]).subgraphs) EXPECT_TRUE(body.constants().empty());
  for (bool condition : {true, false})
    expect_same_outputs(graph, form, {{"c", Tensor::scalar<bool>(condition)}, {"x", kOne.at("x")}});
}

}  // namespace
}  // namespace hone::test

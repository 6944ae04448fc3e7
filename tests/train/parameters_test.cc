// What of a graph's constants is a parameter, as what it is read, and whether it decays.
#include "train/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/fixed_tensors.h"
#include "tests/passes/parse_ops.h"
#include "train/lora.h"
#include "train/optimizers/parameter_groups.h"
#include "train/training_form.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

// Constants without values are zeros.
Graph zeroed(const std::string& text) {
  ParseContext context = op_context();
  context.find_constant = [](std::string_view, const TensorType& type) {
    return Tensor(type.dtype, constant_shape(type.shape));
  };
  return parse_graph(text, context);
}

StoredTensor stored(const std::string& text, const std::string& name) {
  for (StoredTensor& tensor : stored_tensors(zeroed(text)))
    if (tensor.name == name) return std::move(tensor);
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

// The graph of one line that reads %w.
StoredTensor read_by(const std::string& type, const std::string& node, const std::string& name = "w") {
  return stored("%x : f32[B,4] = input\n%w : " + type + " = const \"" + name + "\"\n" + node + "\nreturn %y", name);
}

TEST(Parameters, AreReadAsWhatTheirOperandIs) {
  using Role = ParameterRole;
  EXPECT_EQ(read_by("f32[3,4]", "%y = linear %x, %w").role, Role::weight);
  EXPECT_EQ(read_by("f32[4,3]", "%y = matmul %x, %w").role, Role::weight);
  EXPECT_TRUE(read_by("f32[2,4,3]", "%y = matmul %x, %w").decays);
  EXPECT_EQ(read_by("f32[4]", "%y = layer_norm %x, %w").role, Role::norm);
  EXPECT_EQ(read_by("f32[4]", "%y = prelu %x, %w").role, Role::slope);
  EXPECT_EQ(read_by("f32[1,4]", "%y = mul %x, %w").role, Role::number);
  EXPECT_EQ(read_by("f32[4]", "%y = greater %x, %w").role, Role::none);
  EXPECT_EQ(read_by("f32[1]", "%v : f32[4,1] = const \"v\"\n%p = matmul %x, %v\n%y = add %p, %w").role, Role::bias);
}

TEST(Parameters, AreWhatReadsThemBehindMoves) {
  const StoredTensor tied = read_by("f32[4,4]",
                                    "%t = transpose %w\n%r = reshape %t {shape=[2,8]}\n"
                                    "%s = reshape %r {shape=[4,4]}\n%y = linear %x, %s");
  EXPECT_EQ(tied.role, ParameterRole::weight);
  EXPECT_EQ(tied.why_not, "");
  EXPECT_TRUE(tied.ops.contains("linear"));
}

// Zeros, ones, equal and single numbers are parameters like others.
TEST(Parameters, DoNotDependOnTheirValues) {
  for (const char* values : {"{0, 0, 0, 0}", "{1, 1, 1, 1}", "{0.25, 0.25, 0.25, 0.25}"})
    EXPECT_EQ(stored("%x : f32[B,4] = input\n%w : f32[4] = const \"w\" " + std::string(values) +
                         "\n%y = mul %x, %w\nreturn %y",
                     "w")
                  .why_not,
              "");
  EXPECT_EQ(
      stored("%x : f32[B,4] = input\n%w : f32[1,4] = const \"w\" {1, 2, 3, 4}\n%b : f32[1] = const \"b\" {200000}\n"
             "%y = linear %x, %w, %b\nreturn %y",
             "b")
          .why_not,
      "")
      << "the bias of a regressor";
}

TEST(Parameters, BiasesAndNormsDoNotDecayInWhateverDimensions) {
  EXPECT_TRUE(read_by("f32[3,4]", "%y = linear %x, %w").decays);
  EXPECT_FALSE(read_by("f32[1,4]", "%y = mul %x, %w").decays) << "a scale";
  EXPECT_TRUE(read_by("f32[2,4]", "%e = unsqueeze %x {axes=[1]}\n%y = add %e, %w").decays) << "positions";
  const char* recurrent =
      "%x : f32[S,B,4] = input\n%w : f32[1,9,4] = const \"w\"\n%r : f32[1,9,3] = const \"r\"\n"
      "%b : f32[1,18] = const \"b\"\n%y, %h = gru %x, %w, %r, %b\nreturn %y";
  EXPECT_TRUE(stored(recurrent, "w").decays);
  EXPECT_TRUE(stored(recurrent, "r").decays);
  EXPECT_FALSE(stored(recurrent, "b").decays);
}

// A shift of two dimensions behind a normalisation, as that of torch.nn.LayerNorm([2, 4]) is written in primitives.
TEST(Parameters, AShiftBehindANormalisationIsPartOfIt) {
  const StoredTensor shift = read_by("f32[2,4]", "%n = layer_norm %x\n%e = unsqueeze %n {axes=[1]}\n%y = add %e, %w");
  EXPECT_EQ(shift.role, ParameterRole::norm);
  EXPECT_FALSE(shift.decays);
}

TEST(Parameters, TablesAndMasksAreToldByTheirNames) {
  for (const char* name : {"cos", "layers.0.rotary.sin_cached", "inv_freq", "attn_mask", "causal_mask_1"})
    EXPECT_THAT(read_by("f32[2,4]", "%e = unsqueeze %x {axes=[1]}\n%y = mul %e, %w", name).why_not,
                HasSubstr("by its name"))
        << name;
  for (const char* name : {"cosine.weight", "mask_token", "single", "basin"})
    EXPECT_EQ(read_by("f32[2,4]", "%e = unsqueeze %x {axes=[1]}\n%y = mul %e, %w", name).why_not, "") << name;
}

TEST(Parameters, MasksAreToldByNumbersThatNoWeightHas) {
  const std::string text =
      "%x : f32[2,2] = input\n%w : f32[2,2] = const \"m\" {0, -1e9, 0, 0}\n%y = add %x, %w\nreturn %y";
  EXPECT_THAT(stored(text, "m").why_not, HasSubstr("as masks do"));
}

TEST(Parameters, SingleNumbersOfFormulasAreLiterals) {
  EXPECT_TRUE(is_literal(read_by("f32[]", "%y = pow %x, %w")));
  EXPECT_TRUE(is_literal(read_by("f32[]", "%a = add %x, %w\n%y = sqrt %a")));
  EXPECT_TRUE(is_literal(read_by("f32[1]", "%y = mul %x, %w", "onnx::Mul_12")));
  EXPECT_TRUE(is_literal(read_by("f32[]", "%y = mul %x, %w", "val_3")));
  EXPECT_FALSE(is_literal(read_by("f32[]", "%y = mul %x, %w", "logit_scale")));
  EXPECT_FALSE(is_literal(read_by("f32[1]", "%y = prelu %x, %w", "act.weight")));
}

// Nothing trains it, and the listing, which `hone train` prints, says why.
TEST(Parameters, WhatABodyKeepsIsNamedWithTheReason) {
  const Graph graph = zeroed(R"(
    %most : i64[] = input "most"
    %x : f32[4] = input "x"
    %v : f32[4] = const "v"
    %last, %all = loop %most, _, %x {carried=1} do
      graph body {
        %i : i64[] = input "i"
        %go : bool[] = input "go"
        %h : f32[4] = input "h"
        %w : f32[4,4] = const "w"
        %n : f32[4] = const "cos"
        %p = linear %h, %w
        %m = mul %p, %n
        return %go as "0", %m as "1", %m as "2"
      }
    %y = mul %last, %v
    return %y as "y", %all as "all")");
  const TrainingForm form = training_form(graph);
  ASSERT_EQ(form.others.size(), 2u);
  EXPECT_EQ(form.others[0].name, "w");
  EXPECT_EQ(form.others[0].why_not, "a weight of a body of loop (%last), whose results have sizes that depend on data");
  EXPECT_THAT(form.others[1].why_not, HasSubstr("by its name"));
  const TrainableConstants chosen = choose_trainable(form.graph, {.rules = {}, .untrainable = form.others});
  ASSERT_EQ(chosen.others.size(), 2u);
  EXPECT_THAT(error_of([&] { choose_trainable(form.graph, {.rules = {"^w$=rate:2"}, .untrainable = form.others}); }),
              HasSubstr("w is no parameter: a weight of a body of loop"));
  EXPECT_THAT(error_of([&] { choose_trainable(form.graph, {.rules = {"w=trained"}, .untrainable = form.others}); }),
              HasSubstr("w can't be trained: a weight of a body of loop"));
}

// LoRA, rounding and pruning address layers by the constant that they read.
TEST(Parameters, WeightsBehindOtherNodesAreNamedWithWhatReadsThem) {
  const Graph graph = zeroed(R"(
    %x : f32[B,4] = input "x"
    %seen : f32[4,4] = const "seen"
    %part : f32[8,4] = const "part"
    %a : f32[2,4] = const "a"
    %b : f32[2,4] = const "b"
    %cos : f32[4,4] = const "cos"
    %w : f32[1,9,4] = const "gru.w"
    %r : f32[1,9,3] = const "gru.r"
    %h1 = linear %x, %seen
    %s = slice %part {starts=[0], ends=[4], axes=[0]}
    %h2 = linear %h1, %s
    %c = concat %a, %b {axis=0}
    %h3 = linear %h2, %c
    %m = mul %h3, 2.0
    %u = unsqueeze %m {axes=[0]}
    %y, %last = gru %u, %w, %r
    return %y)");
  std::vector<std::string> all, by_layers;
  for (const StoredTensor& tensor : unseen_weights(graph)) all.push_back(tensor.name + ": " + tensor.why_not);
  EXPECT_THAT(all, testing::ElementsAre("part: linear reads it behind slice", "a: linear reads it behind concat",
                                        "b: linear reads it behind concat"));
  for (const StoredTensor& tensor : unadapted_weights(graph)) by_layers.push_back(tensor.name + ": " + tensor.why_not);
  EXPECT_THAT(by_layers, testing::IsSupersetOf({"gru.w: gru reads it", "part: linear reads it behind slice"}));
  EXPECT_EQ(by_layers.size(), 5u);
}

// Scales of codes belong to the format.
TEST(Parameters, WhatDequantizesIsNoParameter) {
  const StoredTensor scale = stored(
      "%x : f32[B,4] = input\n%c : i8[3,4] = const \"codes\"\n%s : f32[3,1] = const \"scale\" {1, 2, 3}\n"
      "%w = dequantize_linear %c, %s {dtype=f32}\n%y = linear %x, %w\nreturn %y",
      "scale");
  EXPECT_FALSE(scale.can_be);
}

TEST(Parameters, ARuleTrainsWhatIsNoneByItsName) {
  const Graph graph = parse(
      "%x : f32[2,2] = input\n%c : f32[2,2] = const \"cos\" {1, 0, 0, 1}\n%w : f32[2,2] = const \"w\" {1, 2, 3, 4}\n"
      "%l = linear %x, %w\n%y = mul %l, %c\nreturn %y");
  const TrainableConstants by_itself = choose_trainable(graph, {});
  ASSERT_EQ(by_itself.others.size(), 1u);
  EXPECT_EQ(by_itself.others[0].name, "cos");
  EXPECT_EQ(choose_trainable(graph, {.rules = {"cos=trained"}}).groups[0].parameters.size(), 2u);
  EXPECT_EQ(choose_trainable(graph, {.rules = {"cos|sin=frozen"}}).groups[0].parameters.size(), 1u);
  EXPECT_THAT(error_of([&] { choose_trainable(graph, {.rules = {"cos=rate:2"}}); }),
              HasSubstr("cos is no parameter: a table or mask by its name; NAMES=trained makes it one"));
}

TEST(Parameters, WhatTheSourceDoesNotTrainIsNoneUnlessARuleSaysSo) {
  Graph graph = parse(
      "%x : f32[2,2] = input\n%p : f32[2,2] = const \"positions\" {1, 0, 0, 1}\n%w : f32[2,2] = const \"w\" {1, 2, 3, "
      "4}\n"
      "%a = add %x, %p\n%y = linear %a, %w\nreturn %y");
  fix_tensor(graph, "sines");
  EXPECT_EQ(choose_trainable(graph, {}).groups[0].parameters.size(), 2u);
  fix_tensor(graph, "positions");
  const TrainableConstants chosen = choose_trainable(graph, {});
  ASSERT_EQ(chosen.others.size(), 1u);
  EXPECT_EQ(chosen.others[0].name, "positions");
  EXPECT_EQ(choose_trainable(graph, {.rules = {"positions=trained"}}).groups[0].parameters.size(), 2u);
}

}  // namespace
}  // namespace hone::test

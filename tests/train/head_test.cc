// The last layer fitted to labels: kept, replaced or added, by the width and rank of what the model gives.
#include "train/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/calls/linear.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/transcendental.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

using testing::HasSubstr;

Graph classifier(int64_t classes) {
  Graph g;
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 8}});
  g.add_output(ops::linear(g, {.x = x,
                               .w = g.add_constant("fc.weight", Tensor(DType::f32, {classes, 8})),
                               .b = g.add_constant("fc.bias", Tensor(DType::f32, {classes}))}),
               "logits");
  return g;
}

Graph encoder(const char* output, bool mask) {
  Graph g;
  const Dim b = Dim::symbol("B"), s = Dim::symbol("S");
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {b, s, 8}});
  if (mask) {
    const ValueId m = g.add_input("attention_mask", {.dtype = DType::i64, .shape = {b, s}});
    if (std::string(output) == "embedding") {
      g.add_output(ops::l2_normalise(g, {ops::mean_pool(g, {.x = x, .mask = m})}), output);
      return g;
    }
  }
  g.add_output(ops::tanh(g, {x}), output);
  return g;
}

std::string type_of(const Graph& graph) { return to_string(graph.type(graph.outputs()[0].value)); }

TEST(Head, ThatFitsIsKept) {
  const FittedHead head = fit_head(classifier(3), {.width = 3});
  EXPECT_FALSE(head.made);
  EXPECT_EQ(type_of(head.graph), "f32[B,3]");
}

TEST(Head, OfAnotherWidthIsReplacedUnderItsNames) {
  const FittedHead head = fit_head(classifier(3), {.width = 5});
  EXPECT_TRUE(head.made);
  EXPECT_EQ(head.what, "fc.weight [5,8] in place of one of 3");
  EXPECT_EQ(type_of(head.graph), "f32[B,5]");
  EXPECT_EQ(head.graph.constants().size(), 2u);
  const Tensor& w = *head.graph.constant(head.graph.find_constant("fc.weight"));
  EXPECT_EQ(w.shape(), (std::vector<int64_t>{5, 8}));
  EXPECT_TRUE(
      w.same_bits(*fit_head(classifier(3), {.width = 5}).graph.constant(head.graph.find_constant("fc.weight"))));
}

TEST(Head, IsAddedBehindFeatures) {
  FittedHead head = fit_head(encoder("last_hidden_state", true), {.width = 2});
  EXPECT_EQ(head.what, "classifier.weight [2,8] behind last_hidden_state, the mean over words");
  EXPECT_EQ(type_of(head.graph), "f32[B,2]");
  EXPECT_EQ(head.graph.nodes("mean_pool").size(), 1u);
  head = fit_head(encoder("last_hidden_state", false), {.width = 2});
  EXPECT_EQ(head.graph.nodes("reduce_mean").size(), 1u);
  head = fit_head(encoder("last_hidden_state", true), {.pooling = "first", .width = 2});
  EXPECT_EQ(head.what, "classifier.weight [2,8] behind last_hidden_state, its first word");
  head = fit_head(encoder("last_hidden_state", true), {.width = 4, .per_word = true});
  EXPECT_EQ(type_of(head.graph), "f32[B,S,4]");
}

TEST(Head, ReadsWhatAUnitVectorWasMadeOf) {
  const FittedHead head = fit_head(encoder("embedding", true), {.width = 2});
  const NodeId last = head.graph.producer(head.graph.outputs()[0].value);
  EXPECT_EQ(head.graph.producer_op(head.graph.operand(last, 0)), &mean_pool_def);
}

// Convolutional networks give maps first; their own pooled features, where they have them, are what a head reads.
TEST(Head, ReadsWhatMapsWerePooledTo) {
  Graph g;
  const Dim b = Dim::symbol("B"), side = Dim::symbol("H");
  const ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {b, 8, side, side}});
  g.add_output(ops::tanh(g, {x}), "last_hidden_state");
  EXPECT_EQ(fit_head(g, {.width = 3}).what, "classifier.weight [3,8] behind last_hidden_state, the mean of each map");
  g.add_output(ops::reduce_mean(g, {.x = x, .axes = std::vector<int64_t>{2, 3}, .keepdims = 0}), "pooler_output");
  const FittedHead head = fit_head(g, {.width = 3});
  EXPECT_EQ(head.what, "classifier.weight [3,8] behind pooler_output");
  EXPECT_EQ(type_of(head.graph), "f32[B,3]");
  EXPECT_THAT(error_of([&] { fit_head(g, {.width = 3, .per_word = true}); }), HasSubstr("a layer for words"));
}

TEST(Head, SaysWhatCannotBe) {
  EXPECT_THAT(error_of([] { fit_head(classifier(3), {.head = "keep", .width = 5}); }),
              HasSubstr("the model gives f32[B,3] where labels need 5 for each row"));
  EXPECT_THAT(error_of([] { fit_head(encoder("y", false), {.head = "replace", .width = 5}); }),
              HasSubstr("comes from no linear layer"));
  EXPECT_THAT(error_of([] { fit_head(classifier(3), {.head = "ad", .width = 5}); }),
              HasSubstr("head is \"ad\"; accepted: auto, keep, replace, add. Did you mean add?"));
  EXPECT_THAT(error_of([] { fit_head(classifier(3), {.width = 5, .per_word = true}); }),
              HasSubstr("a layer for words needs [rows, words, features]"));
  EXPECT_THAT(error_of([] { fit_head(classifier(3), {.output = "logit", .width = 5}); }),
              HasSubstr("the model has no output \"logit\"; it has logits. Did you mean logits?"));
  EXPECT_THAT(error_of([] { fit_head(classifier(3), {.width = 0}); }), HasSubstr("labels have 0 classes or numbers"));
}

}  // namespace
}  // namespace hone::test

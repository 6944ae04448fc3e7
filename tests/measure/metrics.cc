// Constants marked "scikit-learn" are from scikit-learn 1.9.1 and SciPy 1.17.1, by the call in the comment, on the
// lists that stand beside it.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/registry.h"
#include "measure/confusion.h"
#include "measure/registry.h"
#include "tests/measure/answers.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

const std::vector<int64_t> kRight{0, 1, 2, 2, 1, 0, 2, 1, 1, 0, 2, 2}, kGiven{0, 2, 2, 1, 1, 0, 2, 1, 0, 1, 2, 2};

TEST(Metrics, AccuracyIsTheShareOfRightRows) {  // 8 of 12
  EXPECT_DOUBLE_EQ(value_of("accuracy", classified(3, kGiven, kRight)), 2.0 / 3);
}

TEST(Metrics, AccuracyAtKCountsTheKLargestScores) {
  const GivenAnswers a{
      .samples = 4, .width = 3, .scores = {2, 1, 0.5f, 0.1f, 0.2f, 3, 1, 1, 1, -2, 4, 0}, .classes = {0, 2, 1, 0}};
  EXPECT_EQ(value_of("accuracy", a), 0.5);     // of equal scores the first is given: the third row is wrong
  EXPECT_EQ(value_of("accuracy@2", a), 0.75);  // top_k_accuracy_score(right, scores, k=2)
  EXPECT_EQ(value_of("accuracy@3", a), 1);
}

TEST(Metrics, ClassesAreAsScikitLearnCountsThem) {
  const GivenAnswers a = classified(3, kGiven, kRight);
  EXPECT_NEAR(value_of("f1_macro", a), 0.6555555555555556, 1e-15);  // f1_score(right, given, average='macro')
  EXPECT_EQ(value_of("f1", a), value_of("f1_macro", a));
  EXPECT_NEAR(value_of("f1_micro", a), 2.0 / 3, 1e-15);
  EXPECT_NEAR(value_of("mcc", a), 0.48936170212765956, 1e-15);  // matthews_corrcoef(right, given)
}

// Found 4, claimed 1, missed 2: 8 / 11. f1_score(right, given), matthews_corrcoef(right, given) of scikit-learn.
TEST(Metrics, OfTwoClassesF1IsThatOfTheSecond) {
  const GivenAnswers a = classified(2, {1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, {1, 0, 1, 1, 0, 0, 1, 0, 1, 1});
  EXPECT_NEAR(value_of("f1", a), 8.0 / 11, 1e-15);
  EXPECT_NEAR(value_of("mcc", a), 0.408248290463863, 1e-15);
}

// f1_score([0, 0, 1, 1], [0, 2, 1, 2], average='macro'): class 2 is claimed and never right; class 3 does not occur.
TEST(Metrics, MacroF1IsOverTheClassesThatOccur) {
  EXPECT_NEAR(value_of("f1_macro", classified(4, {0, 2, 1, 2}, {0, 0, 1, 1})), 0.4444444444444444, 1e-15);
}

TEST(Metrics, LabelsHoldWhereScoresAreAboveZero) {
  const GivenAnswers a{.kind = TargetKind::labels,
                       .samples = 4,
                       .width = 3,
                       .scores = {2, -1, -1, -3, 0.5f, 1, 1, -1, -1, -1, -1, -1},
                       .values = {1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0}};
  EXPECT_NEAR(value_of("f1", a), 0.5555555555555555, 1e-15);  // f1_score(right, given, average='macro')
  EXPECT_NEAR(value_of("f1_micro", a), 2.0 / 3, 1e-15);       // average='micro'
}

TEST(Metrics, RowsOfAnIgnoredClassDoNotCount) {
  // Two samples of three tokens: of four that count, three are right.
  const GivenAnswers a = classified(2, {1, 0, 1, 0, 0, 1}, {1, kIgnored, 1, 1, 0, kIgnored}, 3);
  EXPECT_EQ(value_of("accuracy", a), 0.75);
  EXPECT_NEAR(value_of("f1", a), 0.8, 1e-15);  // found 2, missed 1
  EXPECT_EQ(evidence_of("accuracy", a).counted, 4);
  EXPECT_EQ(error_of([&] { evidence_of("accuracy", classified(2, {1}, {kIgnored})); }),
            "metric accuracy: none of the 1 samples counts");
}

// Of (1/4, 3/4) beside (1/2, 1/2): ln(1/2) / 4 + 3 ln(3/2) / 4. The row between does not count.
TEST(Metrics, DivergenceIsOfWhatTheOtherModelGives) {
  const float three = std::log(3.0f);
  const GivenAnswers a{.kind = TargetKind::answers,
                       .samples = 1,
                       .width = 2,
                       .scores = {1, 1, 7, 0, 5, 4},
                       .classes = {0, kIgnored, 1},
                       .values = {0, three, 0, 7, 1, 0}};
  EXPECT_NEAR(value_of("kl", a), (std::log(0.5) / 4 + 3 * std::log(1.5) / 4) / 2, 1e-7);
  EXPECT_EQ(value_of("same_token", a), 0.5);
  const Evidence evidence = evidence_of("kl", a);
  ASSERT_EQ(evidence.rows.size(), 2u);
  EXPECT_EQ(evidence.rows[1].c, 1);
  EXPECT_EQ(evidence.counted, 2);
  GivenAnswers short_of_one = a;
  short_of_one.classes.pop_back();
  EXPECT_NE(error_of([&] { evidence_of("kl", short_of_one); }), "");
}

// np.exp(log_loss(right, softmax(scores))) of scikit-learn.
TEST(Metrics, PerplexityIsThatOfTheSoftmax) {
  const GivenAnswers a{
      .samples = 4, .width = 3, .scores = {2, 1, 0.5f, 0.1f, 0.2f, 3, 1, 1, 1, -2, 4, 0}, .classes = {0, 2, 1, 0}};
  EXPECT_NEAR(value_of("perplexity", a), 6.843442668079998, 1e-6);  // 0.1 and 0.2 are floats here
  EXPECT_NEAR(std::exp(value_of("cross_entropy", a)), value_of("perplexity", a), 1e-12);
  GivenAnswers even{.samples = 1, .width = 4, .scores = {1000, 1000, 1000, 1000}, .classes = {3}};
  EXPECT_NEAR(value_of("perplexity", even), 4, 1e-12);
}

TEST(Metrics, NumbersAreAsScikitLearnAndSciPySay) {
  const GivenAnswers a = numbers({0.5f, 2, 1.5f, 4, 3, 3, -1, 2.5f}, {1, 2, 2, 3.5f, 3, 5, 0, 1});
  EXPECT_EQ(value_of("mse", a), 1.0);                               // mean_squared_error
  EXPECT_EQ(value_of("mae", a), 0.75);                              // mean_absolute_error
  EXPECT_NEAR(value_of("pearson", a), 0.7898617626974098, 1e-15);   // pearsonr(given, right)
  EXPECT_NEAR(value_of("spearman", a), 0.8485004317396407, 1e-15);  // spearmanr(given, right), with ties in both
}

TEST(Metrics, NumbersThatAreNotKnownDoNotCount) {
  const GivenAnswers a = numbers({1, 5, 2, 2}, {1, NAN, 3, 2});
  EXPECT_NEAR(value_of("mse", a), 1.0 / 3, 1e-15);
  EXPECT_NEAR(value_of("pearson", a), std::sqrt(3) / 2, 1e-15);  // (1, 2, 2) and (1, 3, 2)
}

TEST(Metrics, ConstantsHaveNoCorrelation) {
  EXPECT_EQ(value_of("pearson", numbers({2, 2, 2}, {1, 2, 3})), 0);
  EXPECT_EQ(value_of("spearman", numbers({2, 2, 2}, {1, 2, 3})), 0);
  EXPECT_EQ(value_of("mcc", classified(2, {1, 1}, {0, 1})), 0);
  EXPECT_EQ(error_of([] {
              value_of("pearson", numbers({2, 2, 2, 1}, {1, 2, 3, 4}, 2));
            }),
            "a correlation is of one number a sample; the model gives 2");
}

// Ranks 1, 1, 2 and 4 by sklearn.metrics.pairwise.cosine_similarity(queries, documents).
const GivenAnswers kPairs{.kind = TargetKind::partners,
                          .samples = 4,
                          .width = 3,
                          .scores = {1, 0, 0, 0.8f, 0.6f, 0, 0, 0.2f, 1, 0.5f, 0.5f, 0.5f},
                          .values = {0.9f, 0.1f, 0, 0.9f, 0.5f, 0.1f, 0.1f, 1, 0.8f, 0, 0, 1}};

TEST(Metrics, RetrievalRanksAllPartners) {
  EXPECT_EQ(value_of("recall", kPairs), 0.5);
  EXPECT_EQ(value_of("recall@2", kPairs), 0.75);
  EXPECT_EQ(value_of("recall@4", kPairs), 1);
  EXPECT_EQ(value_of("mrr", kPairs), 0.6875);  // label_ranking_average_precision_score(np.eye(4), cosines)
}

// One embedding for everything finds its partner among four at a random place.
TEST(Metrics, ACollapsedModelRetrievesByChance) {
  GivenAnswers a = kPairs;
  a.scores.assign(12, 0.3f), a.values.assign(12, 0.3f);
  EXPECT_NEAR(value_of("recall", a), 0.25, 1e-15);
  EXPECT_NEAR(value_of("recall@3", a), 0.75, 1e-15);
  EXPECT_NEAR(value_of("mrr", a), (1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4, 1e-15);
}

// 0 and 1 are of one group and near each other, 2 and 3 of another but far apart; 4 is alone, so it has nothing to
// find.
TEST(Metrics, GroupsAreFoundAmongTheOtherRows) {
  const GivenAnswers a{.kind = TargetKind::groups,
                       .samples = 5,
                       .width = 2,
                       .scores = {1, 0, 1, 0.1f, 0, 1, 1, 0.3f, 0.1f, 1},
                       .classes = {7, 7, 9, 9, 11}};
  EXPECT_EQ(evidence_of("recall", a).counted, 4);
  EXPECT_EQ(value_of("recall", a), 0.5);
}

TEST(Metrics, BatchesAreAsOneBatch) {
  const GivenAnswers first = classified(3, {0, 2, 2, 1}, {0, 1, 2, 2}),
                     second = classified(3, {1, 0, 2, 1, 0, 1, 2, 2}, {1, 0, 2, 1, 1, 0, 2, 2});
  for (const char* name : {"accuracy", "f1", "mcc", "perplexity"}) {
    MetricSamples samples(parse_metric(name));
    samples.add(first), samples.add(second);
    const Estimate apart = estimate(parse_metric(name), samples.finish());
    const Estimate together = estimate(parse_metric(name), evidence_of(name, classified(3, kGiven, kRight)));
    EXPECT_EQ(apart.value, together.value) << name;
    EXPECT_EQ(apart.ci95->low, together.ci95->low) << name;
    EXPECT_EQ(apart.samples, 12) << name;
  }
}

TEST(Metrics, RetrievalIsOverAllBatches) {
  MetricSamples samples(parse_metric("mrr"));
  for (size_t i = 0; i < 4; ++i)
    samples.add({.kind = TargetKind::partners,
                 .samples = 1,
                 .width = 3,
                 .scores = std::span(kPairs.scores).subspan(3 * i, 3),
                 .values = std::span(kPairs.values).subspan(3 * i, 3)});
  EXPECT_EQ(estimate(parse_metric("mrr"), samples.finish()).value, 0.6875);
}

TEST(Metrics, ANotANumberIsWrong) {
  GivenAnswers a = classified(2, {0, 1, 1}, {0, 1, 1});
  a.scores[0] = NAN;
  EXPECT_NEAR(value_of("accuracy", a), 2.0 / 3, 1e-15);
  EXPECT_NEAR(value_of("f1_macro", a), 0.5, 1e-15);
  EXPECT_LT(value_of("mcc", a), 1);
  EXPECT_TRUE(std::isnan(value_of("perplexity", a)));
  EXPECT_FALSE(estimate(parse_metric("perplexity"), evidence_of("perplexity", a)).ci95);
}

TEST(Metrics, ConfusionsAreCounted) {
  Confusion confusion;
  confusion.add(classified(3, kGiven, kRight));
  EXPECT_EQ(confusion.rows(), 12);
  EXPECT_EQ(confusion.count(2, 2), 4);
  EXPECT_EQ(confusion.count(1, 2), 1);
  const std::vector<Confusion::Pair> mistakes = confusion.mistakes();
  ASSERT_EQ(mistakes.size(), 4u);  // 0 for 1, 1 for 0, 1 for 2, 2 for 1
  confusion.add(classified(3, {1, 1}, {2, kIgnored}));
  EXPECT_EQ(confusion.mistakes()[0].right, 2);
  EXPECT_EQ(confusion.mistakes()[0].predicted, 1);
  EXPECT_EQ(confusion.mistakes()[0].count, 2);
  GivenAnswers bad = classified(3, {1}, {1});
  bad.scores[2] = NAN;
  confusion.add(bad);
  EXPECT_EQ(confusion.not_a_number(), 1);
  EXPECT_EQ(error_of([&] { confusion.add(classified(2, {1}, {1})); }), "2 classes after 3 of the batches before");
}

TEST(Metrics, AnswersThatDoNotFitAreRefused) {
  EXPECT_EQ(error_of([] {
              value_of("accuracy", classified(2, {0, 1}, {0, 5}));
            }),
            "sample 1 is of class 5, but the model gives 2 scores, for classes 0 to 1");
  EXPECT_EQ(error_of([] {
              value_of("mse", classified(2, {0, 1}, {0, 1}));
            }),
            "metric mse is not one of classes: mean of squared differences to the right numbers");
  GivenAnswers wide = numbers({1, 2, 3, 4}, {1, 2}, 1);
  EXPECT_EQ(error_of([&] { value_of("mse", wide); }), "the data have 1 values for each sample, the model gives 2");
  const GivenAnswers labels{
      .kind = TargetKind::labels, .samples = 1, .width = 2, .scores = {1, 2}, .values = {1, 0.5f}};
  EXPECT_EQ(error_of([&] { value_of("f1", labels); }),
            "a label is 0.5; 0 or 1 is expected, or NaN where it is not known");
}

TEST(Metrics, NamesAreParsed) {
  EXPECT_EQ(parse_metric("accuracy@5").name(), "accuracy@5");
  EXPECT_EQ(parse_metric("accuracy@1").name(), "accuracy");
  EXPECT_EQ(parse_metric("recall").name(), "recall");
  EXPECT_EQ(error_of([] { parse_metric("acuracy"); }),
            "there is no metric \"acuracy\"; there are accuracy, cross_entropy, f1, f1_macro, f1_micro, kl, mae, mcc, "
            "mrr, mse, pearson, perplexity, recall, same_token, spearman. Did you mean accuracy?");
  EXPECT_EQ(error_of([] { parse_metric("f1@3"); }), "metric f1@3: no number belongs after f1");
  for (const char* bad : {"accuracy@", "accuracy@0", "accuracy@-1", "accuracy@2x", "accuracy@99999999999999999999"})
    EXPECT_EQ(error_of([&] { parse_metric(bad); }),
              fmt::format("metric {}: a whole number from 1 to 1000000 is expected after accuracy@", bad));
}

TEST(Metrics, EveryOneHasADocAndSaysWhatItIsOf) {
  for (const MetricDef* def : measure::all()) {
    EXPECT_GT(std::string(def->doc).size(), 10u) << def->name;
    EXPECT_NE(def->targets, 0) << def->name;
    EXPECT_EQ(parse_metric(def->name).name(), def->name);
  }
}

}  // namespace
}  // namespace hone::test

// How closely two models agree: figures by hand on graphs whose outputs are known.
#include "views/agreement.h"

#include <cmath>

#include "jobs/sample_texts.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

Session session_of(const std::string& text) { return Session(test::parse(text), SessionOptions{.optimise = 0}); }

const char* kIdentity = R"(graph g {
  %x : f32[N,2] = input "x"
  %y = identity %x
  return %y as "OUTPUT"
})";
const char* kFirstNegated = R"(graph g {
  %x : f32[N,2] = input "x"
  %m : f32[2] = full {shape=[2], value=-1.0}
  %y = mul %x, %m
  return %y as "OUTPUT"
})";

std::string named(std::string text, const std::string& output) { return text.replace(text.find("OUTPUT"), 6, output); }

// Four directions; 0 and 1 are near each other, so are 2 and 3.
NamedTensors four_rows() {
  return {{"x", Tensor::of<float>({4, 2}, std::vector<float>{1, 0, 1, 0.1f, 0, 1, 0.1f, 1})}};
}

TEST(Agreement, AModelAgreesWithItself) {
  Session a = session_of(named(kIdentity, "embedding")), b = session_of(named(kIdentity, "embedding"));
  const std::vector<NamedTensors> inputs{four_rows(), four_rows()};
  const std::vector<OutputAgreement> found = agreement(a, b, inputs).outputs;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].output, "embedding");
  EXPECT_EQ(found[0].cosine.rows, 8);
  EXPECT_DOUBLE_EQ(found[0].cosine.min, 1);
  EXPECT_EQ(found[0].quality.max_abs_error, 0);
  EXPECT_EQ(found[0].same_neighbour, 1);
  EXPECT_FALSE(found[0].same_class);
}

// Negating everything turns each row round (cosine -1, another largest score) but moves no two rows apart.
TEST(Agreement, NegationKeepsNeighboursAndChangesClasses) {
  Session a = session_of(named(kIdentity, "embedding")), b = session_of(named(kFirstNegated, "embedding"));
  const OutputAgreement turned = agreement(a, b, std::vector{four_rows()}).outputs[0];
  EXPECT_DOUBLE_EQ(turned.cosine.mean, -1);
  EXPECT_EQ(turned.same_neighbour, 1);
  EXPECT_EQ(turned.quality.max_abs_error, 2);

  Session c = session_of(named(kIdentity, "logits")), d = session_of(named(kFirstNegated, "logits"));
  const OutputAgreement scores = agreement(c, d, std::vector{four_rows()}).outputs[0];
  EXPECT_EQ(scores.same_class->value, 0);
  EXPECT_FALSE(scores.same_neighbour);
}

TEST(Agreement, NeighboursNeedThreeRows) {
  Session a = session_of(named(kIdentity, "embedding")), b = session_of(named(kFirstNegated, "embedding"));
  const NamedTensors two{{"x", Tensor::of<float>({2, 2}, std::vector<float>{1, 0, 0, 1})}};
  EXPECT_FALSE(agreement(a, b, std::vector{two}).outputs[0].same_neighbour);
}

TEST(Agreement, OtherOutputsAreRefused) {
  Session a = session_of(named(kIdentity, "embedding")), b = session_of(named(kIdentity, "logits"));
  try {
    agreement(a, b, std::vector{four_rows()});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("embedding"), testing::HasSubstr("logits")));
  }
}

TEST(Agreement, TablesHaveOnlyTheColumnsThatAnyOutputHas) {
  Session a = session_of(named(kIdentity, "logits")), b = session_of(named(kIdentity, "logits"));
  const std::vector<Block> tables = agreement_tables(agreement(a, b, std::vector{four_rows()}), "t");
  ASSERT_EQ(tables.size(), 1u);
  const Table& table = std::get<Table>(tables[0]);
  std::vector<std::string> keys;
  for (const Column& c : table.columns) keys.push_back(c.key);
  EXPECT_THAT(keys, testing::Contains("same_class"));
  EXPECT_THAT(keys, testing::Not(testing::Contains("same_neighbour")));
  EXPECT_EQ(table.rows[0].size(), table.columns.size());
}

// softmax of (1, 0) against that of (-1, 0) is 0.731 to 0.269 against the reverse: KL = 0.462 ln(0.731 / 0.269) =
// 0.462.
TEST(Agreement, ClassesDivergeByTheirProbabilities) {
  Session a = session_of(named(kIdentity, "scores")), b = session_of(named(kFirstNegated, "scores"));
  const std::vector<NamedTensors> one{{{"x", Tensor::of<float>({1, 2}, std::vector<float>{1, 0})}}};
  const OutputAgreement found = agreement(a, b, one, {.form = AnswerForm::classes}).outputs[0];
  EXPECT_NEAR(found.divergence->value, std::tanh(0.5), 1e-12);
  EXPECT_EQ(found.same_class->value, 0);
  EXPECT_FALSE(agreement(a, b, one).outputs[0].divergence) << "not called logits";
}

TEST(Agreement, AFormThatDoesNotExistIsRefused) {
  Session a = session_of(named(kIdentity, "scores"));
  EXPECT_EQ(test::error_of([&] { agreement(a, a, std::vector{four_rows()}, {.form = AnswerForm::boxes}); }),
            "agreement of boxes: the outputs are scores; one of boxes and one of scores or logits are needed, by such "
            "names");
  EXPECT_EQ(test::error_of([] { parse_answer_form("box"); }),
            "answers as \"box\": there are by-name, classes, embeddings, boxes. Did you mean boxes?");
}

// Two images. Of the first the candidate moves one box by half (IoU 1/3) and keeps one; in the second it finds one of
// two, and one of a low score.
std::vector<Tensor> detections(std::vector<float> boxes, std::vector<float> scores, std::vector<int64_t> labels) {
  const int64_t n = std::ssize(scores) / 2;
  return {Tensor::of<float>({2, n, 4}, boxes), Tensor::of<int64_t>({2, n}, labels), Tensor::of<float>({2, n}, scores)};
}

TEST(Agreement, BoxesAreMatchedWithinImageAndLabel) {
  const std::vector<std::string> names{"boxes", "labels", "scores"};
  AgreementMeter meter(names, names, {});
  meter.add(
      detections({0, 0, 10, 10, 20, 20, 30, 30, 0, 0, 10, 10, 50, 50, 60, 60}, {.9f, .8f, .9f, .8f}, {1, 2, 1, 1}),
      detections({0, 5, 10, 15, 20, 20, 30, 30, 0, 0, 10, 10, 50, 50, 60, 60}, {.9f, .8f, .9f, .4f}, {1, 2, 1, 1}));
  const BoxAgreement boxes = *meter.finish().boxes;
  EXPECT_EQ(boxes.images, 2);
  EXPECT_EQ(boxes.matches.matched, 2);
  EXPECT_NEAR(boxes.precision.value, 2.0 / 3, 1e-15);
  EXPECT_EQ(boxes.recall.value, 0.5);
  EXPECT_TRUE(meter.finish().outputs.empty());
  const std::vector<Block> tables = agreement_tables(meter.finish(), "t");
  EXPECT_EQ(value_of(cell(std::get<Table>(tables[0]), "mean_iou", 0)), 1);
}

TEST(Agreement, NoBoxesAgreeWithNone) {
  const std::vector<std::string> names{"boxes", "labels", "scores"};
  AgreementMeter meter(names, names, {});
  const auto none = detections({0, 0, 1, 1, 0, 0, 1, 1}, {.1f, .1f}, {1, 1});
  meter.add(none, none);
  EXPECT_EQ(meter.finish().boxes->precision.value, 1);
  EXPECT_EQ(meter.finish().boxes->recall.value, 1);
}

// Queries: the last class is nothing; centres and sizes.
TEST(BoxOutputs, QueriesAreClassifiedByTheirLogits) {
  const BoxOutputs where = *find_boxes({"logits", "pred_boxes"});
  EXPECT_TRUE(where.by_query);
  const std::vector<Tensor> outputs{Tensor::of<float>({1, 2, 3}, std::vector<float>{0, 9, 0, 0, 0, 9}),
                                    Tensor::of<float>({1, 2, 4}, std::vector<float>{.5f, .5f, .5f, 1, 0, 0, 1, 1})};
  const std::vector<std::vector<Box>> images = boxes_of(where, outputs, 0.5);
  ASSERT_EQ(images.size(), 1u);
  ASSERT_EQ(images[0].size(), 1u);
  EXPECT_EQ(images[0][0].label, 1);
  EXPECT_EQ(images[0][0].x1, 0.25f);
  EXPECT_EQ(images[0][0].y2, 1.0f);
}

TEST(BoxOutputs, ShapesThatDoNotFitAreRefused) {
  const BoxOutputs where = *find_boxes({"boxes", "scores"});
  EXPECT_FALSE(where.labels);
  EXPECT_FALSE(find_boxes({"logits", "scores"}));
  EXPECT_EQ(test::error_of([&] {
              boxes_of(where, {Tensor::of<float>({2, 3}, std::vector<float>(6)), Tensor::of<float>({2}, {1, 1})}, 0.5);
            }),
            "the output of boxes is f32[2,3]; f32[boxes,4] or f32[images,boxes,4] is expected");
  EXPECT_EQ(
      test::error_of([&] {
        boxes_of(where, {Tensor::of<float>({2, 4}, std::vector<float>(8)), Tensor::of<float>({3}, {1, 1, 1})}, 0.5);
      }),
      "the output of scores is f32[3], for 2 boxes");
}

TEST(SampleTexts, AreSixtyFourDifferentOnes) {
  std::vector<std::string> texts = sample_texts();
  EXPECT_EQ(texts.size(), 64u);
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace
}  // namespace hone

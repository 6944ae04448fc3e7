// How closely two models agree: figures by hand on graphs whose outputs are known.
#include "jobs/agreement.h"

#include "jobs/sample_texts.h"
#include "tests/jobs/jobs_fixture.h"

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
  const std::vector<OutputAgreement> found = agreement(a, b, inputs);
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
  const OutputAgreement turned = agreement(a, b, std::vector{four_rows()})[0];
  EXPECT_DOUBLE_EQ(turned.cosine.mean, -1);
  EXPECT_EQ(turned.same_neighbour, 1);
  EXPECT_EQ(turned.quality.max_abs_error, 2);

  Session c = session_of(named(kIdentity, "logits")), d = session_of(named(kFirstNegated, "logits"));
  const OutputAgreement scores = agreement(c, d, std::vector{four_rows()})[0];
  EXPECT_EQ(scores.same_class, 0);
  EXPECT_FALSE(scores.same_neighbour);
}

TEST(Agreement, NeighboursNeedThreeRows) {
  Session a = session_of(named(kIdentity, "embedding")), b = session_of(named(kFirstNegated, "embedding"));
  const NamedTensors two{{"x", Tensor::of<float>({2, 2}, std::vector<float>{1, 0, 0, 1})}};
  EXPECT_FALSE(agreement(a, b, std::vector{two})[0].same_neighbour);
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
  const Table table = agreement_table(agreement(a, b, std::vector{four_rows()}), "t");
  std::vector<std::string> keys;
  for (const Column& c : table.columns) keys.push_back(c.key);
  EXPECT_THAT(keys, testing::Contains("same_class"));
  EXPECT_THAT(keys, testing::Not(testing::Contains("same_neighbour")));
  EXPECT_EQ(table.rows[0].size(), table.columns.size());
}

TEST(SampleTexts, AreSixtyFourDifferentOnes) {
  std::vector<std::string> texts = sample_texts();
  EXPECT_EQ(texts.size(), 64u);
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace
}  // namespace hone

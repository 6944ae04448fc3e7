#include "generate/decoder_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/generate/tiny_decoder.h"

namespace hone::test {
namespace {

using testing::HasSubstr;
using Ids = std::vector<int64_t>;

std::vector<float> logits_of(DecoderRuns& runs, int64_t sequence, const Ids& ids) {
  const DecoderRuns::Row row{sequence, ids};
  return runs.run({&row, 1}).to_floats();
}

TEST(DecoderRuns, APromptInPiecesGivesTheLogitsOfOneInOnePiece) {
  DecoderRuns whole(tiny_decoder(), tiny_facts(), interpreted(), 1),
      pieces(tiny_decoder(), tiny_facts(), interpreted(), 1);
  const std::vector<float> want = logits_of(whole, 0, {3, 4, 5, 6, 7});
  logits_of(pieces, 0, {3, 4});
  logits_of(pieces, 0, {5, 6});
  const std::vector<float> got = logits_of(pieces, 0, {7});
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5);
  EXPECT_EQ(pieces.length(0), 5);
}

TEST(DecoderRuns, SequencesOfOneRunDoNotSeeEachOther) {
  DecoderRuns alone(tiny_decoder(), tiny_facts(), interpreted(), 1),
      both(tiny_decoder(), tiny_facts(), interpreted(), 3);
  logits_of(alone, 0, {3, 4, 5});
  const std::vector<float> want = logits_of(alone, 0, {6});
  logits_of(both, 2, {3, 4, 5});
  logits_of(both, 0, {9, 8, 7, 6, 5, 4});
  const Ids first{11}, second{6};
  const DecoderRuns::Row rows[] = {{0, first}, {2, second}};
  const std::vector<float> got = both.run(rows).to_floats();
  EXPECT_EQ(std::vector<float>(got.begin() + kTinyVocabulary, got.end()), want);
  EXPECT_EQ(both.length(0), 7);
  EXPECT_EQ(both.length(1), 0);
}

TEST(DecoderRuns, AClearedSequenceBeginsAnew) {
  DecoderRuns runs(tiny_decoder(), tiny_facts(), interpreted(), 1);
  const std::vector<float> want = logits_of(runs, 0, {3, 4});
  logits_of(runs, 0, {5});
  runs.clear(0);
  EXPECT_EQ(logits_of(runs, 0, {3, 4}), want);
}

TEST(DecoderRuns, RefusesIdsAndRowsThatDoNotFitAndAppendsNothing) {
  DecoderRuns runs(tiny_decoder(), tiny_facts(), interpreted(), 2);
  EXPECT_EQ(error_of([&] { logits_of(runs, 0, {20}); }), "token 20 is beyond the 20 tokens of the model's vocabulary");
  EXPECT_EQ(error_of([&] { logits_of(runs, 0, {-1}); }), "token -1 is beyond the 20 tokens of the model's vocabulary");
  EXPECT_EQ(error_of([&] { logits_of(runs, 2, {1}); }), "sequence 2 of 2");
  EXPECT_EQ(error_of([&] { logits_of(runs, 0, {}); }), "sequence 0 gets no tokens; at least 1 is needed");
  EXPECT_EQ(error_of([&] { logits_of(runs, 0, Ids(25, 1)); }),
            "sequence 0 has 0 tokens and gets 25; the model's context has 24");
  const Ids one{1};
  const DecoderRuns::Row twice[] = {{1, one}, {1, one}};
  EXPECT_EQ(error_of([&] { runs.run(twice); }), "sequence 1 is there twice in one run");
  EXPECT_EQ(runs.length(0), 0);
}

TEST(DecoderRuns, NaNNamesTheStepThatMadeItAndAppendsNothing) {
  DecoderRuns runs(
      tiny_decoder("%nine : i64[] = const \"nine\" {9}\n %bad = equal %ids, %nine\n %b = reshape %bad {shape=[B,S,1]}\n"
                   "%q = log %e\n %spoilt = where %b, %q, %e"),
      tiny_facts(), interpreted(), 1);
  logits_of(runs, 0, {3, 4});
  const std::string error = error_of([&] { logits_of(runs, 0, {9}); });
  EXPECT_THAT(error, HasSubstr("logits of token 3: NaN at token 0; "));
  EXPECT_THAT(error, HasSubstr("log"));
  EXPECT_EQ(runs.length(0), 2);
}

}  // namespace
}  // namespace hone::test

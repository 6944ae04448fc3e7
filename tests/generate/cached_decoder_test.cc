// A decoder that keeps keys and values gives the logits of the one that sees each text whole.
#include <gtest/gtest.h>

#include <cmath>

#include "base/philox.h"
#include "generate/decoder_runs.h"
#include "tests/models/tiny_decoder_graph.h"
#include "tests/support/graph_bound.h"

namespace hone::test {
namespace {

using Ids = std::vector<int64_t>;

DecoderFacts facts() {
  DecoderFacts facts;
  facts.context = kGraphContext, facts.vocabulary = kGraphVocabulary;
  return facts;
}

SessionOptions options(int optimise, int threads = 1) {
  SessionOptions options;
  options.optimise = optimise, options.threads = threads, options.cache_folder = "";
  return options;
}

Ids text(int64_t length, uint64_t seed) {
  Philox rng(seed);
  Ids ids;
  for (int64_t i = 0; i < length; ++i) ids.push_back(rng.below(kGraphVocabulary));
  return ids;
}

// Logits behind each token of a text, with what generated code may differ from them by.
struct Wanted {
  std::vector<double> logits, error;

  Wanted(const Graph& graph, const Ids& ids) {
    const int64_t length = std::ssize(ids);
    const Bounded found =
        bounded_outputs(graph, {{"input_ids", Tensor::of<int64_t>({1, length}, ids)},
                                {"attention_mask", Tensor::of<int64_t>({1, length}, Ids(ids.size(), 1))}})
            .at(0);
    logits = found.value.to_doubles(), error = found.error;
  }
};

// Those behind token `at`.
void expect_logits(std::span<const float> got, const Wanted& want, int64_t at) {
  ASSERT_EQ(std::ssize(got), kGraphVocabulary);
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t from = static_cast<size_t>(at * kGraphVocabulary) + i;
    ASSERT_LT(want.error[from], 0.02);  // logits are some tenths apart
    EXPECT_NEAR(got[i], want.logits[from], want.error[from]) << "token " << at << ", logit " << i;
  }
}

DecoderRuns runs_of(const Graph& graph, const CacheOptions& cache, int level, int64_t sequences, int threads = 1) {
  return DecoderRuns(with_cache(graph, cache), facts(), options(level, threads), sequences);
}

std::vector<float> feed(DecoderRuns& runs, int64_t sequence, std::span<const int64_t> ids) {
  const DecoderRuns::Row row{sequence, ids};
  return runs.run({&row, 1}).to_floats();
}

class CachedDecoderAt : public testing::TestWithParam<int> {};  // a level of optimisation

TEST_P(CachedDecoderAt, APromptAtOnceInPiecesAndStepByStep) {
  for (const char* attributes : {", causal=1", ", causal=1, before=3, scale=0.5, softcap=4.0"}) {
    const Graph graph = tiny_decoder_graph({.second = attributes});
    const Ids ids = text(11, 3);
    const Wanted want(graph, ids);
    for (int64_t piece : {11, 4, 1}) {
      SCOPED_TRACE(fmt::format("{} pieces of {}", attributes, piece));
      DecoderRuns runs = runs_of(graph, {.page_rows = 4}, GetParam(), 1);
      for (int64_t at = 0; at < 11; at += piece) {
        const int64_t count = std::min<int64_t>(piece, 11 - at);
        expect_logits(feed(runs, 0, std::span(ids).subspan(static_cast<size_t>(at), static_cast<size_t>(count))), want,
                      at + count - 1);
      }
      EXPECT_EQ(runs.length(0), 11);
    }
  }
}

TEST_P(CachedDecoderAt, RowsOfDifferentLengthsThatJoinAndLeave) {
  const Graph graph = tiny_decoder_graph();
  const Ids texts[] = {text(9, 1), text(6, 2), text(13, 5)};
  const Wanted wanted[] = {{graph, texts[0]}, {graph, texts[1]}, {graph, texts[2]}};
  DecoderRuns runs = runs_of(graph, {.page_rows = 4}, GetParam(), 3);
  const std::vector<std::vector<std::pair<int64_t, int64_t>>> steps{
      {{0, 5}, {2, 1}}, {{1, 4}}, {{2, 7}, {0, 1}, {1, 1}}, {{1, 1}, {2, 5}}, {{0, 3}}};
  int64_t done[3] = {};
  for (const auto& step : steps) {
    std::vector<DecoderRuns::Row> rows;
    for (const auto& [sequence, count] : step)
      rows.push_back(
          {sequence,
           std::span(texts[sequence]).subspan(static_cast<size_t>(done[sequence]), static_cast<size_t>(count))});
    const std::vector<float> logits = runs.run(rows).to_floats();
    for (size_t r = 0; r < step.size(); ++r) {
      const auto [sequence, count] = step[r];
      done[sequence] += count;
      EXPECT_EQ(runs.length(sequence), done[sequence]);
      expect_logits(std::span(logits).subspan(r * kGraphVocabulary, kGraphVocabulary), wanted[sequence],
                    done[sequence] - 1);
    }
  }
}

// By the session itself, since DecoderRuns pads in front.
TEST_P(CachedDecoderAt, PaddingInFrontAndBehindWithAllLogits) {
  const Graph graph = tiny_decoder_graph();
  const Ids ids = text(7, 4);
  const Wanted want(graph, ids);
  const CachedDecoder cached = with_cache(graph, {.page_rows = 4, .all_logits = true});
  Session session(cached.graph, options(GetParam()));
  Context context;
  PageTable pages(session.graph(), context, {.pages = cached.pages}, 2);
  const auto run = [&](int64_t first, int64_t count, int64_t front, int64_t behind) {
    const int64_t width = front + count + behind;
    Ids given(static_cast<size_t>(width), 19), mask(static_cast<size_t>(width));
    for (int64_t i = 0; i < count; ++i) {
      given[static_cast<size_t>(front + i)] = ids[static_cast<size_t>(first + i)];
      mask[static_cast<size_t>(front + i)] = 1;
    }
    pages.reserve(1, width);
    const std::vector<float> logits = session
                                          .run(context, {{"input_ids", Tensor::of<int64_t>({1, width}, given)},
                                                         {"attention_mask", Tensor::of<int64_t>({1, width}, mask)},
                                                         {"slots", Tensor::of<int64_t>({1}, {1})}})
                                          .at(0)
                                          .to_floats();
    EXPECT_EQ(pages.lengths(), (Ids{0, first + count}));
    for (int64_t i = 0; i < count; ++i)
      expect_logits(std::span(logits).subspan(static_cast<size_t>((front + i) * kGraphVocabulary), kGraphVocabulary),
                    want, first + i);
  };
  run(0, 3, 0, 2), run(3, 2, 3, 0), run(5, 1, 1, 1), run(6, 1, 0, 0);
}

// What pages hold is what a graph without them reads where it rounds keys and values itself. The reference gives its
// numbers; elsewhere sums may differ so far that an element falls to the next code, 1/127 of values of about 1.
TEST_P(CachedDecoderAt, RoundedPagesAreThoseOfRoundedKeys) {
  const Ids ids = text(9, 6);
  for (const char* type : {"bf16", "int8.g64", "mxint8"}) {
    SCOPED_TRACE(type);
    const Tensor given = Tensor::of<int64_t>({1, 9}, ids), mask = Tensor::of<int64_t>({1, 9}, Ids(9, 1));
    const std::vector<float> all =
        evaluate(tiny_decoder_graph({.held = type}), {{"input_ids", given}, {"attention_mask", mask}})[0].to_floats();
    const std::vector<float> want(all.end() - kGraphVocabulary, all.end());
    const Graph graph = tiny_decoder_graph();
    DecoderRuns whole = runs_of(graph, {.type = type, .page_rows = 4}, GetParam(), 1),
                pieces = runs_of(graph, {.type = type, .page_rows = 4}, GetParam(), 1);
    feed(pieces, 0, std::span(ids).first(5));
    for (const std::vector<float>& got : {feed(whole, 0, ids), feed(pieces, 0, std::span(ids).subspan(5))})
      for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], GetParam() == 0 ? 1e-6 : 1.0 / 127) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CachedDecoderAt, testing::Values(0, 1, 2));

TEST(CachedDecoder, ThreadsGiveTheSameBits) {
  const Graph graph = tiny_decoder_graph();
  DecoderRuns one = runs_of(graph, {}, 2, 1, 1), two = runs_of(graph, {}, 2, 1, 2);
  Ids next = text(9, 7), other = next;
  for (int i = 0; i < 12; ++i) {
    const std::vector<float> a = feed(one, 0, next), b = feed(two, 0, other);
    ASSERT_EQ(a, b) << i;
    next = {std::max_element(a.begin(), a.end()) - a.begin()}, other = next;
  }
}

}  // namespace
}  // namespace hone::test

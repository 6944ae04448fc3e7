// Decoders judged by their next tokens, whole and in windows, against sums that are written out.
#include "jobs/long_texts.h"

#include <cmath>

#include "base/philox.h"
#include "jobs/evaluate.h"
#include "jobs/quantize_model.h"
#include "tests/generate/letter_model.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "views/evaluation.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

std::vector<double> log_softmax(std::span<const float> logits) {
  double sum = 0;
  for (float each : logits) sum += std::exp(static_cast<double>(each));
  std::vector<double> logs;
  for (float each : logits) logs.push_back(each - std::log(sum));
  return logs;
}

class LongTextsTest : public JobsTest {
 protected:
  LongTextsTest() {
    test::LetterModel().write(original);
    const Model source = load_model(original);
    QuantizeOptions to;
    to.to = "int4.g8";
    save_artefact(rounded, quantize_model(source, to, std::nullopt).graph,
                  {{"tokenizer.json", test::letters_json(20)}});
    Philox random(5);
    std::string csv = "text\n";
    for (int64_t length : {30, 1, 17, 41, 2, 26, 9, 33, 12, 20, 38}) {
      std::vector<int64_t>& ids = texts.emplace_back();
      for (int64_t i = 0; i < length; ++i) {
        ids.push_back(5 + random.below(15));
        csv += static_cast<char>('a' + ids.back());
      }
      csv += '\n';
    }
    data = folder.put("texts.csv", csv);
  }

  // Log probabilities of what may stand behind each of `ids`, by the graph without a cache.
  std::vector<std::vector<double>> behind(const std::string& of, std::span<const int64_t> ids) {
    std::unique_ptr<Session>& session = sessions[of];
    SessionOptions options;
    options.optimise = 1;
    if (!session) session = std::make_unique<Session>(load_model(of).graph, options);
    const int64_t size = std::ssize(ids);
    const std::vector<float> logits =
        session
            ->run({{"input_ids", Tensor::of<int64_t>({1, size}, {ids.begin(), ids.end()})},
                   {"attention_mask", Tensor::of<int64_t>({1, size}, std::vector<int64_t>(ids.size(), 1))}})
            .at(0)
            .to_floats();
    std::vector<std::vector<double>> all;
    for (size_t at = 0; at < logits.size(); at += 20) all.push_back(log_softmax(std::span(logits).subspan(at, 20)));
    return all;
  }
  struct Sums {
    double nats = 0, divergence = 0, same = 0, count = 0;
  };
  // Over the windows' tokens, each window by a run of its own.
  Sums sums(const WindowOptions& options) {
    Sums sums;
    for (const std::vector<int64_t>& ids : texts)
      for (const TextWindow& window : windows_of(std::ssize(ids), options)) {
        const auto read =
            std::span(ids).subspan(static_cast<size_t>(window.begin), static_cast<size_t>(window.end - window.begin));
        const auto before = behind(original, read), after = behind(rounded, read);
        for (size_t t = static_cast<size_t>(window.counted - window.begin); t < read.size(); ++t) {
          const std::vector<double>&p = before[t - 1], &q = after[t - 1];
          sums.nats -= q[static_cast<size_t>(read[t])];
          for (size_t i = 0; i < p.size(); ++i) sums.divergence += std::exp(p[i]) * (p[i] - q[i]);
          sums.same += std::ranges::max_element(p) - p.begin() == std::ranges::max_element(q) - q.begin();
          ++sums.count;
        }
      }
    return sums;
  }
  EvaluateOptions options(std::vector<std::string> metrics) const {
    EvaluateOptions options;
    options.data = data, options.metric = std::move(metrics);
    options.optimise = 1, options.no_cache = true;
    return options;
  }
  QualityComparison judged(const EvaluateOptions& options) const {
    return evaluate(std::vector{load_model(original), load_model(rounded)}, options);
  }
  static void expect_figures(const QualityComparison& got, const Sums& want) {
    const std::vector<Figure>& figures = got.models.at(1).evaluated.figures;
    ASSERT_EQ(figures.size(), 3u);
    EXPECT_NEAR(figures[0].estimate.value, want.divergence / want.count, 1e-5);
    EXPECT_NEAR(figures[1].estimate.value, want.same / want.count, 1e-12);
    EXPECT_NEAR(figures[2].estimate.value, want.nats / want.count, 1e-5);
    for (const Figure& figure : figures) EXPECT_EQ(figure.estimate.counted, static_cast<int64_t>(want.count));
    EXPECT_GT(want.divergence / want.count, 1e-4);  // int4 is not the original
    EXPECT_EQ(got.models[0].evaluated.figures[0].estimate.value, 0);
    EXPECT_EQ(got.models[0].evaluated.figures[1].estimate.value, 1);
    EXPECT_TRUE(got.models[1].differences.at(0).shown());
  }

  const std::string original = folder / "original.safetensors", rounded = folder / "rounded.safetensors";
  std::string data;
  std::vector<std::vector<int64_t>> texts;
  std::map<std::string, std::unique_ptr<Session>> sessions;
};

TEST(Windows, EachTokenCountsInTheFirstThatHoldsIt) {
  using All = std::vector<TextWindow>;
  EXPECT_EQ(windows_of(10, {4, 2}), (All{{0, 4, 1}, {2, 6, 4}, {4, 8, 6}, {6, 10, 8}}));
  EXPECT_EQ(windows_of(10, {4, 0}), (All{{0, 4, 1}, {4, 8, 5}, {8, 10, 9}}));
  EXPECT_EQ(windows_of(9, {4, 4}), (All{{0, 4, 1}, {4, 8, 5}}));  // a last token has nothing before it
  EXPECT_EQ(windows_of(3, {8, 2}), (All{{0, 3, 1}}));
  EXPECT_EQ(windows_of(1, {8, 2}), All{});
  EXPECT_EQ(error_of([] { windows_of(3, {1, 1}); }), "option window: expected at least 2 tokens, found 1");
  EXPECT_EQ(error_of([] { windows_of(3, {4, 5}); }), "option stride: expected 1 to 4, the window, found 5");
}

TEST_F(LongTextsTest, RowsAreJudgedByAllThatStandsBefore) {
  const QualityComparison got = judged(options({"kl,same_token,cross_entropy"}));
  expect_figures(got, sums({64}));
  EXPECT_THAT(got.notes, testing::Contains(HasSubstr("rounded.safetensors: products read activations as f32")));
}

TEST_F(LongTextsTest, WindowsAreJudgedByWhatStandsBeforeInThem) {
  for (const WindowOptions& windows : {WindowOptions{8, 3}, WindowOptions{16, 0}}) {
    SCOPED_TRACE(windows.window);
    EvaluateOptions asked = options({"kl,same_token,cross_entropy"});
    asked.window = windows.window, asked.stride = windows.stride;
    const QualityComparison got = judged(asked);
    expect_figures(got, sums(windows));
    EXPECT_EQ(got.models[1].evaluated.figures[0].evidence.samples, std::ssize(texts));
    EXPECT_THAT(got.notes, testing::Contains(HasSubstr("a token counts in the first one that holds it")));
  }
}

TEST_F(LongTextsTest, FewTextsAreSampledByWindows) {
  EvaluateOptions asked = options({"perplexity"});
  asked.window = 8, asked.limit = 3;
  const QualityComparison got = judged(asked);
  EXPECT_GT(got.models[0].evaluated.figures[0].evidence.samples, 3);
  EXPECT_THAT(got.notes, testing::Contains(HasSubstr("windows")));
}

// Places 0, 1-2, 3-6, … of a window: their counts are the tokens, and their means the mean.
TEST_F(LongTextsTest, TheTableByPlaceAddsUp) {
  EvaluateOptions asked = options({"kl,same_token"});
  asked.window = 16, asked.stride = 8;
  const QualityComparison got = judged(asked);
  const Record record = view_of(got);
  const Table& table = table_of(record, "by_place");
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(text_of(cell(table, "before", 3)), "8-15");
  double tokens = 0, sum = 0;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    tokens += value_of(cell(table, "tokens", r));
    sum += value_of(cell(table, "tokens", r)) * value_of(cell(table, "kl", r));
  }
  const Figure& kl = got.models[1].evaluated.figures[0];
  EXPECT_EQ(tokens, static_cast<double>(kl.estimate.counted));
  EXPECT_NEAR(sum / tokens, kl.estimate.value, 1e-12);
}

TEST_F(LongTextsTest, WhatDoesNotFitIsRefused) {
  EvaluateOptions asked = options({"kl"});
  EXPECT_THAT(error_of([&] { evaluate(std::vector{load_model(original)}, asked); }),
              HasSubstr("metric kl is between models"));
  asked.window = 65;
  EXPECT_THAT(error_of([&] { judged(asked); }), HasSubstr("option window: expected 2 to 64, the model's tokens"));
  asked.window = 8, asked.max_length = 8;
  EXPECT_THAT(error_of([&] { judged(asked); }), HasSubstr("windows read texts whole"));
  asked = options({"agreement"});
  asked.window = 8;
  EXPECT_THAT(error_of([&] { judged(asked); }), HasSubstr("windows are of texts that are judged by their next tokens"));
  asked = options({"perplexity"});
  asked.window = 8;
  EXPECT_THAT(error_of([&] { evaluate(std::vector{load_model(model)}, asked); }), HasSubstr("is no decoder"));
}

}  // namespace
}  // namespace hone

#include "jobs/long_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobs/text_inputs.h"

namespace hone {
namespace {

constexpr int64_t kPiece = 256;  // tokens of a run: logits of 50,000 words take 51 MB

WindowOptions checked(WindowOptions options, const DecoderFacts& facts) {
  if (options.stride == 0) options.stride = options.window;
  if (options.window > facts.context)
    fail("option window: expected 2 to {}, the model's tokens, found {}", facts.context, options.window);
  return options;
}

DecoderFacts facts_of(const Model& model) {
  if (!is_decoder(model.graph))
    fail("{}: is no decoder; texts in windows are of models that predict the next token", model.path);
  return decoder_facts(model.graph);
}

}  // namespace

std::vector<TextWindow> windows_of(int64_t tokens, const WindowOptions& options) {
  const int64_t stride = options.stride == 0 ? options.window : options.stride;
  if (options.window < 2) fail("option window: expected at least 2 tokens, found {}", options.window);
  if (stride < 1 || stride > options.window)
    fail("option stride: expected 1 to {}, the window, found {}", options.window, stride);
  std::vector<TextWindow> windows;
  for (int64_t begin = 0, judged = 0; judged < tokens; begin += stride) {
    const int64_t end = std::min(begin + options.window, tokens), counted = std::max(judged, begin + 1);
    if (counted < end) windows.push_back({begin, end, counted});
    judged = end;
  }
  return windows;
}

LongTexts::LongTexts(const Model& model, const EvaluationData& data, const Evaluation& evaluation,
                     const WindowOptions& options)
    : model_(model.name), metrics_(evaluation.metrics()), options_(checked(options, facts_of(model))) {
  if (evaluation.judged() != Judged::next_tokens || evaluation.takes_programs() || evaluation.asks_agreement())
    fail("{}: windows are of texts that are judged by their next tokens: perplexity, cross_entropy, kl, same_token",
         data.dataset.path);
  for (const Metric& metric : metrics_)
    if (metric.def->at_once) fail("metric {} looks at all answers at once, which windows don't keep", metric.name());
  const Tokenizer tokenizer = tokenizer_of(model);
  for (int64_t row : data.rows) {
    texts_.push_back(tokenizer.encode_text(data.dataset.texts[static_cast<size_t>(row)], EncodeOptions{}).ids);
    for (const TextWindow& window : windows_of(std::ssize(texts_.back()), options_))
      windows_.push_back({std::ssize(texts_) - 1, window});
  }
  by_text_ = std::ssize(texts_) >= kFewestForBootstrap;
}

std::string LongTexts::note() const {
  const int64_t least = options_.window - options_.stride;
  return fmt::format(
      "{}: texts are read in {} windows of up to {} tokens, {} from one to the next; a token counts in the first one "
      "that "
      "holds it, {}. Samples are the {} {}",
      model_, windows_.size(), options_.window, options_.stride,
      least > 0 ? fmt::format("with at least {} before it where its text has them", least)
                : "but for the first of a window",
      by_text_ ? texts_.size() : windows_.size(), by_text_ ? "texts" : "windows");
}

// A piece at a time. Logits behind a token are held against the token after it.
void LongTexts::read(const Window& window, int64_t sample, DecoderRuns& runs, DecoderRuns& reference,
                     std::vector<Evidence>& evidence) const {
  const std::vector<int64_t>& ids = texts_[static_cast<size_t>(window.text)];
  const bool is_paired = &runs != &reference;
  runs.clear(0);
  if (is_paired) reference.clear(0);
  for (int64_t at = window.at.begin; at + 1 < window.at.end; at += kPiece) {
    const int64_t size = std::min(kPiece, window.at.end - 1 - at);
    const DecoderRuns::Row row{0, std::span(ids).subspan(static_cast<size_t>(at), static_cast<size_t>(size))};
    const Tensor logits = runs.run({&row, 1}), other = is_paired ? reference.run({&row, 1}) : logits;
    if (other.shape() != logits.shape())
      fail("{}: gives {} and the model beside it {}: they are not of one vocabulary", model_, to_string(logits.type()),
           to_string(other.type()));
    RightAnswers right{.classes = std::vector<int64_t>(static_cast<size_t>(size), kIgnored)};
    const int64_t first = std::max(window.at.counted - 1 - at, int64_t{0});
    for (int64_t i = first; i < size; ++i) right.classes[static_cast<size_t>(i)] = ids[static_cast<size_t>(at + i + 1)];
    if (first >= size) continue;
    Answers answers = answers_of(right, 1, logits.shape().back(), logits.as<float>());
    answers.values = other.as<float>();
    for (size_t m = 0; m < metrics_.size(); ++m) {
      const bool beside = metrics_[m].fits(TargetKind::answers);
      answers.kind = beside ? TargetKind::answers : TargetKind::classes;
      check(answers);
      Evidence& found = evidence[m];
      found.kind = answers.kind, found.width = answers.width;
      const size_t before = found.rows.size();
      metrics_[m].def->observe(answers, metrics_[m].k, found);
      for (size_t r = before; r < found.rows.size(); ++r) {
        found.rows[r].sample = sample;
        if (beside) found.rows[r].c += static_cast<double>(at + first - window.at.begin);
      }
    }
  }
}

Evaluated LongTexts::run(DecoderRuns& runs, DecoderRuns& reference, uint64_t seed, const Progress& progress) const {
  Evaluated result{.samples = std::ssize(texts_)};
  std::vector<Evidence> evidence(metrics_.size());
  for (size_t w = 0; w < windows_.size(); ++w) {
    tell(progress, fmt::format("{}: window {} of {}", model_, w + 1, windows_.size()));
    read(windows_[w], by_text_ ? windows_[w].text : static_cast<int64_t>(w), runs, reference, evidence);
  }
  for (size_t m = 0; m < metrics_.size(); ++m) {
    const Metric& metric = metrics_[m];
    evidence[m].samples = by_text_ ? std::ssize(texts_) : std::ssize(windows_);
    if (evidence[m].counted == 0) fail("metric {}: no text has two tokens", metric.name());
    if (metric.def->prepare) metric.def->prepare(evidence[m]);
    const Estimate value = estimate(metric, evidence[m], seed);
    result.figures.push_back({metric.name(), metric.title(), metric, std::move(evidence[m]), value});
  }
  return result;
}

std::unique_ptr<DecoderRuns> open_runs(const Model& model, const SessionOptions& session) {
  return std::make_unique<DecoderRuns>(with_cache(model.graph, {.all_logits = true}), facts_of(model), session, 1);
}

}  // namespace hone

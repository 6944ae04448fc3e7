// Long texts through a decoder in windows, each read with a cache from its begin: so that memory is that of a piece,
// and what a token is judged by is told.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "generate/decoder_runs.h"
#include "jobs/evaluation.h"

namespace hone {

struct WindowOptions {
  int64_t window = 0;  // tokens of one; 0: texts are not read in windows
  int64_t stride = 0;  // tokens from the begin of one to that of the next, at most a window; 0: a window
  bool given() const { return window > 0; }
};

// Tokens [begin, end) of a text, of which those from `counted` on are judged by all that stands before them in it.
struct TextWindow {
  int64_t begin = 0, end = 0, counted = 0;
  bool operator==(const TextWindow&) const = default;
};

// A token counts in the first window that holds it, but for the first token of a window, which has nothing before it.
// So each but the text's first counts once where windows overlap. Throws Error for a window below 2 tokens, and for a
// stride beyond it.
std::vector<TextWindow> windows_of(int64_t tokens, const WindowOptions& options);

class LongTexts {
 public:
  // Throws Error where the model is no decoder, the window is beyond its context, or the data or metrics of
  // `evaluation` are not of next tokens.
  LongTexts(const Model& model, const EvaluationData& data, const Evaluation& evaluation, const WindowOptions& options);

  // Of metrics of two models beside `reference`, which may be the same. Samples are texts, or where these are fewer
  // than intervals need, windows.
  Evaluated run(DecoderRuns& runs, DecoderRuns& reference, uint64_t seed, const Progress& progress = {}) const;

  std::string note() const;  // which tokens count, and what samples are

 private:
  struct Window {
    int64_t text = 0;
    TextWindow at;
  };
  void read(const Window& window, int64_t sample, DecoderRuns& runs, DecoderRuns& reference,
            std::vector<Evidence>& evidence) const;

  std::string model_;
  std::vector<Metric> metrics_;
  WindowOptions options_;
  std::vector<std::vector<int64_t>> texts_;  // ids
  std::vector<Window> windows_;
  bool by_text_ = true;
};

// Keeps logits of each token. Throws Error for a model that is no decoder.
std::unique_ptr<DecoderRuns> open_runs(const Model& model, const SessionOptions& session);

}  // namespace hone

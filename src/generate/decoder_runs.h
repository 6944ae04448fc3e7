// Runs of a decoder that keeps keys and values: sequences that go on where they ended, each on its own or several in
// one run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoder.h"
#include "runtime/page_table.h"
#include "runtime/session.h"

namespace hone {

// For one thread at a time.
class DecoderRuns {
 public:
  // `sequences` at once. Throws Error where that is none of 1 to 65536, or the metadata name no context or vocabulary.
  DecoderRuns(CachedDecoder decoder, DecoderFacts facts, SessionOptions options, int64_t sequences);

  struct Row {
    int64_t sequence = 0;
    std::span<const int64_t> ids;
  };
  // Appends ids to sequences, each of which is there once, and gives logits: f32[rows, vocabulary] of the token behind
  // each row's last; of a decoder with all_logits f32[rows, S, vocabulary], where shorter rows are padded in front.
  // Throws Error for ids beyond the vocabulary, rows without ids, and sequences that the context has no room for; for
  // logits that are NaN it names the first step that computes one, and its layer. A run that ends in an Error or
  // Stopped appends nothing.
  Tensor run(std::span<const Row> rows);

  int64_t length(int64_t sequence) const;
  // The sequence has no tokens again.
  void clear(int64_t sequence) { pages_.truncate(sequence, 0); }

  const DecoderFacts& facts() const { return facts_; }
  int64_t sequences() const { return sequences_; }
  const Session& session() const { return session_; }

 private:
  void check(std::span<const Row> rows) const;
  NamedTensors inputs(std::span<const Row> rows, int64_t width) const;
  void append(std::span<const Row> rows, int64_t width);
  [[noreturn]] void explain_nan(std::span<const Row> rows, size_t bad, const NamedTensors& inputs, int64_t width,
                                std::span<const int64_t> before, const std::string& found);

  const DecoderFacts facts_;
  const int64_t sequences_;
  Session session_;
  Context context_;
  PageTable pages_;
};

}  // namespace hone

#include "generate/decoder_runs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "generate/next_token.h"

namespace hone {
namespace {

int64_t checked_sequences(int64_t sequences) {
  if (sequences < 1 || sequences > 65536) fail("{} sequences at once; 1 to 65536 are accepted", sequences);
  return sequences;
}

DecoderFacts checked_facts(DecoderFacts facts) {
  if (facts.context < 1) fail("the model does not say how many tokens a sequence may have");
  if (facts.vocabulary < 1) fail("the model does not say how many tokens its vocabulary has");
  return facts;
}

}  // namespace

DecoderRuns::DecoderRuns(CachedDecoder decoder, DecoderFacts facts, SessionOptions options, int64_t sequences)
    : facts_(checked_facts(std::move(facts))),
      sequences_(checked_sequences(sequences)),
      session_(std::move(decoder.graph), std::move(options)),
      pages_(session_.graph(), context_,
             PagedStates{.pages = std::move(decoder.pages), .table = kCacheTable, .lengths = kCacheLengths},
             sequences_) {}

int64_t DecoderRuns::length(int64_t sequence) const { return pages_.lengths().at(static_cast<size_t>(sequence)); }

void DecoderRuns::check(std::span<const Row> rows) const {
  if (rows.empty()) fail("a run of no sequences");
  std::vector<bool> seen(static_cast<size_t>(sequences_));
  for (const Row& row : rows) {
    if (row.sequence < 0 || row.sequence >= sequences_) fail("sequence {} of {}", row.sequence, sequences_);
    if (seen[static_cast<size_t>(row.sequence)]) fail("sequence {} is there twice in one run", row.sequence);
    seen[static_cast<size_t>(row.sequence)] = true;
    if (row.ids.empty()) fail("sequence {} gets no tokens; at least 1 is needed", row.sequence);
    for (int64_t id : row.ids)
      if (id < 0 || id >= facts_.vocabulary)
        fail("token {} is beyond the {} tokens of the model's vocabulary", id, facts_.vocabulary);
  }
}

NamedTensors DecoderRuns::inputs(std::span<const Row> rows, int64_t width) const {
  const int64_t count = std::ssize(rows);
  Tensor ids(DType::i64, {count, width}), mask(DType::i64, {count, width}), slots(DType::i64, {count});
  for (int64_t r = 0; r < count; ++r) {
    const Row& row = rows[static_cast<size_t>(r)];
    const int64_t end = (r + 1) * width;
    std::ranges::copy(row.ids, ids.mutable_as<int64_t>().begin() + (end - std::ssize(row.ids)));
    std::fill(mask.mutable_as<int64_t>().begin() + (end - std::ssize(row.ids)),
              mask.mutable_as<int64_t>().begin() + end, 1);
    slots.mutable_as<int64_t>()[static_cast<size_t>(r)] = row.sequence;
  }
  return {{"input_ids", ids}, {"attention_mask", mask}, {"slots", slots}};
}

Tensor DecoderRuns::run(std::span<const Row> rows) {
  check(rows);
  int64_t width = 0;
  for (const Row& row : rows) width = std::max(width, std::ssize(row.ids));
  const std::vector<int64_t> before = pages_.lengths();
  for (const Row& row : rows) {
    const int64_t has = before[static_cast<size_t>(row.sequence)];
    if (width > facts_.context - has)  // of padding as well, for which the table needs room
      fail("sequence {} has {} tokens and gets {}; the model's context has {}", row.sequence, has, width,
           facts_.context);
    pages_.reserve(row.sequence, width);
  }
  const NamedTensors given = inputs(rows, width);
  const Tensor logits = session_.run(context_, given).at(0).on_host();
  const Tensor plain = logits.dtype() == DType::f32 && !logits.is_packed() ? logits : logits.converted(DType::f32);
  if (plain.shape().size() == 2) {  // all logits also have those of padding, which mean nothing
    const std::span<const float> all = plain.as<float>();
    for (size_t r = 0; r < rows.size(); ++r) {
      const size_t size = all.size() / rows.size();
      if (const std::string found = unusable_logit(all.subspan(r * size, size)); !found.empty())
        explain_nan(rows, r, given, width, before, found);
    }
  }
  return plain;
}

// Once more from where it began, with every result looked at.
void DecoderRuns::explain_nan(std::span<const Row> rows, size_t bad, const NamedTensors& inputs, int64_t width,
                              std::span<const int64_t> before, const std::string& found) {
  const auto take_back = [&] {
    for (const Row& row : rows) pages_.truncate(row.sequence, before[static_cast<size_t>(row.sequence)]);
  };
  take_back();
  for (const Row& row : rows) pages_.reserve(row.sequence, width);
  const std::string where = fmt::format(
      "logits of token {}: {}", before[static_cast<size_t>(rows[bad].sequence)] + std::ssize(rows[bad].ids), found);
  try {
    session_.run_checked(context_, inputs);
  } catch (const Error& error) {
    take_back();
    fail("{}; {}", where, error.what());
  }
  take_back();
  fail("{}; no step of the run computes one from finite values", where);
}

}  // namespace hone

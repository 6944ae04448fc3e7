#include "jobs/masked_words.h"

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "measure/metric.h"

namespace hone {
namespace {

constexpr double kHiddenShare = 0.15;  // as BERT learned

std::span<const int64_t> row_of(const std::vector<int64_t>& ids, int64_t length, size_t row) {
  return std::span(ids).subspan(row * static_cast<size_t>(length), static_cast<size_t>(length));
}

}  // namespace

MaskedWords::MaskedWords(Tokenizer tokenizer, uint64_t seed, const std::string& source)
    : tokenizer_(std::move(tokenizer)), seed_(seed) {
  const auto& added = tokenizer_.spec().added;
  const auto mask = std::ranges::find_if(
      added, [](const AddedToken& token) { return token.text == "[MASK]" || token.text == "<mask>"; });
  if (mask == added.end())
    fail(
        "{}: the tokenizer has neither [MASK] nor <mask>, which stand for hidden words; the model can't be judged by "
        "texts alone",
        source);
  mask_ = mask->id;
}

// Of the tokens that neither the model nor padding put there.
std::vector<size_t> MaskedWords::places(std::span<const int64_t> ids, int64_t row) const {
  const auto is_special = [&](int64_t id) {
    return std::ranges::any_of(tokenizer_.spec().added,
                               [&](const AddedToken& token) { return token.special && token.id == id; });
  };
  Philox random(seed_, static_cast<uint64_t>(row));
  std::vector<size_t> own, hidden;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (is_special(ids[i])) continue;
    own.push_back(i);
    if (random.uniform() < kHiddenShare) hidden.push_back(i);
  }
  if (hidden.empty() && !own.empty()) hidden.push_back(own[random.below(static_cast<uint32_t>(own.size()))]);
  return hidden;
}

Tensor MaskedWords::hidden(const Tensor& ids, std::span<const int64_t> rows) const {
  std::vector<int64_t> values = ids.to_integers();
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t place : places(row_of(values, ids.dim(1), r), rows[r]))
      values[r * static_cast<size_t>(ids.dim(1)) + place] = mask_;
  return Tensor::of<int64_t>(ids.shape(), values).converted(ids.dtype());
}

std::vector<int64_t> MaskedWords::right(const Tensor& ids, std::span<const int64_t> rows) const {
  const std::vector<int64_t> values = ids.to_integers();
  std::vector<int64_t> right(values.size(), kIgnored);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t place : places(row_of(values, ids.dim(1), r), rows[r])) {
      const size_t at = r * static_cast<size_t>(ids.dim(1)) + place;
      right[at] = values[at];
    }
  return right;
}

}  // namespace hone

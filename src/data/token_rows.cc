#include "data/token_rows.h"

#include "base/error.h"
#include "base/threads.h"

namespace hone {
namespace {

Tokens encode_row(const Dataset& data, size_t row, const Tokenizer& tokenizer, int64_t max_length) {
  if (!data.words.empty()) return tokenizer.encode_words(data.words[row], max_length);
  if (!data.second_texts.empty()) return tokenizer.encode_pair(data.texts[row], data.second_texts[row], max_length);
  return tokenizer.encode_text(data.texts[row], max_length);
}

}  // namespace

TokenRows::TokenRows(const Dataset& data, const Tokenizer& tokenizer, int64_t max_length) {
  if (data.rows > 0 && data.texts.empty() && data.words.empty())
    fail("{}: has no texts, and the model reads texts", data.path);
  constexpr int64_t kPart = 1024;  // rows between two looks at the memory limit
  std::vector<Tokens> part(kPart);
  for (int64_t begin = 0; begin < data.rows; begin += kPart) {
    const int64_t count = std::min(kPart, data.rows - begin);
    parallel_for(
        count,
        [&](int64_t i) {
          part[static_cast<size_t>(i)] = encode_row(data, static_cast<size_t>(begin + i), tokenizer, max_length);
        },
        16);
    for (int64_t i = 0; i < count; ++i)
      append(part[static_cast<size_t>(i)], !data.second_texts.empty(), !data.words.empty());
    charge_ = {};
    charge_ =
        MemoryCharge(static_cast<int64_t>(sizeof(int32_t) * (ids_.capacity() + types_.capacity() + words_.capacity())),
                     fmt::format("{}: its tokens", data.path));
  }
}

void TokenRows::append(const Tokens& tokens, bool is_pair, bool is_words) {
  const auto put = [](std::vector<int32_t>& to, const std::vector<int64_t>& from) {
    for (int64_t value : from) to.push_back(static_cast<int32_t>(value));  // ids fit: vocabulary.h
  };
  put(ids_, tokens.ids);
  if (is_pair) put(types_, tokens.types);
  if (is_words) put(words_, tokens.words);
  begin_.push_back(ids_.size());
  left_out_.push_back(tokens.left_out);
}

int64_t TokenRows::length(int64_t row) const { return std::ssize(ids(row)); }

std::span<const int32_t> TokenRows::part(const std::vector<int32_t>& values, int64_t row) const {
  if (values.empty()) return {};
  const size_t begin = begin_[static_cast<size_t>(row)];
  return std::span(values).subspan(begin, begin_[static_cast<size_t>(row) + 1] - begin);
}

}  // namespace hone

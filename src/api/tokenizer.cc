#include "tokenizers/tokenizer.h"

#include <hone/model.h>

#include "api/guarded.h"
#include "api/models.h"
#include "api/values.h"

namespace hone::api {
namespace {

void check_length(int64_t max_length) {
  if (max_length < 0) fail("max_length is {}; a number from 0 is needed", max_length);
}

hone::EncodeOptions engine(const EncodeOptions& options) {
  check_length(options.max_length);
  return {.max_length = options.max_length, .own_tokens = options.own_tokens, .ranges = true};
}

Tokens wrapped(hone::Tokens row) {
  Tokens tokens{std::move(row.ids), std::move(row.types), {}, row.left_out};
  for (const hone::TextRange& range : row.ranges) tokens.ranges.push_back({range.begin, range.end});
  return tokens;
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Tokens Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return guarded([&] { return wrapped(impl_->tokenizer.encode_text(text, engine(options))); });
}
Tokens Tokenizer::encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const {
  return guarded([&] { return wrapped(impl_->tokenizer.encode_pair(first, second, engine(options))); });
}
TokenBatch Tokenizer::encode_batch(const std::vector<std::string>& texts, int64_t max_length) const {
  return guarded([&] {
    check_length(max_length);
    hone::TokenBatch batch = impl_->tokenizer.encode_batch(texts, max_length);
    return TokenBatch{api::wrapped(std::move(batch.ids)), api::wrapped(std::move(batch.attention_mask))};
  });
}
std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special) const {
  return guarded([&] { return impl_->tokenizer.decode(ids, skip_special); });
}

}  // namespace hone::api

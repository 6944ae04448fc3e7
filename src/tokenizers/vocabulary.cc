#include "tokenizers/vocabulary.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

// FNV-1a of 64 bits: the hash of a text continues that of its beginning.
constexpr uint64_t kStart = 0xcbf29ce484222325;
uint64_t extend(uint64_t hash, char c) { return (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3; }
uint64_t extend(uint64_t hash, std::string_view text) {
  for (char c : text) hash = extend(hash, c);
  return hash;
}

// Similar texts have FNV hashes in a row, which linear probing suffers from; Fibonacci's multiplier (2^64 over the
// golden ratio) spreads them.
size_t slot_of(uint64_t hash, size_t slots) { return ((hash ^ hash >> 32) * 0x9e3779b97f4a7c15 >> 32) & (slots - 1); }

}  // namespace

// Index of the token whose text is head + tail, or -1.
int64_t Vocabulary::token_at(uint64_t hash, std::string_view head, std::string_view tail) const {
  if (slots_.empty()) return -1;
  for (size_t slot = slot_of(hash, slots_.size()); slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Token& t = entries_[static_cast<size_t>(slots_[slot])];
    if (t.hash != hash || t.bytes != head.size() + tail.size()) continue;
    const std::string_view text = text_of(t);
    if (text.starts_with(head) && text.ends_with(tail)) return slots_[slot];
  }
  return -1;
}

void Vocabulary::rebuild(size_t slots) {
  slots_.assign(slots, -1);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = slot_of(entries_[i].hash, slots_.size());
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<int32_t>(i);
  }
}

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  entries_.reserve(tokens);
  texts_.reserve(bytes);
  if (tokens * 2 > slots_.size()) rebuild(std::bit_ceil(tokens * 2));
}

bool Vocabulary::add(std::string_view token, int64_t id) {
  const uint64_t hash = extend(kStart, token);
  if (token_at(hash, token, "") >= 0) return false;
  CHECK(id >= 0 && id <= std::numeric_limits<int32_t>::max());
  if (texts_.size() + token.size() > std::numeric_limits<uint32_t>::max())
    fail("a vocabulary of more than 4 GiB of texts");
  entries_.push_back(
      {hash, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(token.size()), static_cast<int32_t>(id)});
  texts_ += token;
  longest_bytes_ = std::max(longest_bytes_, token.size());
  largest_id_ = std::max(largest_id_, id);
  if (entries_.size() * 2 > slots_.size()) {
    rebuild(std::max<size_t>(1024, slots_.size() * 2));
  } else {
    size_t slot = slot_of(hash, slots_.size());
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<int32_t>(entries_.size() - 1);
  }
  return true;
}

int64_t Vocabulary::find(std::string_view token) const {
  const int64_t entry = token_at(extend(kStart, token), token, "");
  return entry < 0 ? kAbsent : entries_[static_cast<size_t>(entry)].id;
}

int64_t Vocabulary::find(std::string_view head, std::string_view tail) const {
  const int64_t entry = token_at(extend(extend(kStart, head), tail), head, tail);
  return entry < 0 ? kAbsent : entries_[static_cast<size_t>(entry)].id;
}

Vocabulary::Match Vocabulary::longest(std::string_view prefix, std::string_view text) const {
  Match best;
  uint64_t hash = extend(kStart, prefix);
  const size_t most = longest_bytes_ > prefix.size() ? std::min(text.size(), longest_bytes_ - prefix.size()) : 0;
  for (size_t n = 1; n <= most; ++n) {
    hash = extend(hash, text[n - 1]);
    const int64_t entry = token_at(hash, prefix, text.substr(0, n));
    if (entry >= 0) best = {entries_[static_cast<size_t>(entry)].id, n};
  }
  return best;
}

}  // namespace hone

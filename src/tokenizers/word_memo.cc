#include "tokenizers/word_memo.h"

#include <cstring>
#include <new>

namespace hone {

struct WordMemo::Entry {
  uint64_t hash;
  uint32_t bytes, count;
  PieceToken* tokens() { return reinterpret_cast<PieceToken*>(this + 1); }
  char* word() { return reinterpret_cast<char*>(tokens() + count); }
};

namespace {

// Eight bytes at a time; the multiplier is 2^64 over the golden ratio.
uint64_t hash_of(std::string_view word) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = word.size();
  for (; word.size() >= 8; word.remove_prefix(8)) {
    uint64_t part;
    std::memcpy(&part, word.data(), 8);
    hash = (hash ^ part) * kMultiplier;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  for (const char c : word) rest = rest << 8 | static_cast<unsigned char>(c);
  hash = (hash ^ rest) * kMultiplier;
  return hash ^ hash >> 32;
}

}  // namespace

WordMemo::WordMemo() : slots_(new std::atomic<Entry*>[kSlots]()) {}

WordMemo::~WordMemo() {
  for (size_t i = 0; i < kSlots; ++i) ::operator delete(slots_[i].load());
}

void WordMemo::remember(std::atomic<Entry*>& slot, uint64_t hash, std::string_view word,
                        std::span<const PieceToken> tokens) const {
  void* memory = ::operator new(sizeof(Entry) + tokens.size_bytes() + word.size());
  auto* entry = new (memory) Entry{hash, static_cast<uint32_t>(word.size()), static_cast<uint32_t>(tokens.size())};
  if (!tokens.empty()) std::memcpy(entry->tokens(), tokens.data(), tokens.size_bytes());
  std::memcpy(entry->word(), word.data(), word.size());
  Entry* none = nullptr;
  if (!slot.compare_exchange_strong(none, entry, std::memory_order_release, std::memory_order_relaxed))
    ::operator delete(memory);  // another thread was first
}

void WordMemo::tokenize(const TokenModel& model, std::string_view word, std::vector<PieceToken>& out) const {
  if (word.size() > kLongestWord) return model.tokenize(word, out);
  const uint64_t hash = hash_of(word);
  for (size_t i = 0; i < kProbes; ++i) {
    std::atomic<Entry*>& slot = slots_[(hash + i) & (kSlots - 1)];
    Entry* entry = slot.load(std::memory_order_acquire);
    if (!entry) {
      const size_t before = out.size();
      model.tokenize(word, out);
      return remember(slot, hash, word, std::span(out).subspan(before));
    }
    if (entry->hash == hash && entry->bytes == word.size() &&
        std::memcmp(entry->word(), word.data(), word.size()) == 0) {
      out.insert(out.end(), entry->tokens(), entry->tokens() + entry->count);
      return;
    }
  }
  model.tokenize(word, out);
}

}  // namespace hone

#include "tokenizers/bpe_merges.h"

#include <algorithm>
#include <bit>
#include <queue>

#include "base/stop.h"

namespace hone {
namespace {

size_t place_of(int32_t left, int32_t right, size_t slots) {
  const uint64_t pair = static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  const uint64_t hash = pair * 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  return (hash ^ hash >> 32) & (slots - 1);
}

}  // namespace

uint32_t& BpeMerges::slot_of(int32_t left, int32_t right) {
  size_t place = place_of(left, right, slots_.size());
  for (;; place = (place + 1) & (slots_.size() - 1)) {
    uint32_t& slot = slots_[place];
    if (slot == kNone || (merges_[slot].left == left && merges_[slot].right == right)) return slot;
  }
}

void BpeMerges::rebuild(size_t slots) {
  slots_.assign(slots, kNone);
  for (uint32_t rank = 0; rank < merges_.size(); ++rank) slot_of(merges_[rank].left, merges_[rank].right) = rank;
}

void BpeMerges::reserve(size_t merges) {
  merges_.reserve(merges);
  if (merges * 2 >= slots_.size()) rebuild(std::bit_ceil(merges * 2 + 2));
}

void BpeMerges::add(int32_t left, int32_t right, int32_t result) {
  if (merges_.size() * 2 + 2 >= slots_.size()) rebuild(std::bit_ceil(merges_.size() * 4 + 4));
  slot_of(left, right) = static_cast<uint32_t>(merges_.size());
  merges_.push_back({left, right, result});
}

uint32_t BpeMerges::find(int32_t left, int32_t right) const {
  if (slots_.empty()) return kNone;
  for (size_t place = place_of(left, right, slots_.size());; place = (place + 1) & (slots_.size() - 1)) {
    const uint32_t rank = slots_[place];
    if (rank == kNone || (merges_[rank].left == left && merges_[rank].right == right)) return rank;
  }
}

void BpeMerges::merge(std::vector<PieceToken>& tokens, size_t from) const {
  // A scan for each merge costs less than a queue up to about so many tokens.
  constexpr size_t kFew = 48;
  if (tokens.size() - from <= kFew) merge_few(tokens, from);
  else merge_many(tokens, from);
}

void BpeMerges::merge_few(std::vector<PieceToken>& tokens, size_t from) const {
  thread_local std::vector<uint32_t> ranks;  // of each token and the next
  PieceToken* const t = tokens.data() + from;
  size_t count = tokens.size() - from;
  ranks.assign(count, kNone);
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = find(t[i].id, t[i + 1].id);
  for (;;) {
    const auto end = ranks.begin() + static_cast<int64_t>(count);
    const auto least = std::min_element(ranks.begin(), end);
    if (least == end || *least == kNone) break;
    const auto best = static_cast<size_t>(least - ranks.begin());
    t[best] = {merges_[*least].result, t[best].begin, t[best + 1].end};
    std::copy(t + best + 2, t + count, t + best + 1);
    std::copy(least + 1, end, least);
    --count;
    if (best > 0) ranks[best - 1] = find(t[best - 1].id, t[best].id);
    ranks[best] = best + 1 < count ? find(t[best].id, t[best + 1].id) : kNone;
  }
  tokens.resize(from + count);
}

void BpeMerges::merge_many(std::vector<PieceToken>& tokens, size_t from) const {
  struct Candidate {
    uint32_t rank, place;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  PieceToken* const t = tokens.data() + from;
  const auto count = static_cast<uint32_t>(tokens.size() - from);
  std::vector<uint32_t> next(count), before(count);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](uint32_t i) {
    if (next[i] >= count) return;
    if (const uint32_t rank = find(t[i].id, t[next[i]].id); rank != kNone) queue.push({rank, i});
  };
  constexpr int32_t kGone = -1;
  for (uint32_t i = 0; i < count; ++i) next[i] = i + 1, before[i] = i - 1;  // of the first: kNone
  for (uint32_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    check_stop();
    const Candidate c = queue.top();
    queue.pop();
    const uint32_t i = c.place, right = t[i].id == kGone ? count : next[i];
    if (right >= count) continue;
    if (find(t[i].id, t[right].id) != c.rank) continue;  // one of the two is another token by now
    t[i] = {merges_[c.rank].result, t[i].begin, t[right].end};
    t[right].id = kGone;
    next[i] = next[right];
    if (next[i] < count) before[next[i]] = i;
    if (before[i] != kNone) consider(before[i]);
    consider(i);
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i = next[i]) t[kept++] = t[i];
  tokens.resize(from + kept);
}

}  // namespace hone

#include "tokenizers/bpe_merges.h"

#include <bit>
#include <limits>
#include <queue>

#include "base/stop.h"

namespace hone {
namespace {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t place_of(uint64_t pair, size_t slots) {
  const uint64_t hash = pair * 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  return (hash ^ hash >> 32) & (slots - 1);
}

}  // namespace

BpeMerges::Slot& BpeMerges::slot_of(uint64_t pair) {
  size_t place = place_of(pair, slots_.size());
  while (slots_[place].pair != kFree && slots_[place].pair != pair) place = (place + 1) & (slots_.size() - 1);
  return slots_[place];
}

void BpeMerges::rebuild(size_t slots) {
  std::vector<Slot> before(slots, {kFree, 0, 0});
  before.swap(slots_);
  for (const Slot& slot : before)
    if (slot.pair != kFree) slot_of(slot.pair) = slot;
}

void BpeMerges::reserve(size_t merges) {
  if (merges * 2 > slots_.size()) rebuild(std::bit_ceil(merges * 2 + 1));
}

void BpeMerges::add(int32_t left, int32_t right, uint32_t rank, int32_t result) {
  reserve(size_ + 1);
  const uint64_t pair = pair_of(left, right);
  Slot& slot = slot_of(pair);
  size_ += slot.pair == kFree;
  slot = {pair, rank, result};
}

const BpeMerges::Slot* BpeMerges::find(int32_t left, int32_t right) const {
  if (slots_.empty()) return nullptr;
  const uint64_t pair = pair_of(left, right);
  for (size_t place = place_of(pair, slots_.size());; place = (place + 1) & (slots_.size() - 1)) {
    if (slots_[place].pair == pair) return &slots_[place];
    if (slots_[place].pair == kFree) return nullptr;
  }
}

void BpeMerges::merge(std::vector<PieceToken>& tokens, size_t from) const {
  // A scan for each merge costs less than a queue up to about so many tokens.
  constexpr size_t kFew = 48;
  if (tokens.size() - from <= kFew) merge_few(tokens, from);
  else merge_many(tokens, from);
}

void BpeMerges::merge_few(std::vector<PieceToken>& tokens, size_t from) const {
  thread_local std::vector<const Slot*> pairs;  // of each token and the next; nullptr: they do not merge
  PieceToken* const t = tokens.data() + from;
  size_t count = tokens.size() - from;
  pairs.assign(count, nullptr);
  for (size_t i = 0; i + 1 < count; ++i) pairs[i] = find(t[i].id, t[i + 1].id);
  for (;;) {
    size_t best = count;
    uint32_t rank = kNever;
    for (size_t i = 0; i + 1 < count; ++i)
      if (pairs[i] && pairs[i]->rank < rank) best = i, rank = pairs[i]->rank;
    if (best == count) break;
    t[best] = {pairs[best]->result, t[best].begin, t[best + 1].end};
    std::copy(t + best + 2, t + count, t + best + 1);
    std::copy(pairs.begin() + static_cast<int64_t>(best) + 2, pairs.begin() + static_cast<int64_t>(count),
              pairs.begin() + static_cast<int64_t>(best) + 1);
    --count;
    pairs[count - 1] = nullptr;
    if (best > 0) pairs[best - 1] = find(t[best - 1].id, t[best].id);
    pairs[best] = best + 1 < count ? find(t[best].id, t[best + 1].id) : nullptr;
  }
  tokens.resize(from + count);
}

void BpeMerges::merge_many(std::vector<PieceToken>& tokens, size_t from) const {
  struct Candidate {
    uint32_t rank, place;
    int32_t result;
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
    if (const Slot* slot = find(t[i].id, t[next[i]].id)) queue.push({slot->rank, i, slot->result});
  };
  constexpr int32_t kGone = -1;
  for (uint32_t i = 0; i < count; ++i) next[i] = i + 1, before[i] = i - 1;  // of the first: kNever
  for (uint32_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    check_stop();
    const Candidate c = queue.top();
    queue.pop();
    const uint32_t i = c.place, right = t[i].id == kGone ? count : next[i];
    if (right >= count) continue;
    const Slot* slot = find(t[i].id, t[right].id);
    if (!slot || slot->result != c.result) continue;  // one of the two is another token by now
    t[i] = {slot->result, t[i].begin, t[right].end};
    t[right].id = kGone;
    next[i] = next[right];
    if (next[i] < count) before[next[i]] = i;
    if (before[i] != kNever) consider(before[i]);
    consider(i);
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i = next[i]) t[kept++] = t[i];
  tokens.resize(from + kept);
}

}  // namespace hone

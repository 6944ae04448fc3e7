#include "tokenizers/charsmap.h"

#include <cstring>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/text_steps.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

// A unit of Darts-clone (Yata): bits 0-7 the label, bit 8 whether a text ends here, bits 9-31 where its children are.
// Units with bit 31 set hold a value.
size_t offset_of(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit & 1u << 9) >> 6); }
bool has_leaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xff); }
uint32_t value_of(uint32_t unit) { return unit & ~(1u << 31); }

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& source) {
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof trie_bytes) fail("{}: a charsmap of {} bytes has no trie", source, bytes.size());
  std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
  bytes.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > bytes.size() || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0)
    fail("{}: the charsmap's trie has {} bytes, and {} follow; expected units of 4 bytes", source, trie_bytes,
         bytes.size());
  units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(units_.data(), bytes.data(), trie_bytes);
  replacements_ = bytes.substr(trie_bytes);
  replacements_ += '\0';
  if (!is_valid_utf8(replacements_)) fail("{}: the charsmap's replacements are no UTF-8", source);
  check(source);
  for (size_t c = 1; c < is_plain_.size(); ++c) {
    const char character = static_cast<char>(c);
    is_plain_[c] = character != '\r' && !replacement({&character, 1});
  }
}

// Follows every path once. Paths that meet, or lead back, are no error: a text ends all of them.
void Charsmap::check(const std::string& source) const {
  std::vector<bool> seen(units_.size());
  std::vector<size_t> todo{0};
  seen[0] = true;
  while (!todo.empty()) {
    const size_t node = todo.back();
    todo.pop_back();
    const size_t base = node ^ offset_of(units_[node]);
    // The last block may end early: labels lead to what is not there as they lead to units of other nodes.
    if (base >= units_.size())
      fail("{}: the charsmap's unit {} points to {}, and there are {} units", source, node, base, units_.size());
    if (has_leaf(units_[node])) {
      const size_t at = value_of(units_[base]);
      if (at >= replacements_.size() || (static_cast<unsigned char>(replacements_[at]) & 0xc0) == 0x80)
        fail("{}: the charsmap's unit {} has a replacement at byte {} of {}", source, base, at, replacements_.size());
      if (std::strlen(replacements_.data() + at) > kLongestContent)
        fail("{}: the charsmap's replacement at byte {} is longer than {} bytes", source, at, kLongestContent);
    }
    for (size_t label = 1; label < 256; ++label) {
      const size_t child = base ^ label;
      if (child >= units_.size() || label_of(units_[child]) != label || seen[child]) continue;
      seen[child] = true;
      todo.push_back(child);
    }
  }
}

const char* Charsmap::replacement(std::string_view text) const {
  size_t node = offset_of(units_[0]);
  for (const char c : text) {
    const auto label = static_cast<unsigned char>(c);
    if (label == 0) break;
    node ^= label;
    if (node >= units_.size() || label_of(units_[node]) != label) return nullptr;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (has_leaf(unit)) return replacements_.data() + value_of(units_[node]);
  }
  return nullptr;
}

namespace {

int64_t characters(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); at += utf8_length(text[at])) ++count;
  return count;
}

struct Change {
  char32_t c;
  int change;
};

// As the library counts: what is missing is charged to the character written last, whatever made it.
void replace(std::vector<Change>& changes, std::string_view from, std::string_view to) {
  const int64_t extra = characters(to) - characters(from);
  for (size_t at = 0; at < to.size();) changes.push_back({next_code_point(to, at), 0});
  for (int64_t i = 0; i < extra; ++i) changes[changes.size() - 1 - static_cast<size_t>(i)].change = 1;
  if (extra < 0 && !changes.empty()) changes.back().change += static_cast<int>(extra);
}

}  // namespace

void Charsmap::apply(AlignedText& text) const {
  const std::string_view source = text.text;
  const auto is_plain = [&](size_t at) {
    const auto c = static_cast<unsigned char>(source[at]);
    return c < 0x80 && is_plain_[c];
  };
  size_t plain = 0;
  while (plain < source.size() && is_plain(plain)) ++plain;
  if (plain == source.size()) return;

  std::vector<Change> changes;
  changes.reserve(source.size());
  bool is_modified = false;
  const auto take = [&](std::string_view part) {
    const char* to = replacement(part);
    if (to) replace(changes, part, to), is_modified = true;
    check_room(text, changes.size());
    return to != nullptr;
  };
  for (size_t at = 0; at < source.size();) {
    // An ASCII character before another one is a cluster.
    if (is_plain(at) && (at + 1 == source.size() || static_cast<unsigned char>(source[at + 1]) < 0x80)) {
      changes.push_back({static_cast<char32_t>(source[at++]), 0});
      continue;
    }
    size_t end = at;
    int state = 0;
    char32_t last = next_code_point(source, end);
    while (end < source.size()) {
      size_t next = end;
      const char32_t c = next_code_point(source, next);
      if (is_grapheme_break(last, c, state)) break;
      last = c, end = next;
    }
    const std::string_view cluster = source.substr(at, end - at);
    constexpr size_t kWhole = 6;
    if (cluster.size() >= kWhole || !take(cluster)) {
      for (size_t i = 0; i < cluster.size();) {
        const std::string_view one = cluster.substr(i, utf8_length(cluster[i]));
        size_t zero = 0;
        if (!take(one)) changes.push_back({next_code_point(one, zero), 0});
        i += one.size();
      }
    }
    at = end;
  }
  if (!is_modified) return;
  Rewriter out(text);
  for (const Change& change : changes) out.put(change.c, change.change);
  out.finish();
}

}  // namespace hone

// A set of token texts with ids, made for greedy matching: one hash that grows byte by byte finds the longest entry in
// one sweep.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

class Vocabulary {
 public:
  static constexpr int64_t kAbsent = -1;

  void reserve(size_t tokens, size_t bytes);     // room for so many tokens with so many bytes in all; a matter of speed
  bool add(std::string_view token, int64_t id);  // false when the token is there already; ids from 0, below 2^31
  int64_t find(std::string_view token) const;    // kAbsent when there is none
  int64_t find(std::string_view head, std::string_view tail) const;  // of the token that is one behind the other
  size_t size() const { return entries_.size(); }
  int64_t largest_id() const { return largest_id_; }  // kAbsent when empty

  struct Entry {
    std::string_view text;
    int64_t id;
  };
  Entry entry(size_t i) const { return {text_of(entries_[i]), entries_[i].id}; }  // in the order of adding

  struct Match {
    int64_t id = kAbsent;
    size_t bytes = 0;  // of the text that it covers
  };
  // The longest entry that is `prefix` followed by one or more leading bytes of `text`.
  Match longest(std::string_view prefix, std::string_view text) const;

 private:
  struct Token {
    uint64_t hash;
    uint32_t offset, bytes;  // into texts_
    int32_t id;
  };
  std::string_view text_of(const Token& t) const { return {texts_.data() + t.offset, t.bytes}; }
  int64_t token_at(uint64_t hash, std::string_view head, std::string_view tail) const;
  void rebuild(size_t slots);

  std::string texts_;
  std::vector<Token> entries_;
  std::vector<int32_t> slots_;  // index into entries_, or -1; a power of two of them
  size_t longest_bytes_ = 0;
  int64_t largest_id_ = kAbsent;
};

}  // namespace hone

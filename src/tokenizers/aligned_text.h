// A text on its way to tokens, and where each of its bytes came from, so that tokens can say which part of the original
// they are.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// Bytes [begin, end) of the original: those of whole characters.
struct Origin {
  uint32_t begin = 0, end = 0;
};

struct AlignedText {
  std::string text;             // valid UTF-8
  std::vector<Origin> origins;  // of each byte; empty where they are not followed
  bool followed = false;
  uint32_t begin = 0;                                // of the original
  size_t most = std::numeric_limits<size_t>::max();  // bytes that steps may make of it

  // The bytes as they are. Those that are no UTF-8 are read as U+FFFD, whose origin they are.
  static AlignedText of(std::string_view bytes, bool followed);
};

// Throws Error where so many bytes are more than a text may have.
void check_room(const AlignedText& text, size_t bytes);

// A part of a text that is tokenised by itself.
struct Piece {
  std::string_view text;
  const Origin* origins = nullptr;  // of each byte; nullptr where they are not followed
  bool is_first = false;            // nothing of the original lies before it

  Piece part(size_t from, size_t to) const {
    return {text.substr(from, to - from), origins ? origins + from : nullptr, is_first && from == 0};
  }
};

// Writes a text anew, character by character from its start. Throws Error when it becomes longer than its `most`.
class Rewriter {
 public:
  explicit Rewriter(AlignedText& text) : text_(text) { written_.reserve(text.text.size() + 16); }

  // Leaves out so many characters.
  void skip(size_t characters);
  // Writes c. A change of 0: in place of the next character; above 0: besides, as part of what was read last; -n: in
  // place of the next one, and the n that follow are left out.
  void put(char32_t c, int change);
  // Writes a text of which all is part of what was read last.
  void insert(std::string_view text);
  // Copies so many bytes, whole characters.
  void copy(size_t bytes);
  size_t at() const { return at_; }  // bytes read so far
  void finish();

 private:
  Origin last() const;  // of what was read last
  AlignedText& text_;
  std::string written_;
  std::vector<Origin> origins_;
  size_t at_ = 0;
};

}  // namespace hone

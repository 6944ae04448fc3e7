// A WordPiece vocabulary of the most frequent words, for models that learn a task from nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hone {

// As a vocab.txt of at most `size` lines: BERT's own tokens, each byte that is printable ASCII alone and inside a word,
// and words in lower case by how often they come, ties by name. Throws Error when `size` leaves no room for words.
std::string word_vocabulary(std::span<const std::string> texts, int64_t size);

}  // namespace hone

// Reads tokenizer.json by events: the vocabulary, tens of thousands of entries, goes straight into its table, the rest
// into a tree.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "data/vocabulary.h"

namespace hone {

// The whole file but for the entries of model.vocab where that is an object (it stays there as an empty one). Throws
// Error for malformed JSON, duplicate keys and ids that are no integers from 0.
Json read_tokenizer_json(std::string_view text, const std::string& source, Vocabulary& vocabulary);

}  // namespace hone

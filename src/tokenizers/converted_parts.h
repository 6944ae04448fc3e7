// Parts of a tokenizer.json, written for older files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer_json.h"
#include "tokenizers/tokenizer_settings.h"

namespace hone {

// What the settings call a special token, else what the class calls it.
AddedToken special_token(const TokenizerSettings& settings, const char* key, const char* usual);

// Adds to root.added_tokens: each of `specials` that the vocabulary has, then those of the settings, which replace
// equal ones. Throws Error for an id that is another one in the vocabulary.
void put_added_tokens(TokenizerJson& json, const std::vector<AddedToken>& specials, const TokenizerSettings& settings,
                      const std::string& source);

// The merges of SentencePiece's byte-pair encoding, which has their results with scores: every split of a token into
// two is a merge, in the order of the results' scores, then of the halves' lengths, longest first.
void put_merges_of_scores(TokenizerJson& json);

// The id of a token, added or of the vocabulary; Vocabulary::kAbsent when there is none.
int64_t id_of(const TokenizerJson& json, const std::string& text);

// A TemplateProcessing: "A" and "B" are the texts, others are tokens; types are given behind a colon ("B:1"). Throws
// Error for a token that is not there.
Json template_of(const TokenizerJson& json, const std::vector<std::string>& single,
                 const std::vector<std::string>& pair, const std::string& source);

// Throws Error that names a setting which is on and is not among `followed`. One that says how older versions of a
// class behaved ("legacy") may be on anywhere.
void refuse_other_flags(const TokenizerSettings& settings, std::span<const std::string_view> followed,
                        const std::string& source);

// Throws Error that names the class, and those that are known.
[[noreturn]] void refuse_class(const TokenizerSettings& settings, std::span<const char* const> known,
                               const std::string& source);

}  // namespace hone

// spiece.model and its like: models of SentencePiece, of before tokenizer.json.
#pragma once

#include "tokenizers/tokenizer_def.h"

namespace hone {

bool has_sentencepiece(const NamedFiles& files);

// Unigram models and those of byte-pair encoding, by the tokenizer_class of the settings, as transformers converts
// them. Throws Error for other classes, and for files that are malformed.
TokenizerJson convert_sentencepiece(const NamedFiles& files, const TokenizerSettings& settings,
                                    const std::string& source);

}  // namespace hone

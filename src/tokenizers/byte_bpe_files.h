// vocab.json and merges.txt: byte-level tokenizers of before tokenizer.json.
#pragma once

#include "tokenizers/tokenizer_def.h"

namespace hone {

bool has_byte_bpe_files(const NamedFiles& files);

// By the tokenizer_class of the settings, as transformers converts them. Throws Error for other classes, and for files
// that are malformed.
TokenizerJson convert_byte_bpe_files(const NamedFiles& files, const TokenizerSettings& settings,
                                     const std::string& source);

}  // namespace hone

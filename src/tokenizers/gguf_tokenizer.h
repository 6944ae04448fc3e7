// The tokenizer in a GGUF file's metadata (tokenizer.ggml.*), put into the form of a tokenizer.json. The file says
// which tokens and merges there are; how a text is split and what stands around it follows from names that llama.cpp
// gives (docs/gguf.md).
#pragma once

#include "io/gguf/gguf_value.h"
#include "tokenizers/tokenizer_json.h"

namespace hone {

bool has_gguf_tokenizer(const GgufMetadata& metadata);

// Throws Error that names the file, the key and what is wrong: for kinds and ways to split that are not known, types or
// scores that are fewer than tokens, and ids that are no token.
TokenizerJson tokenizer_of_gguf(const GgufMetadata& metadata);

}  // namespace hone

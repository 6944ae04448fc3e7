// The generated table of kinds of tokenizers.
#pragma once

#include <span>

#include "tokenizers/tokenizer_def.h"

namespace hone::tokenizers {

std::span<const TokenizerDef* const> all();

}  // namespace hone::tokenizers

// The text normalisation of BERT tokenizers.
#pragma once

#include <string>
#include <string_view>

#include "data/tokenizer_spec.h"

namespace hone {

// Applies the steps that `spec` has on, in the order of its members.
std::u32string normalise(const NormalizerSpec& spec, std::u32string text);

}  // namespace hone

// One vector of a text's tokens, as sentence-transformers' Pooling module makes it.
#pragma once

#include "models/transformer.h"

namespace hone {

// x f32[B,S,C], mask i64[B,S] → f32[B,C], by the mode that the request's pooling switches on, with the norm 1 where it
// asks for that. Throws Error for a mode that is not known, for several, and for prompts that the pooling leaves out.
ValueId sentence_pooling(TransformerBuilder& builder, ValueId x, ValueId mask);

}  // namespace hone

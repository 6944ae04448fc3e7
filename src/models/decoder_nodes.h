// What of a decoder's graph is about more than one token: its attentions, and the sums that count tokens. Everything
// else must be about each token alone, or runs that see a piece of a text would compute something else.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace hone {

struct DecoderNodes {
  std::vector<NodeId> attentions;  // causal, with a mask by attention_mask or none
  std::vector<NodeId> counts;      // cumsum of attention_mask along the tokens: what positions are made of
};

// Of a decoder (is_decoder). Throws Error naming the first node of another kind that mixes tokens, counts them by the
// length of the run, or reads attention_mask in another way.
DecoderNodes decoder_nodes(const Graph& graph);

}  // namespace hone

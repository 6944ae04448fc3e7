// What of a decoder's graph is about more than one token: its attentions, and the positions of tokens. Everything else
// must be about each token alone, or runs that see a piece of a text would compute something else.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace hone {

struct DecoderNodes {
  std::vector<NodeId> attentions;  // causal, with a mask by attention_mask or none
  // [B,S], of numbers: a token's place among those of its row, counted from `first`. Found by what they are for a few
  // masks, not by how they are computed.
  struct Positions {
    ValueId value = kNone;
    int64_t first = 0;
  };
  std::vector<Positions> positions;
};

// Of a decoder (is_decoder). Throws Error naming the first node of another kind that mixes tokens, or that reads a
// number of their places which padding changes.
DecoderNodes decoder_nodes(const Graph& graph);

// Erases nodes and constants that no output is made of.
void drop_unread(Graph& graph);

}  // namespace hone

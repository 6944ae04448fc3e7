// What the graph of a decoder looks like, whatever its family: what it takes and gives, what its metadata say, and the
// form of it that keeps keys and values from run to run (docs/decoders.md).
//
// A graph as it is opened, stored and compressed has no state:
//   input_ids       i64[B,S]
//   attention_mask  i64[B,S]  1 for tokens, 0 for padding, on either side; a row's tokens lie side by side
//   → logits        f32[B,S,vocabulary], of the token behind each; of padding they mean nothing
// An embedding alone (architectures ending in Model) gives last_hidden_state f32[B,S,hidden] in their place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// Keys of metadata. Numbers are written in base 10.
inline constexpr char kDecoderContext[] = "decoder.context";        // tokens that a sequence may have
inline constexpr char kDecoderVocabulary[] = "decoder.vocabulary";  // ids are below this
inline constexpr char kDecoderBegin[] = "decoder.begin";            // id in front of texts; absent: none is known
inline constexpr char kDecoderEnd[] = "decoder.end";                // ids that end a text: "2" or "2,32000"; absent: none
inline constexpr char kChatTemplate[] = "chat_template";            // text of the template; absent: none

struct DecoderFacts {
  int64_t context = 0, vocabulary = 0;
  std::optional<int64_t> begin;
  std::vector<int64_t> end;
  std::string chat_template;  // "": none
};

bool is_decoder(const Graph& graph);
// Error for a graph that is none, and for metadata that are no numbers.
DecoderFacts decoder_facts(const Graph& graph);

// How a cache keeps keys and values.
struct CacheOptions {
  std::string type = "f32";  // or bf16, or a packed format with scales for each row: int8.g64
  int64_t page_rows = 64;    // tokens of a page
  bool all_logits = false;   // logits of each token, not of each row's last alone
};

// Names of the states, for PagedStates (runtime/page_table.h).
inline constexpr char kCacheTable[] = "table";      // i64[N,T]
inline constexpr char kCacheLengths[] = "lengths";  // i64[N]

// The form that goes on where the run before ended, for prompts, for pieces of prompts and for single tokens: one graph,
// whose sizes are open.
//   input_ids       i64[B,S]
//   attention_mask  i64[B,S]  as above; S may be 1
//   slots           i64[B]    which of the N sequences each row belongs to, each once
//   → logits        f32[B,vocabulary], of the token behind each row's last; with all_logits f32[B,S,vocabulary]
// State, shared by all layers but for their pages [P,page_rows,columns]: table, lengths, LAYER.keys and LAYER.values.
// lengths grow by each row's tokens. Before a run the table must have room for S rows more, padding included, in each
// sequence of `slots` (PageTable::reserve), and lengths + S must stay within the context: that is the caller's to hold.
//
// Works on any decoder's graph before passes, quantized, pruned or with adapters. Error for a graph that is no decoder,
// that has an attention which sees what is behind it, and for a type that the size of a head does not allow: it names
// what would be accepted.
struct CachedDecoder {
  Graph graph;
  std::vector<std::string> pages;  // names of the states of pages
};
CachedDecoder with_cache(const Graph& decoder, const CacheOptions& options);

}  // namespace hone

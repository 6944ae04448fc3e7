#include "models/decoder.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "models/token_inputs.h"
#include "ops/calls/attention.h"

namespace hone {
namespace {

bool is_token_input(const Graph& graph, const char* label) {
  const ValueId id = input_of(graph, label);
  if (id == kNone) return false;
  const TensorType& type = graph.type(id);
  return type.dtype == DType::i64 && type.rank() == 2;
}

bool has_causal_attention(const Graph& graph) {
  const std::vector<NodeId> all = graph.nodes(attention_def);
  return std::ranges::any_of(all,
                             [&](NodeId id) { return graph.node(id).attributes.get_or<int64_t>("causal", 0) != 0; });
}

int64_t number(const Graph& graph, const char* key, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    fail("graph {}: metadata {} is \"{}\"; accepted: numbers in base 10, 0 or more", graph.name, key,
         graph.metadata.at(key));
  return value;
}

const std::string* metadata_of(const Graph& graph, const char* key) {
  const auto found = graph.metadata.find(key);
  return found == graph.metadata.end() ? nullptr : &found->second;
}

}  // namespace

bool is_decoder(const Graph& graph) {
  const auto is_state = [&](ValueId id) { return graph.value(id).role == InputRole::state; };
  if (graph.arguments().size() != 2 || std::ranges::any_of(graph.inputs(), is_state)) return false;
  if (!is_token_input(graph, "input_ids") || !is_token_input(graph, "attention_mask")) return false;
  if (graph.returned() != 1 || graph.type(graph.outputs()[0].value).rank() != 3) return false;
  const std::string& label = graph.outputs()[0].label;
  return (label == "logits" || label == "last_hidden_state") && has_causal_attention(graph);
}

DecoderFacts decoder_facts(const Graph& graph) {
  if (!is_decoder(graph))
    fail(
        "graph {} is no decoder; accepted: input_ids and attention_mask i64[B,S] in, logits [B,S,vocabulary] or "
        "last_hidden_state [B,S,hidden] out, causal attention and no state",
        graph.name);
  DecoderFacts facts;
  if (const std::string* text = metadata_of(graph, kDecoderContext))
    facts.context = number(graph, kDecoderContext, *text);
  if (const std::string* text = metadata_of(graph, kDecoderVocabulary))
    facts.vocabulary = number(graph, kDecoderVocabulary, *text);
  if (const std::string* text = metadata_of(graph, kDecoderBegin)) facts.begin = number(graph, kDecoderBegin, *text);
  if (const std::string* text = metadata_of(graph, kDecoderEnd))
    for (const std::string& id : split(*text, ',')) facts.end.push_back(number(graph, kDecoderEnd, id));
  if (const std::string* text = metadata_of(graph, kChatTemplate)) facts.chat_template = *text;
  return facts;
}

}  // namespace hone

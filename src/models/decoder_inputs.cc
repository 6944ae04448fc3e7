#include "models/decoder_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "ir/row_keys.h"
#include "models/decoder.h"
#include "models/token_inputs.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cumsum.h"
#include "ops/calls/linear.h"

namespace hone {
namespace {

// Of a number, a list of them, or null.
std::vector<int64_t> ids_of(const Json& settings, const char* key, int64_t vocabulary, const std::string& source) {
  const Json given = settings.value(key, Json());
  std::vector<int64_t> ids;
  if (given.is_null()) return ids;
  for (const Json& id : given.is_array() ? given : Json::array({given})) {
    if (!id.is_number_integer() || id < 0 || id >= vocabulary)
      fail("{}: key \"{}\" has {}; accepted: ids below the vocabulary's {}", source, key, json_excerpt(id), vocabulary);
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

// No token is counted further than its place, so the smaller of both is the count: it is taken for the limit that
// positions() states. What of padding lies in front of a row's tokens has position 0.
ValueId token_positions(TransformerBuilder& builder, ValueId mask, int64_t context) {
  Graph& graph = builder.graph();
  const ValueId places = builder.positions(Dim::symbol("S"), context);
  if (mask == kNone) return places;
  graph.rename(places, "places");
  const ValueId before = ops::sub(graph, {ops::cumsum(graph, {.x = mask, .axis = 1}), graph.add_scalar(int64_t{1})});
  const ValueId counted = ops::max(graph, {before, graph.add_scalar(int64_t{0})});
  return ops::min(graph, {counted, places}, "positions");
}

}  // namespace

void set_text_ends(Graph& graph, const Json& settings, const std::string& source) {
  const int64_t vocabulary = std::stoll(graph.metadata.at(kDecoderVocabulary));
  if (const auto begin = ids_of(settings, "bos_token_id", vocabulary, source); !begin.empty())
    graph.metadata[kDecoderBegin] = std::to_string(begin.front());
  if (const auto end = ids_of(settings, "eos_token_id", vocabulary, source); !end.empty())
    graph.metadata[kDecoderEnd] = fmt::format("{}", fmt::join(end, ","));
}

bool has_word_scores(const ModelRequest& request) {
  const auto names = json_get<std::vector<std::string>>(request.config, "architectures", request.source);
  return names.empty() || !names[0].ends_with("Model") || names[0].ends_with("LMHeadModel");
}

DecoderInputs decoder_inputs(TransformerBuilder& builder, const ModelConfig& config, const std::string& family,
                             int64_t context, int64_t vocabulary) {
  Graph& graph = builder.graph();
  const TokenInputs wanted(builder.request(), false);
  if (wanted.has("token_type_ids"))
    fail("\"token_type_ids\" is not an input of a decoder; accepted: input_ids, attention_mask");
  wanted.declare(graph);
  graph.name = family;
  auto& metadata = graph.metadata;
  metadata["family"] = family;
  metadata[kPositions] = metadata[kDecoderContext] = std::to_string(context);
  metadata[kDecoderVocabulary] = std::to_string(vocabulary);
  set_text_ends(graph, config.json(), config.source());
  const ValueId mask = input_of(graph, "attention_mask");
  return {.ids = input_of(graph, "input_ids"),
          .positions = token_positions(builder, mask, context),
          .mask = mask == kNone ? kNone : builder.additive_mask(mask)};
}

void decoder_output(TransformerBuilder& builder, ValueId x, const std::string& table, int64_t vocabulary,
                    int64_t hidden) {
  Graph& graph = builder.graph();
  if (!has_word_scores(builder.request())) {
    graph.add_output(x, "last_hidden_state");
    return;
  }
  graph.add_output(ops::linear(graph, {.x = x, .w = builder.weight(table, {vocabulary, hidden})}, "logits"), "logits");
}

}  // namespace hone

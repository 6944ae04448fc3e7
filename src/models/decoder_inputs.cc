#include "models/decoder_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "ir/row_keys.h"
#include "models/classifier.h"
#include "models/decoder.h"
#include "models/decoder_layers.h"
#include "models/token_inputs.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/cumsum.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"

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

namespace {

std::string architecture(const ModelRequest& request) {
  const auto names = json_get<std::vector<std::string>>(request.config, "architectures", request.source);
  return names.empty() ? "" : names[0];
}

bool is_classifier(const ModelRequest& request) { return architecture(request).ends_with("ForSequenceClassification"); }

// x [B,S,hidden] → [B,hidden]: of the last token of each row, whatever padding is behind it.
ValueId last_tokens(Graph& graph, ValueId x, ValueId mask) {
  const Shape shape = graph.type(x).shape;
  const Dim rows = shape[0] * shape[1];
  const ValueId all = ops::iota(graph, {.shape = Shape{rows}});
  ValueId number = ops::reshape(graph, {.x = all, .shape = Shape{shape[0], shape[1]}});
  if (mask != kNone) {
    const ValueId is_token = ops::not_equal(graph, {mask, graph.add_scalar(int64_t{0})});
    number = ops::mul(graph, {number, ops::cast(graph, {.x = is_token, .dtype = DType::i64})});
  }
  const ValueId last = ops::reduce_max(graph, {.x = number, .axes = std::vector<int64_t>{1}, .keepdims = 0});
  const ValueId table = ops::reshape(graph, {.x = x, .shape = Shape{rows, shape[2]}});
  return ops::gather(graph, {.table = table, .indices = last}, "last_tokens");
}

void class_outputs(TransformerBuilder& builder, ValueId x, int64_t hidden) {
  Graph& graph = builder.graph();
  const int64_t classes = class_count(ModelConfig(builder.request()));
  const ValueId read = last_tokens(graph, x, input_of(graph, "attention_mask"));
  const ValueId logits = builder.unbiased_linear(read, "score", hidden, classes, "logits");
  classifier_outputs(builder, logits, input_of(graph, "labels"), classes);
}

}  // namespace

bool has_word_scores(const ModelRequest& request) {
  const std::string name = architecture(request);
  return (!name.ends_with("Model") || name.ends_with("LMHeadModel")) && !is_classifier(request);
}

DecoderInputs decoder_inputs(TransformerBuilder& builder, const ModelConfig& config, const std::string& family,
                             int64_t context, int64_t vocabulary) {
  Graph& graph = builder.graph();
  const TokenInputs wanted(builder.request(), is_classifier(builder.request()));
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
                    int64_t hidden, std::optional<double> cap) {
  Graph& graph = builder.graph();
  if (is_classifier(builder.request())) return class_outputs(builder, x, hidden);
  if (!has_word_scores(builder.request())) {
    graph.add_output(x, "last_hidden_state");
    return;
  }
  const ValueId words = builder.weight(table, {vocabulary, hidden});
  const ValueId scores = ops::linear(graph, {.x = x, .w = words}, cap ? "scores" : "logits");
  graph.add_output(cap ? capped(graph, scores, *cap, "logits") : scores, "logits");
}

}  // namespace hone

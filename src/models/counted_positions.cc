#include "models/counted_positions.h"

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/cumsum.h"

namespace hone {

int64_t padding_id(const ModelConfig& config, int64_t fallback) {
  if (config.has("pad_token_id") && config.json().at("pad_token_id") == 0) return 0;
  return config.size_or("pad_token_id", fallback);
}

int64_t counted_positions(const ModelConfig& config, int64_t padding, int64_t rows) {
  if (rows <= padding + 1)
    fail("{}: max_position_embeddings is {}, and positions begin at pad_token_id + 1 = {}; accepted: more",
         config.source(), rows, padding + 1);
  return rows - padding - 1;
}

// No token is counted further than its place, so the smaller of both is the count: it is taken for the limit that
// positions() states.
ValueId count_positions(TransformerBuilder& builder, ValueId ids, int64_t padding, int64_t limit) {
  Graph& graph = builder.graph();
  const ValueId pad = graph.add_scalar(padding);
  const ValueId counts = ops::cast(graph, {.x = ops::not_equal(graph, {ids, pad}), .dtype = DType::i64});
  const ValueId places = ops::add(graph, {builder.positions(Dim::symbol("S"), limit), graph.add_scalar(int64_t{1})});
  const ValueId so_far = ops::min(graph, {ops::cumsum(graph, {.x = counts, .axis = 1}), places});
  return ops::add(graph, {ops::mul(graph, {so_far, counts}), pad}, "positions");
}

}  // namespace hone

#include "models/sentence_pooling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/settings.h"
#include "ops/calls/comparison.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

constexpr std::array<const char*, 3> kModes{"cls_token", "mean_tokens", "max_tokens"};

// The one mode that is on: of older files a switch for each, of newer ones also pooling_mode, a name of those
// ("mean") or a list of one.
std::string pooling_mode(const Json& pooling, const std::string& source) {
  static constexpr Setting kSettings[] = {{"word_embedding_dimension"},
                                          {"embedding_dimension"},
                                          {"pooling_mode"},
                                          {"include_prompt", "true"},
                                          {"pooling_mode_cls_token"},
                                          {"pooling_mode_mean_tokens"},
                                          {"pooling_mode_max_tokens"},
                                          {"pooling_mode_mean_sqrt_len_tokens"},
                                          {"pooling_mode_weightedmean_tokens"},
                                          {"pooling_mode_lasttoken"}};
  check_settings(pooling, kSettings, source + ": the pooling");
  constexpr std::string_view kSwitch = "pooling_mode_";
  std::vector<std::string> on;
  for (const auto& [key, value] : pooling.items())
    if (key.starts_with(kSwitch) && value == true) on.push_back(key.substr(kSwitch.size()));
  if (on.empty() && pooling.contains("pooling_mode")) {
    const Json& named = pooling["pooling_mode"];
    for (const Json& mode : named.is_array() ? named : Json::array({named})) {
      if (!mode.is_string()) fail("{}: pooling_mode is {}; expected a name", source, json_excerpt(mode));
      const auto name = mode.get<std::string>();
      on.push_back(name == "cls" ? "cls_token" : name == "mean" ? "mean_tokens" : name == "max" ? "max_tokens" : name);
    }
  }
  if (on.size() != 1)
    fail("{}: the pooling switches {} modes on; accepted: exactly one of {}", source, on.size(),
         fmt::join(kModes, ", "));
  if (std::ranges::find(kModes, on[0]) == kModes.end())
    fail("{}: pooling mode \"{}\" is not supported; accepted: {}", source, on[0], fmt::join(kModes, ", "));
  return on[0];
}

ValueId largest_tokens(Graph& graph, ValueId x, ValueId mask) {
  const ValueId kept = ops::not_equal(graph, {mask, graph.add_scalar(int64_t{0})});
  const ValueId column = ops::unsqueeze(graph, {.x = kept, .axes = std::vector<int64_t>{2}});
  const ValueId lowest = graph.add_scalar(std::numeric_limits<float>::lowest());
  const ValueId masked = ops::where(graph, {.condition = column, .a = x, .b = lowest});
  return ops::reduce_max(graph, {.x = masked, .axes = std::vector<int64_t>{1}, .keepdims = 0});
}

}  // namespace

ValueId sentence_pooling(TransformerBuilder& builder, ValueId x, ValueId mask) {
  Graph& graph = builder.graph();
  const ModelRequest& request = builder.request();
  const std::string mode = pooling_mode(request.pooling, request.source);
  const ValueId pooled = mode == "cls_token"    ? builder.first_token(x)
                         : mode == "max_tokens" ? largest_tokens(graph, x, mask)
                                                : ops::mean_pool(graph, {.x = x, .mask = mask}, "mean");
  return request.normalise ? ops::l2_normalise(graph, {pooled}, "unit") : pooled;
}

}  // namespace hone

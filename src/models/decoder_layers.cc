#include "models/decoder_layers.h"

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/slice.h"
#include "ops/calls/transcendental.h"

namespace hone {

int64_t columns_of_heads(const ModelConfig& config, const SizeKey& hidden, const SizeKey& heads) {
  if (hidden.value % heads.value != 0)
    fail("{}: {} {} is not a multiple of {} {}", config.source(), hidden.key, hidden.value, heads.key, heads.value);
  return hidden.value / heads.value;
}

HeadSizes head_sizes(const ModelConfig& config, int64_t columns) {
  HeadSizes sizes{.heads = config.size("num_attention_heads"), .kv_heads = 0, .columns = 0};
  sizes.kv_heads = config.size_or("num_key_value_heads", sizes.heads);
  sizes.columns = config.size_or("head_dim", columns);
  columns_of_heads(config, {"num_attention_heads", sizes.heads}, {"num_key_value_heads", sizes.kv_heads});
  return sizes;
}

std::optional<std::vector<bool>> windows_by_type(const ModelConfig& config, int64_t layers) {
  if (!config.has("layer_types")) return std::nullopt;
  const auto types = json_get<std::vector<std::string>>(config.json(), "layer_types", config.source());
  if (std::ssize(types) != layers)
    fail("{}: layer_types has {} entries for {} layers (num_hidden_layers)", config.source(), types.size(), layers);
  std::vector<bool> windows;
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention")
      fail("{}: layer_types has \"{}\"; accepted: full_attention, sliding_attention", config.source(), type);
    windows.push_back(type == "sliding_attention");
  }
  return windows;
}

std::vector<ValueId> parted(Graph& graph, ValueId x, const std::vector<int64_t>& columns,
                            const std::vector<std::string>& results) {
  const auto axis = static_cast<int64_t>(graph.type(x).rank()) - 1;
  std::vector<ValueId> parts;
  int64_t begin = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const int64_t end = begin + columns[i];
    parts.push_back(ops::slice(
        graph, {.x = x, .starts = Shape{begin}, .ends = Shape{end}, .axes = std::vector<int64_t>{axis}}, results[i]));
    begin = end;
  }
  return parts;
}

ValueId capped(Graph& graph, ValueId x, double cap, const std::string& result) {
  const ValueId limit = graph.add_scalar(static_cast<float>(cap));
  return ops::mul(graph, {ops::tanh(graph, {ops::div(graph, {x, limit})}), limit}, result);
}

}  // namespace hone

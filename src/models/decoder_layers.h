// Parts of a decoder's layers that several families share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/config.h"
#include "models/transformer.h"

namespace hone {

struct SizeKey {
  const char* key;  // of the configuration
  int64_t value;
};
// Columns of each of `heads` that part `hidden` evenly. Throws Error that names both keys where they do not.
int64_t columns_of_heads(const ModelConfig& config, const SizeKey& hidden, const SizeKey& heads);

struct HeadSizes {
  int64_t heads, kv_heads, columns;
};
// num_attention_heads; num_key_value_heads, each of which as many of them share: all where it says nothing; and
// head_dim, or `columns` of each without that. Throws Error where heads do not share evenly.
HeadSizes head_sizes(const ModelConfig& config, int64_t columns);

// Which of the layers see a window alone, by layer_types; nothing without that key. Throws Error for other types, and
// another number of them.
std::optional<std::vector<bool>> windows_by_type(const ModelConfig& config, int64_t layers);

// x[...,sum of columns] as one value for each of `columns`, side by side. `results`: their names.
std::vector<ValueId> parted(Graph& graph, ValueId x, const std::vector<int64_t>& columns,
                            const std::vector<std::string>& results);

// cap · tanh(x / cap): x where that is small, never beyond the cap.
ValueId capped(Graph& graph, ValueId x, double cap, const std::string& result = "");

}  // namespace hone

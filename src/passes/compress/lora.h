// Low-rank adapters: beside a layer with the weight W stand two small matrices, and what they compute is added,
//   y = W x + b + scaling · B (A x),
// so that training touches A and B alone, and W + scaling · B A takes their place in the end.
// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021). The rank-stabilised scaling alpha /
// sqrt(rank) is Kalajdzievski's (2023). In DoRA (Liu et al., 2024) a vector m gives each row of that sum its length:
//   y = m / |W + scaling · B A| · (W x + scaling · B (A x)) + b,
// whose lengths follow from those of W, A Wᵀ and A Aᵀ, so that W need not be unpacked where it is packed. Its gradient
// takes the lengths |W + scaling · B A| as given (section 4.3 of the paper), as PEFT's does.
//
// Of the layer L they are the constants L.lora_A.weight and L.lora_B.weight, of a table L.lora_embedding_A (one row for
// each of the table's, as `gather` reads it) and L.lora_embedding_B, of DoRA L.lora_magnitude_vector: PEFT's names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "ir/graph.h"

namespace hone {

struct LoraOptions {
  std::vector<std::string> rule;  // layers that get adapters: regular expressions of weights' names, or op:NAME
  std::vector<std::string> skip;  // regular expressions: layers that get none whatever the rules say
  int64_t rank = 8;
  double alpha = 0;  // scaling is alpha / rank; 0: as the rank
  double dropout = 0;
  bool rslora = false, dora = false;
  int64_t seed = 1;
  static constexpr const char* kPass = "insert_lora";
  static std::span<const OptionField<LoraOptions>> fields();
};

struct FuseLoraOptions {
  bool requantize = false;
  static constexpr const char* kPass = "fuse_lora";
  static std::span<const OptionField<FuseLoraOptions>> fields();
};

// Regular expression of the names of what adapters consist of.
constexpr const char* kAdapterNames = R"(\.lora_(A\.weight|B\.weight|embedding_A|embedding_B|magnitude_vector)$)";
// In a graph's metadata: the dropout of what adapters read in training, "true" where alpha / sqrt(rank) was asked for,
// and the names of constants that were trained beside the adapters, separated by commas.
constexpr const char *kLoraDropout = "lora.dropout", *kLoraStabilised = "lora.rslora", *kLoraSaved = "lora.saved";
double lora_dropout(const Graph& graph);  // 0 where none is noted

// What an adapter holds, before it is in a graph.
struct AdapterTensors {
  std::string layer;  // the name of the weight without .weight
  Tensor a, b;  // f32: of a linear [r,K] and [N,r], of a conv [r,C,...] and [N,r,1...], of a table [V,r] and [D,r]
  std::optional<Tensor> magnitude;  // [N]: DoRA
  double scaling = 1;
  bool is_table = false;
};

// One in a graph.
struct Adapter {
  std::string layer;
  ValueId weight = kNone, a = kNone, b = kNone, magnitude = kNone;
  double scaling = 1;
  struct Site {
    NodeId layer;        // that reads the weight
    ValueId plain, sum;  // its result, and what stands for that
  };
  std::vector<Site> sites;
};

bool has_adapters(const Graph& graph);

// The lengths |W + scaling · B A| that DoRA's magnitudes are divided by, be these constants or parameters.
std::vector<ValueId> dora_lengths(const Graph& graph);

// Throws Error where the nodes around an adapter are not those that attach_adapters() puts there.
std::vector<Adapter> adapters_of(const Graph& graph);

// Layers that can have adapters: linears, convs without groups and tables whose weight is a constant with a name.
struct AdaptableLayer {
  std::string name, label;  // of the layer and of its weight
  ValueId weight;
  const OpDef* op;
  std::vector<NodeId> nodes;  // that read the weight
};
std::vector<AdaptableLayer> adaptable_layers(const Graph& graph);

// New ones by the options: A as torch.nn.Linear and Conv2d have their weights and B zeros; of a table A zeros and B
// normal. So nothing changes before they are trained.
std::vector<AdapterTensors> new_adapters(const Graph& graph, const LoraOptions& options);

// Throws one Error that lists every adapter that does not fit; and where there are adapters already.
Graph attach_adapters(Graph graph, std::span<const AdapterTensors> adapters);

// What the weight is with the adapter in it, f32 in the shape of the layer's weight: rounded once.
Tensor fused_weight(const Graph& graph, const Adapter& adapter);
// scaling · B A, likewise.
Tensor weight_change(const Graph& graph, const Adapter& adapter);

}  // namespace hone

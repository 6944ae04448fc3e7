#include <algorithm>

#include "base/error.h"
#include "ops/conv_weights.h"
#include "passes/compress/lora.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

constexpr OptionField<FuseLoraOptions> kFields[] = {
    {"requantize", "round packed weights with their adapters to their format again", &FuseLoraOptions::requantize}};

// The fused weight in the old one's format and layout.
Tensor in_form_of(const Tensor& weight, const Tensor& fused, const Packer& packer) {
  const Tensor laid_out = fused.shape() == weight.shape() ? fused : conv_weight_matrix(fused);
  return weight.is_packed() ? packer.pack(*weight.format(), laid_out) : laid_out.converted(weight.dtype());
}

void fuse(Graph& graph, const Adapter& adapter, const FuseLoraOptions& options, const Packer& packer) {
  const Tensor weight = *graph.constant(adapter.weight);
  if (weight.is_packed() && !options.requantize)
    fail(
        "{}: its weight is packed as {}: with the adapter in it, it has to be rounded to that format again, which "
        "loses part of what was learned; --requantize does so and says how much",
        adapter.layer, to_string(*weight.format()));
  Tensor fused = in_form_of(weight, fused_weight(graph, adapter), packer);
  std::vector<NodeId> layers;
  for (const Adapter::Site& site : adapter.sites) {
    layers.push_back(site.layer);
    replace_by_value(graph, graph.producer(site.sum), site.plain);
  }
  graph = run_pass(std::move(graph), "remove_dead");  // what of the adapter read the weight
  const std::vector<Graph::Use> uses = graph.uses(adapter.weight);
  const bool is_shared =
      std::ranges::any_of(uses, [&](const Graph::Use& use) { return !std::ranges::count(layers, use.node); });
  if (!is_shared) return graph.set_constant(adapter.weight, std::move(fused));
  const ValueId own = graph.add_constant(adapter.layer + ".fused.weight", std::move(fused));
  for (const Graph::Use& use : uses)
    if (std::ranges::count(layers, use.node)) graph.set_operand(use.node, use.operand, own);
}

Graph fuse_lora(Graph graph, const PassContext& context, const FuseLoraOptions& options) {
  const std::vector<Adapter> adapters = adapters_of(graph);
  if (adapters.empty()) fail("the model has no adapters to fuse; hone lora insert adds some");
  const Packer reference;
  for (const Adapter& adapter : adapters) fuse(graph, adapter, options, context.packer ? *context.packer : reference);
  graph.erase_unused_constants();
  for (const char* key : {kLoraDropout, kLoraStabilised, kLoraSaved}) graph.metadata.erase(key);
  graph.reinfer();
  return graph;
}

}  // namespace

std::span<const OptionField<FuseLoraOptions>> FuseLoraOptions::fields() { return kFields; }

extern constinit const PassDef fuse_lora_def{
    .name = "fuse_lora",
    .doc =
        "Weights take up their low-rank adapters, W + scaling · B A, rounded once; packed ones are rounded to their "
        "format again, where that is allowed (requantize).",
    .run = with_options<fuse_lora>};

}  // namespace hone

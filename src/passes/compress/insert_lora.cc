#include <fmt/format.h>

#include "passes/compress/lora.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr OptionField<LoraOptions> kFields[] = {
    {"rule", "layers that get adapters: a regular expression of weights' names, or op:linear, op:conv, op:gather",
     &LoraOptions::rule, nullptr, true},
    {"skip", "layers that get none: a regular expression", &LoraOptions::skip},
    {"rank", "rows of A: numbers between the two factors", &LoraOptions::rank},
    {"alpha", "what the adapters compute counts alpha / rank times; 0: once", &LoraOptions::alpha},
    {"dropout", "share of what adapters read that is left out in training", &LoraOptions::dropout},
    {"rslora", "scale adapters by alpha / sqrt(rank) instead", &LoraOptions::rslora},
    {"dora", "learn the lengths of the rows, too (of linears)", &LoraOptions::dora},
    {"seed", "random seed of the adapters' first values", &LoraOptions::seed, nullptr, false, {.least = 0}},
};

Graph insert_lora(Graph graph, const PassContext&, const LoraOptions& options) {
  const std::vector<AdapterTensors> adapters = new_adapters(graph, options);
  graph = attach_adapters(std::move(graph), adapters);
  if (options.dropout > 0) graph.metadata[kLoraDropout] = fmt::format("{}", options.dropout);
  if (options.rslora) graph.metadata[kLoraStabilised] = "true";
  return graph;
}

}  // namespace

std::span<const OptionField<LoraOptions>> LoraOptions::fields() { return kFields; }

extern constinit const PassDef insert_lora_def{
    .name = "insert_lora",
    .doc =
        "Low-rank adapters beside the linears, convs and tables that the rules choose: y + scaling · B (A x), where B "
        "is 0 (of tables, A), so that the outputs stay what they are.",
    .run = with_options<insert_lora>};

}  // namespace hone

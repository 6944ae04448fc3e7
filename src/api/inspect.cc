#include <hone/inspect.h>

#include <algorithm>

#include "api/graphs.h"
#include "api/guarded.h"
#include "api/models.h"
#include "jobs/default_inputs.h"
#include "jobs/info.h"

namespace hone::api {
namespace {

std::vector<FormatShare> format_shares(const hone::Graph& graph) {
  std::map<std::string, FormatShare> shares;
  for (const hone::ValueId v : graph.constants()) {
    const hone::Tensor& constant = *graph.constant(v);
    if (graph.value(v).label.empty() && constant.elements() == 1) continue;  // a literal
    const std::string format =
        constant.is_packed() ? hone::to_string(*constant.format()) : std::string(hone::to_string(constant.dtype()));
    FormatShare& share = shares.try_emplace(format, FormatShare{format}).first->second;
    share.tensors += 1, share.elements += constant.elements(), share.bytes += constant.bytes();
  }
  std::vector<FormatShare> all;
  for (const auto& [format, share] : shares) all.push_back(share);
  std::ranges::stable_sort(all, std::ranges::greater(), &FormatShare::bytes);
  return all;
}

}  // namespace

ModelInfo info(const Model& model, const std::map<std::string, int64_t>& sizes) {
  return guarded([&] {
    const hone::Graph& graph = engine(model).graph;
    const Sizes held = hone::sizes(graph);
    ModelInfo info{.parameters = held.parameters, .weight_bytes = held.weight_bytes, .formats = format_shares(graph)};
    for (const hone::NodeId n : graph.nodes()) ++info.ops[graph.node(n).op->name];
    info.sizes = bind_symbols(graph, {.dims = sizes});
    for (const auto& [op, flops] : flops_by_op(graph, info.sizes)) info.flops_by_op[op] = flops, info.flops += flops;
    return info;
  });
}

}  // namespace hone::api

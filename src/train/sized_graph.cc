#include "train/sized_graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "passes/pipelines.h"
#include "runtime/cut_graph.h"

namespace hone {
namespace {

std::set<std::string> argument_symbols(const Graph& graph) {
  std::vector<std::string> symbols;
  for (ValueId id : graph.arguments())
    for (const Dim& dim : graph.type(id).shape) dim.collect_symbols(symbols);
  return {symbols.begin(), symbols.end()};
}

// What is first in the shape of an argument counts rows.
std::set<std::string> row_symbols(const Graph& graph) {
  std::vector<std::string> symbols;
  for (ValueId id : graph.arguments())
    if (const Shape& shape = graph.type(id).shape; !shape.empty()) shape[0].collect_symbols(symbols);
  return {symbols.begin(), symbols.end()};
}

}  // namespace

Graph with_sizes(const Graph& graph, const Bindings& sizes) {
  return run_passes(specialised_graph(graph, sizes).graph,
                    {"simplify_shapes", "simplify_arithmetic", "expand_einsum", "propagate_full", "fold_constants",
                     "merge_common", "remove_dead"});
}

Bindings sizes_of(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  Bindings sizes;
  const auto each = [&](const auto& use) {
    for (ValueId id : graph.arguments()) {
      const auto given = inputs.find(graph.value(id).label);
      if (given != inputs.end() && graph.type(id).ranked)
        use(given->first, graph.type(id).shape, given->second.shape());
    }
  };
  // Symbols first: another argument's formula may read them.
  each([&](const std::string&, const Shape& shape, const std::vector<int64_t>& actual) {
    for (size_t i = 0; i < std::min(shape.size(), actual.size()); ++i)
      if (shape[i].is_symbol()) sizes.try_emplace(shape[i].to_string(), actual[i]);
  });
  each([&](const std::string& label, const Shape& shape, const std::vector<int64_t>& actual) {
    bind_shape(shape, actual, sizes, fmt::format("input \"{}\"", label));
  });
  return sizes;
}

SizedGraph make_sized(const Graph& model, const std::function<Graph(Graph)>& make,
                      const std::function<Bindings()>& sizes) {
  const std::set<std::string> open = argument_symbols(model), of_rows = row_symbols(model);
  try {
    return {make(model), {}};
  } catch (const Error&) {
    if (!sizes || open.empty()) throw;
  }
  Bindings all = sizes();
  std::erase_if(all, [&](const auto& size) { return !open.contains(size.first); });
  Bindings of_a_row = all;
  std::erase_if(of_a_row, [&](const auto& size) { return of_rows.contains(size.first); });
  if (!of_a_row.empty() && of_a_row.size() < all.size()) {
    try {
      return {make(with_sizes(model, of_a_row)), of_a_row};
    } catch (const Error&) {  // whose rows matter, too
    }
  }
  return {make(with_sizes(model, all)), all};
}

}  // namespace hone

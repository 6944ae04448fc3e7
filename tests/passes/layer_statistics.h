// Statistics of a graph's layers on given inputs, by the reference: what calibrate/ gathers, for tests of passes. Of
// convs only what holds for all taps alike: the moment is the diagonal of the channels' mean squares.
#pragma once

#include <map>

#include "ops/evaluate.h"
#include "passes/layer.h"

namespace hone::test {

// x [..., K] as rows, or the pixels of x [N, C, ...] as rows of C.
inline std::vector<std::vector<double>> rows_of(const Tensor& x, bool is_image) {
  const std::vector<double> values = x.to_doubles();
  const auto width = static_cast<size_t>(is_image ? x.dim(1) : x.dim(-1));
  std::vector<std::vector<double>> rows(values.size() / width, std::vector<double>(width));
  const size_t places = is_image ? static_cast<size_t>(x.elements() / (x.dim(0) * x.dim(1))) : 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t place = i % places, channel = i / places % width, image = i / places / width;
    rows[image * places + place][channel] = values[i];
  }
  return rows;
}

inline LayerStatistics statistics_of(const std::vector<std::vector<double>>& rows, int64_t groups, int64_t taps) {
  const auto per_group = static_cast<int64_t>(rows[0].size()) / groups, width = per_group * taps;
  LayerStatistics s{.vectors = static_cast<int64_t>(rows.size()), .width = width, .groups = groups};
  s.mean.resize(static_cast<size_t>(groups * width)), s.max_abs = s.mean;
  s.moment.resize(static_cast<size_t>(groups * width * width));
  const auto n = static_cast<double>(rows.size());
  for (const std::vector<double>& row : rows)
    for (int64_t i = 0; i < groups * width; ++i) {
      const int64_t group = i / width, k = i % width;
      const double x = row[static_cast<size_t>(group * per_group + k % per_group)];
      s.mean[static_cast<size_t>(i)] += static_cast<float>(x / n);
      s.max_abs[static_cast<size_t>(i)] = std::max(s.max_abs[static_cast<size_t>(i)], static_cast<float>(std::abs(x)));
      for (int64_t j = 0; j < width; ++j)
        if (taps == 1 || j == k)
          s.moment[static_cast<size_t>(i * width + j)] +=
              static_cast<float>(x * row[static_cast<size_t>(group * per_group + j % per_group)] / n);
    }
  return s;
}

inline Statistics layer_statistics(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  std::vector<Layer> layers = layers_of(graph);
  std::erase_if(layers, [&](const Layer& layer) {
    const std::string_view op = graph.node(layer.node).op->name;
    return layer.weight == kNone || (op != "linear" && op != "conv");
  });
  Graph probe = graph;
  std::vector<Output> outputs;
  for (const Layer& layer : layers) outputs.push_back({graph.operand(layer.node, 0), layer.name});
  probe.set_outputs(outputs);
  const std::vector<Tensor> values = evaluate(probe, inputs);
  Statistics statistics;
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool is_image = std::string_view(graph.node(layers[i].node).op->name) == "conv";
    const std::vector<int64_t>& shape = graph.constant(layers[i].weight)->shape();
    const int64_t taps = is_image ? element_count(shape) / (shape[0] * shape[1]) : 1;
    const int64_t groups = graph.node(layers[i].node).attributes.get_or<int64_t>("groups", 1);
    statistics.layers[graph.value(layers[i].weight).label] = statistics_of(rows_of(values[i], is_image), groups, taps);
  }
  return statistics;
}

}  // namespace hone::test

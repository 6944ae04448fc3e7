#include "calibrate/ranges.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"

namespace hone {

std::vector<ValueRange> collect_ranges(const Graph& graph, std::span<const ValueId> values,
                                       std::span<const NamedTensors> batches, const SessionOptions& options) {
  if (batches.empty()) fail("there are no batches to observe ranges on; at least one is needed");
  Graph watched = graph;
  std::vector<Output> outputs;
  for (size_t i = 0; i < values.size(); ++i) outputs.push_back({values[i], fmt::format("value{}", i)});
  watched.set_outputs(std::move(outputs));
  Session session(watched, options);
  std::vector<ValueRange> ranges(values.size());
  for (const NamedTensors& batch : batches) {
    NamedTensors inputs;
    for (ValueId input : watched.arguments()) {
      const std::string& label = watched.value(input).label;
      inputs.emplace(label, batch.at(label));
    }
    const std::vector<Tensor> seen = session.run(inputs);
    for (size_t i = 0; i < seen.size(); ++i)
      for (float v : seen[i].to_floats()) {
        if (!std::isfinite(v))
          fail("%{} has a {} on the data: no range can be observed", graph.value(values[i]).name, v);
        ranges[i].low = std::min(ranges[i].low, v);
        ranges[i].high = std::max(ranges[i].high, v);
      }
  }
  return ranges;
}

}  // namespace hone

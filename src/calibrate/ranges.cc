#include "calibrate/ranges.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "calibrate/observer.h"

namespace hone {

std::vector<ValueRange> observed_ranges(const Graph& graph, std::span<const ObservedInput> inputs,
                                        std::span<const NamedTensors> batches, const SessionOptions& options) {
  if (batches.empty()) fail("there are no batches to observe ranges on; at least one is needed");
  std::vector<std::unique_ptr<Observer>> observers;
  Graph watched = graph;
  std::vector<Output> outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    observers.push_back(make_observer(inputs[i].observer, inputs[i].format));
    outputs.push_back({inputs[i].value, fmt::format("value{}", i)});
  }
  watched.set_outputs(std::move(outputs));
  Session session(watched, options);
  std::vector<bool> seen(inputs.size());
  const auto name = [&](size_t i) { return graph.value(inputs[i].value).name; };
  for (const NamedTensors& batch : batches) {
    NamedTensors given;
    for (ValueId input : watched.inputs()) {
      const std::string& label = watched.value(input).label;
      if (const auto found = batch.find(label); found != batch.end()) given.insert(*found);
    }
    const std::vector<Tensor> values = session.run(given);
    for (size_t i = 0; i < values.size(); ++i) {
      const std::vector<float> floats = values[i].to_floats();
      for (float v : floats)
        if (!std::isfinite(v)) fail("%{} has a {} on the data: no range can be observed", name(i), v);
      if (floats.empty()) continue;
      observers[i]->see(floats);
      seen[i] = true;
    }
  }
  std::vector<ValueRange> ranges;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!seen[i]) fail("%{} has no elements on the data: no range can be observed", name(i));
    ranges.push_back(observers[i]->range());
  }
  return ranges;
}

std::vector<ValueRange> collect_ranges(const Graph& graph, std::span<const ValueId> values,
                                       std::span<const NamedTensors> batches, const SessionOptions& options) {
  std::vector<ObservedInput> inputs;
  for (ValueId value : values) inputs.push_back({.value = value, .format = {}, .observer = "min-max"});
  return observed_ranges(graph, inputs, batches, options);
}

}  // namespace hone

#include "calibrate/collect.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "calibrate/moment_sum.h"
#include "ops/calls/conv.h"
#include "ops/evaluate.h"
#include "runtime/check_finite.h"

namespace hone {
namespace {

// Weights that are multiplied with the same vectors, and the layers in which one of them is.
struct Source {
  std::vector<Layer> layers;
  std::vector<std::string> labels;
};

ValueId input_of(const Graph& graph, const Layer& layer) { return graph.operand(layer.node, layer.inputs[0]); }

// Whether two layers cut the same input into the same vectors.
bool same_vectors(const Graph& graph, const Layer& a, const Layer& b) {
  const Node &first = graph.node(a.node), &second = graph.node(b.node);
  const auto window = [&](const Layer& layer) {  // of a conv; matmuls have its length
    const std::vector<int64_t>& shape = graph.constant(layer.weight)->shape();
    return std::vector<int64_t>(shape.begin() + 1, shape.end());
  };
  return input_of(graph, a) == input_of(graph, b) && a.inputs == b.inputs && first.op == second.op &&
         first.attributes.same(second.attributes) && (first.op != &conv_def || window(a) == window(b));
}

using Readers = std::map<std::string, std::vector<Layer>>;  // by the weight's label

void check_labels(const Readers& readers, const std::vector<std::string>& only) {
  std::vector<std::string> known;
  for (const auto& [label, unused] : readers) known.push_back(label);
  if (known.empty()) fail("the graph has no linear, conv or matmul with a named weight; there is nothing to observe");
  for (const std::string& label : only)
    if (!readers.contains(label))
      fail("\"{}\" is not the weight of a linear, conv or matmul{}", label, did_you_mean(label, known));
}

std::vector<Source> sources_of(const Graph& graph, const std::vector<std::string>& only) {
  Readers readers;
  for (const Layer& layer : layers_of(graph))
    if (multiplies_vectors(graph, layer)) readers[graph.value(layer.weight).label].push_back(layer);
  check_labels(readers, only);
  const auto same = [&](const Layer& a, const Layer& b) { return same_vectors(graph, a, b); };
  std::vector<Source> sources;
  for (const auto& [label, layers] : readers) {
    if (!only.empty() && std::find(only.begin(), only.end(), label) == only.end()) continue;
    const auto found = std::find_if(sources.begin(), sources.end(), [&, &layers = layers](const Source& source) {
      return std::equal(source.layers.begin(), source.layers.end(), layers.begin(), layers.end(), same);
    });
    if (found != sources.end()) found->labels.push_back(label);
    else sources.push_back({layers, {label}});
  }
  return sources;
}

// Bytes of what a run hands out for the source, as far as that is known before it.
int64_t bytes_of(const Graph& graph, const Source& source, const Bindings& bindings, bool moments) {
  int64_t bytes = 0;
  for (const Layer& layer : source.layers) {
    const Shape& shape = graph.type(input_of(graph, layer)).shape;
    std::vector<std::string> symbols;
    for (const Dim& dim : shape) dim.collect_symbols(symbols);
    const bool is_known =
        std::all_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return bindings.contains(s); });
    if (is_known) bytes += 4 * element_count(evaluate(shape, bindings));
  }
  const Tensor& weight = *graph.constant(source.layers[0].weight);
  const int64_t width = weight.elements() / std::max<int64_t>(weight.dim(0), 1);
  return bytes + (moments ? 8 * width * width : 0);
}

// Which tokens count, in row-major order; empty where no mask says so.
struct TokenMask {
  std::vector<int64_t> shape;
  std::vector<uint8_t> counts;

  explicit TokenMask(const NamedTensors& batch) {
    const auto found = batch.find("attention_mask");
    if (found == batch.end() || found->second.shape().size() != 2) return;
    shape = found->second.shape();
    for (double value : found->second.to_doubles()) counts.push_back(value != 0);
  }

  std::span<const uint8_t> of(const Tensor& input) const {
    std::vector<int64_t> tokens = input.shape();
    tokens.pop_back();
    const bool fits = !counts.empty() && (tokens == shape || tokens == std::vector{shape[0] * shape[1]});
    return fits ? std::span(counts) : std::span<const uint8_t>();
  }
};

std::string output_name(ValueId input) { return fmt::format("value{}", input); }

// The graph with the inputs of the sources' layers as its outputs.
Graph watching(Graph graph, std::span<const Source> sources) {
  std::vector<Output> outputs;
  for (const Source& source : sources)
    for (const Layer& layer : source.layers) {
      const ValueId input = input_of(graph, layer);
      const std::string name = output_name(input);
      const auto has_name = [&](const Output& output) { return output.label == name; };
      if (std::none_of(outputs.begin(), outputs.end(), has_name)) outputs.push_back({input, name});
    }
  graph.set_outputs(std::move(outputs));
  return graph;
}

class Collector {
 public:
  Collector(const Graph& graph, std::span<const Source> sources, const CollectOptions& options)
      : graph_(graph),
        sources_(sources),
        options_(options),
        sums_(sources.size()),
        session_(watching(graph, sources), options.session) {}

  void add(const NamedTensors& batch, size_t index) {
    const std::vector<Tensor> values = session_.run(batch);
    const std::vector<std::string> names = session_.output_names();
    std::map<std::string, Tensor> activations;
    for (size_t i = 0; i < names.size(); ++i) activations.emplace(names[i], values[i].converted(DType::f32));
    const TokenMask mask(batch);
    for (size_t s = 0; s < sources_.size(); ++s)
      for (const Layer& layer : sources_[s].layers)
        add(s, layer, activations.at(output_name(input_of(graph_, layer))), mask, index);
  }

  void finish(Statistics& statistics) {
    for (size_t s = 0; s < sources_.size(); ++s) {
      const LayerStatistics found = sums_[s]->finish();
      const std::string& label = sources_[s].labels[0];
      if (found.vectors == 0)
        fail("no vector reaches \"{}\": the data is empty, or attention_mask is 0 everywhere", label);
      if (!std::all_of(found.moment.begin(), found.moment.end(), [](float v) { return std::isfinite(v); }))
        fail("the input of the layer of \"{}\" reaches {:g}, whose square is beyond f32", label,
             *std::max_element(found.max_abs.begin(), found.max_abs.end()));
      for (const std::string& each : sources_[s].labels) statistics.layers[each] = found;
    }
  }

 private:
  void add(size_t source, const Layer& layer, const Tensor& input, const TokenMask& mask, size_t batch) {
    const std::string& label = sources_[source].labels[0];
    if (const std::string found = first_not_finite(input); !found.empty())
      fail("calibration batch {}: the input of the layer of \"{}\" has {}\nTry: hone run MODEL --check-finite", batch,
           label, found);
    const LayerVectors vectors = layer_vectors(graph_, layer, input);
    std::optional<MomentSum>& sum = sums_[source];
    if (!sum) sum.emplace(vectors.groups, vectors.width, options_.moments, options_.session);
    if (sum->groups() != vectors.groups || sum->width() != vectors.width)
      fail("\"{}\" weighs layers that read it in different groups", label);
    sum->add(vectors, mask.of(input));
  }

  const Graph& graph_;
  std::span<const Source> sources_;
  const CollectOptions& options_;
  std::vector<std::optional<MomentSum>> sums_;
  Session session_;
};

}  // namespace

Statistics collect_statistics(const Graph& graph, std::span<const NamedTensors> batches,
                              const CollectOptions& options) {
  if (batches.empty()) fail("the calibration data has no batches; at least one is needed");
  CollectOptions collect = options;
  if (!collect.session.compute) collect.session.compute = Compute::f32;
  const std::vector<Source> sources = sources_of(graph, options.only);
  const Bindings bindings = bind_inputs(graph, batches[0]);
  Statistics statistics;
  for (size_t first = 0; first < sources.size();) {
    int64_t bytes = 0;
    size_t last = first;
    do bytes += bytes_of(graph, sources[last++], bindings, options.moments);
    while (last < sources.size() &&
           bytes + bytes_of(graph, sources[last], bindings, options.moments) <= options.memory_bytes);
    Collector collector(graph, std::span(sources).subspan(first, last - first), collect);
    for (size_t i = 0; i < batches.size(); ++i) collector.add(batches[i], i);
    collector.finish(statistics);
    first = last;
  }
  return statistics;
}

}  // namespace hone

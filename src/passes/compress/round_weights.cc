#include "passes/compress/round_weights.h"
#include "passes/captures.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "base/threads.h"
#include "formats/scale_search.h"
#include "ops/calls/fake_quant.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

const std::vector<std::string> kMethods = {"nearest", "scale-search", "gptq"};

void check_method(const std::string& method) {
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end())
    fail("unknown rounding method {}; known: {}{}", method, fmt::join(kMethods, ", "), did_you_mean(method, kMethods));
}

constexpr OptionField<RoundingOptions> kFields[] = {
    {"method", "how to round weights: nearest, scale-search or gptq (needs calibration data)", &RoundingOptions::method,
     check_method},
    {"damping", "gptq adds this share of the inputs' mean square to that of each, above 0 to 100",
     &RoundingOptions::damping},
    {"activation-order", "gptq rounds weights of large inputs first", &RoundingOptions::activation_order},
};

bool is_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

void check_fit(const Tensor& weight, const LayerStatistics& statistics) {
  const std::vector<int64_t>& shape = weight.shape();
  if (shape.size() != 2 || shape[1] != statistics.width || shape[0] % statistics.groups != 0)
    fail("a weight of shape {} can't be rounded by statistics of {} groups of {} inputs; gather them for this model",
         to_string(to_shape(shape)), statistics.groups, statistics.width);
}

// The mean square that the errors of rounding add to the outputs: e H eᵀ, summed over up to 64 rows e that are spread
// over the matrix, which are enough to compare two roundings of it.
double output_error(std::span<const float> exact, const Tensor& rounded, const LayerStatistics& statistics) {
  constexpr size_t kRows = 64;
  const std::vector<float> values = rounded.to_floats();
  const auto width = static_cast<size_t>(statistics.width), rows = exact.size() / width;
  const size_t step = std::max<size_t>(rows / kRows, 1), rows_of_group = rows / static_cast<size_t>(statistics.groups);
  std::vector<double> sums((rows + step - 1) / step);
  parallel_for(std::ssize(sums), [&](int64_t index) {
    const size_t row = static_cast<size_t>(index) * step, at = row * width;
    const float* h = statistics.moment.data() + row / rows_of_group * width * width;
    std::vector<double> e(width);
    for (size_t k = 0; k < width; ++k) e[k] = static_cast<double>(exact[at + k]) - static_cast<double>(values[at + k]);
    for (size_t i = 0; i < width; ++i) {
      double sum = 0;
      for (size_t j = 0; j < width; ++j) sum += e[j] * static_cast<double>(h[i * width + j]);
      sums[static_cast<size_t>(index)] += e[i] * sum;
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

Tensor as_tensor(const Format& format, const std::vector<int64_t>& shape, const Planes& planes) {
  return Tensor::packed(format, shape, Buffer::copy_of(planes.codes), Buffer::copy_of(planes.scales),
                        Buffer::copy_of(planes.zero_points), Buffer::copy_of(planes.global));
}

}  // namespace

std::span<const OptionField<RoundingOptions>> RoundingOptions::fields() { return kFields; }

void check_rounding(const RoundingOptions& options) {
  check_method(options.method);
  if (!(options.damping > 0 && options.damping <= 100))
    fail("damping is {}; accepted: above 0 to 100", options.damping);
}

Tensor round_weight(const Tensor& weight, const Format& format, const LayerStatistics* statistics,
                    const RoundingOptions& options) {
  check_rounding(options);
  const Tensor plain = weight.is_packed() ? unpack(weight) : weight;
  const std::vector<float> values = plain.to_floats();
  if (options.method == "nearest" || is_plain_float(format) || !is_finite(values) || values.empty())
    return pack(format, plain);
  if (statistics) check_fit(weight, *statistics);
  const bool is_gptq = options.method == "gptq";
  if (is_gptq && (!statistics || statistics->moment.empty()))
    fail("rounding by gptq needs the second moments of the layer's input; gather them on calibration data");
  if (is_gptq)
    return as_tensor(format, weight.shape(), pack_gptq(format, weight.shape(), values, *statistics, options));
  const bool knows_inputs = statistics && !statistics->moment.empty();
  const ElementInputs inputs = knows_inputs ? element_inputs(*statistics, weight.dim(0)) : ElementInputs();
  const Tensor searched = as_tensor(format, weight.shape(), pack_searched(format, weight.shape(), values, inputs));
  if (!knows_inputs) return searched;
  // Clipping is at its worst where inputs go together, which the search does not see.
  const Tensor nearest = pack(format, plain);
  return output_error(values, searched, *statistics) < output_error(values, nearest, *statistics) ? searched : nearest;
}

namespace {

// What is known of the layers that read the rounded constant; nullptr when one of them is no layer, such as the gather
// of a table, or has its weight's rows along the other axis.
const LayerStatistics* statistics_of(const Graph& graph, NodeId rounding, const Statistics* statistics) {
  if (!statistics) return nullptr;
  const ValueId source = graph.operand(rounding, 0);
  const auto found = statistics->layers.find(graph.value(source).label);
  if (found == statistics->layers.end()) return nullptr;
  for (const Graph::Use& use : graph.uses(graph.result(rounding))) {
    const Node& node = graph.node(use.node);
    const auto operand = static_cast<size_t>(use.operand);
    const OperandSpec& spec = node.op->operands.of(operand);
    if (!spec.factor || !spec.weight || node.op->axis_of_sums(node.attributes, operand) == -2) return nullptr;
  }
  return &found->second;
}

Graph round_weights(Graph graph, const PassContext& context, const RoundingOptions& options) {
  check_rounding(options);
  if (options.method == "gptq" && !context.statistics)
    fail("rounding by gptq needs calibration data; give some, or choose scale-search");
  for (NodeId id : graph.nodes(fake_quant_def)) {
    const ValueId source = graph.operand(id, 0);
    const Tensor* weight = graph.constant(source);
    const Format format = graph.node(id).attributes.get<Format>("format");
    if (!weight || is_plain_float(format) || is_fake_only(format)) continue;
    const LayerStatistics* statistics = statistics_of(graph, id, context.statistics);
    RoundingOptions chosen = options;
    if (options.method == "gptq" && !statistics) chosen.method = "scale-search";
    const ValueId packed = graph.add_constant("", round_weight(*weight, format, statistics, chosen));
    replace_by_value(graph, id, packed);
    graph.set_label(packed, derived_label(graph, source, "." + to_string(format)));
  }
  graph.erase_unused_constants();
  retype_captures(graph);
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef round_weights_def{
    .name = "round_weights",
    .doc =
        "fake_quant of a constant becomes a constant packed in that format, its codes chosen by the method that the "
        "options name. By gptq, tables and other constants without statistics are rounded by scale-search.",
    .run = with_options<round_weights>};

}  // namespace hone

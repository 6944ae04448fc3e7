#include "train/rounded_training.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "formats/learned_scale.h"
#include "formats/scale.h"
#include "measure/quality.h"
#include "ops/calls/fake_quant.h"
#include "ops/scale_groups.h"
#include "passes/layer.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

constexpr const char *kScale = ".quant_scale", *kLog2Scale = ".quant_log2_scale", *kZeroPoint = ".quant_zero_point";

// Packed constants that the rules give a format become what they stand for.
Graph unpack_chosen(const Graph& model, const FormatRules& rules) {
  Graph unpacked = model;
  for (ValueId id : model.constants())
    if (model.constant(id)->is_packed()) unpacked.set_constant(id, unpack(*model.constant(id)));
  unpacked.reinfer();
  const QuantizationPlan plan = plan_quantization(unpacked, rules);
  for (ValueId id : model.constants())
    if (model.constant(id)->is_packed() && !plan.format_of(id)) unpacked.set_constant(id, *model.constant(id));
  unpacked.reinfer();
  return unpacked;
}

// The weight of the layer that reads the value first, else the name of that layer's result.
std::string address_of_input(const Graph& graph, ValueId rounded) {
  const std::vector<Graph::Use> uses = graph.uses(rounded);
  CHECK(!uses.empty());
  const Node& layer = graph.node(uses[0].node);
  for (ValueId operand : layer.operands) {
    if (operand == kNone) continue;
    const ValueId source = unrounded(graph, operand);
    if (graph.constant(source) && !graph.value(source).label.empty())
      return layer_name(graph.value(source).label) + ".in";
  }
  return graph.value(layer.results[0]).name + ".in";
}

// The scales that the format chooses keep the largest of each group, at which 2 and 3 bits lose most of the others:
// learning begins from the share of them that rounds the whole weight with the smallest error. Powers of two and zero
// points begin as they are.
LearnedValues first_scales(const Format& format, const Tensor& weight) {
  const std::vector<float> values = weight.to_floats();
  LearnedValues best = chosen_by_format(format, weight.shape(), values);
  if (format.scale_kind != &f32_max_scale) return best;
  const LearnedValues whole = best;
  double smallest = squared_error(values, rounded(format, values, whole)).error;
  for (double share = 0.95; share > 0.25; share -= 0.05) {
    LearnedValues narrower = whole;
    for (float& s : narrower.learned) s *= static_cast<float>(share);
    const double error = squared_error(values, rounded(format, values, narrower)).error;
    if (error < smallest) smallest = error, best = std::move(narrower);
  }
  return best;
}

// Of a value that lies between 0 and both ends of the range; as a tensor of any shape has one scale then.
LearnedValues first_scales(const Format& format, ValueRange range) {
  const float ends[] = {range.low, range.high};
  const int64_t shape[] = {2};
  return chosen_by_format(format, shape, ends);
}

class ScaleLearner {
 public:
  ScaleLearner(Graph& graph, const RangesOf& ranges) : graph_(graph) {
    for (NodeId id : graph_.nodes(fake_quant_def)) {
      const ValueId x = graph_.operand(id, 0);
      if (graph_.node(id).operands.size() > 1 || (graph_.constant(x) && graph_.value(x).label.empty())) continue;
      check(id);
      if (graph_.constant(x)) learn(id, graph_.value(x).label, first_scales(format(id), *graph_.constant(x)));
      else inputs_.push_back(id);
    }
    if (inputs_.empty()) return;
    std::vector<ValueId> values;
    for (NodeId id : inputs_) values.push_back(graph_.operand(id, 0));
    const std::vector<ValueRange> seen = ranges(graph_, values);
    for (size_t i = 0; i < inputs_.size(); ++i)
      learn(inputs_[i], address_of_input(graph_, graph_.result(inputs_[i])), first_scales(format(inputs_[i]), seen[i]));
  }

 private:
  Format format(NodeId id) const { return graph_.node(id).attributes.get<Format>("format"); }

  std::string name_of(NodeId id) const {
    const ValueId x = graph_.operand(id, 0);
    return graph_.constant(x) ? graph_.value(x).label : address_of_input(graph_, graph_.result(id));
  }

  void check(NodeId id) const {
    if (const std::string why = no_learned_scale(format(id)); !why.empty())
      fail(
          "{}: no scale can be learned: {}. Leave learn-scales out, or take a format with an f32 or power-of-two scale",
          name_of(id), why);
    const ValueId x = graph_.operand(id, 0);
    if (!graph_.constant(x) && !scale_shape(format(id), graph_.type(x).shape).empty())
      fail(
          "{}: {} has a scale for each of several groups, of which another input has others; a scale of inputs is "
          "learned for the whole tensor, e.g. of int8, or not at all",
          name_of(id), to_string(format(id)));
  }

  void learn(NodeId id, const std::string& name, const LearnedValues& first) {
    const Node node = graph_.node(id);
    const Shape shape = scale_shape(format(id), graph_.type(node.operands[0]).shape);
    const auto constant = [&](const char* ending, const std::vector<float>& values) {
      std::string label = name + ending;
      for (int i = 2; graph_.find_constant(label) != kNone; ++i) label = fmt::format("{}{}{}", name, i, ending);
      std::vector<float> groups(static_cast<size_t>(element_count(constant_shape(shape))),
                                values.empty() ? 1 : values[0]);
      if (!shape.empty())
        groups = gathered_to_groups(format(id), constant_shape(graph_.type(node.operands[0]).shape), values);
      return graph_.add_constant(label, Tensor::of<float>(constant_shape(shape), groups));
    };
    const bool is_log2 = format(id).scale_kind == &pow2_scale;
    std::vector<ValueId> operands{node.operands[0], constant(is_log2 ? kLog2Scale : kScale, first.learned)};
    if (format(id).scale_kind->zero_point) operands.push_back(constant(kZeroPoint, first.zero_points));
    graph_.set_insertion_point(id);
    const ValueId rounded = graph_.emit(fake_quant_def, std::move(operands), node.attributes);
    graph_.set_insertion_point(kNone);
    graph_.replace_all_uses(node.results[0], rounded);
    graph_.erase(id);
  }

  Graph& graph_;
  std::vector<NodeId> inputs_;
};

std::string what_is_rounded(const Graph& graph, bool learned) {
  std::map<std::string, int> formats;
  int weights = 0, inputs = 0;
  for (NodeId id : graph.nodes(fake_quant_def)) {
    ++formats[to_string(graph.node(id).attributes.get<Format>("format"))];
    ++(graph.constant(graph.operand(id, 0)) ? weights : inputs);
  }
  std::vector<std::string> parts;
  for (const auto& [format, count] : formats) parts.push_back(fmt::format("{} in {}", count, format));
  return fmt::format("{} weights and {} inputs of layers are rounded: {}{}", weights, inputs, fmt::join(parts, ", "),
                     learned ? "; their scales are learned" : "");
}

}  // namespace

RoundedModel round_for_training(Graph model, const RoundedTrainingOptions& options, const RangesOf& ranges) {
  const FormatRules rules{.to = "", .rule = options.rules, .skip = {}, .activations = ""};
  const size_t before = model.nodes(fake_quant_def).size();
  model = run_pass(unpack_chosen(model, rules), FormatRules::kPass, {.options = rules});
  if (model.nodes(fake_quant_def).size() == before)
    fail("the rules of qat round nothing: {} leave every weight and input as it is", fmt::join(options.rules, ", "));
  RoundedModel rounded;
  if (options.learn_scales) {
    const ScaleLearner learner(model, ranges);
    model.reinfer();
    // Scales of groups are no matrices: they do not decay. An optimizer that takes steps of one size whatever the
    // gradient's (Adam) moves a weight of 1 and a scale of 0.01 alike, so that scales, but not log2 of them, go slower.
    for (const auto& [ending, rate] : {std::pair(kScale, 0.1), {kLog2Scale, 1.0}, {kZeroPoint, 1.0}}) {
      const auto ends = [&](ValueId id) { return model.value(id).label.ends_with(ending); };
      if (std::ranges::any_of(model.constants(), ends))
        rounded.rules.push_back(fmt::format("\\{}$=rate:{},decay:0", ending, rate));
    }
  }
  rounded.what = what_is_rounded(model, options.learn_scales);
  rounded.graph = std::move(model);
  return rounded;
}

Graph packed_as_trained(Graph trained, const Packer& packer) {
  trained = run_pass(std::move(trained), "fold_fake_quant", {.packer = &packer});
  trained.compact();
  return trained;
}

}  // namespace hone

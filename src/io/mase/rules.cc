#include "io/mase/rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/regex.h"
#include "base/text.h"
#include "formats/scale.h"
#include "io/mase/layers.h"
#include "passes/compress/quantize_rule.h"

namespace hone {
namespace {

using Part = QuantizeCandidate::Part;
using By = MaseQuantize::By;

const std::string kKeep = "keep";

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const MaseType& type : mase_types()) names.emplace_back(type.name);
  return names;
}

// Which configuration decides about a layer.
class Chooser {
 public:
  Chooser(const MaseQuantize& pass, const std::vector<MaseLayer>& layers) : pass_(pass) {
    for (const MaseLayerConfig& config : pass.layers) {
      if (pass.by == By::regex_name) regexes_.push_back(regex_of(config));
      if (pass.by == By::type) check_type(config);
    }
    for (size_t i = 0; i < pass.layers.size(); ++i)
      if (!pass.layers[i].quantizer.empty() &&
          std::ranges::none_of(layers, [&](const MaseLayer& layer) { return matches(i, layer); }))
        fail_unmatched(pass.layers[i], layers);
  }

  // Null: no key of the file is about the layer.
  const MaseLayerConfig* of(const MaseLayer& layer) const {
    for (size_t i = 0; i < pass_.layers.size(); ++i)
      if (matches(i, layer)) return &pass_.layers[i];
    const bool is_quantizable = !layer.type.empty() && layer.type != "embedding";  // by MASE's pass on graphs
    return pass_.otherwise && is_quantizable ? &*pass_.otherwise : nullptr;
  }

 private:
  static Regex regex_of(const MaseLayerConfig& config) {
    try {
      return Regex(config.key);
    } catch (const Error& error) {
      fail("{}: {}", config.where, error.what());
    }
  }

  static void check_type(const MaseLayerConfig& config) {
    const auto type =
        std::ranges::find(mase_types(), config.key, [](const MaseType& each) { return std::string(each.name); });
    if (type == mase_types().end())
      fail("{}: no type {} of MASE is known; known: {}{}", config.where, config.key, fmt::join(type_names(), ", "),
           did_you_mean(config.key, type_names()));
    if (type->op == nullptr && !config.quantizer.empty())
      fail("{}: {} stays as it is: {}. Write name = \"NA\", or take the table out", config.where, config.key,
           type->says);
  }

  bool matches(size_t i, const MaseLayer& layer) const {
    const std::string& key = pass_.layers[i].key;
    switch (pass_.by) {
      case By::type:
        return key == layer.type || (key == "bmm" && layer.type == "matmul");
      case By::name:
        return is_mase_name_of(key, layer.layer.name);
      default:
        return is_matched_by(regexes_[i], layer.layer.name);
    }
  }

  [[noreturn]] void fail_unmatched(const MaseLayerConfig& config, const std::vector<MaseLayer>& layers) const {
    std::vector<std::string> names;
    for (const MaseLayer& each : layers) {
      const std::string& name = pass_.by == By::type ? each.type : each.layer.name;
      if (!name.empty() && !std::ranges::count(names, name)) names.push_back(name);
    }
    fail("{}: the model has no layer \"{}\"; it has {}{}{}", config.where, config.key, names.size(),
         names.empty() ? "" : fmt::format(", e.g. {}", names.front()), did_you_mean(config.key, names));
  }

  const MaseQuantize& pass_;
  std::vector<Regex> regexes_;
};

constexpr std::string_view kOperands[] = {"data_in_", "weight_", "bias_", "data_out_"};

// The keys of a layer's configuration by operand; those of no operand are for all of them.
struct Operands {
  std::map<std::string_view, Json> keys;

  explicit Operands(const MaseLayerConfig& config) {
    for (const std::string_view operand : kOperands) keys[operand] = Json::object();
    for (const auto& [key, value] : config.keys.items()) add(config, key, value);
    for (const auto& [key, value] : keys["data_out_"].items())
      if (!is_none(value))
        fail("{}: data_out_{}: hone rounds what layers read, not what they write; take the key out", config.where, key);
  }

 private:
  void add(const MaseLayerConfig& config, const std::string& key, const Json& value) {
    for (const std::string_view operand : kOperands)
      if (key.starts_with(operand)) {
        keys[operand][key.substr(operand.size())] = value;
        return;
      }
    if (key == "floor") {
      for (auto& [operand, all] : keys) {
        if (operand != "data_out_") all[key] = value;
      }
    } else if (key != "binary_training") {  // how MASE trains: the values are the same
      fail("{}: unknown key {}; keys begin with data_in_, weight_ or bias_, e.g. weight_width", config.where, key);
    }
  }
};

class Translation {
 public:
  Translation(const MaseQuantize& pass, const Graph& graph, MaseBits bits)
      : layers_(mase_layers(graph)), chooser_(pass, layers_), bits_(bits) {
    check_otherwise(pass, graph);
  }

  MaseRules run() {
    for (const MaseLayer& each : layers_) add(each);
    MaseRules result;
    for (const auto& [place, formats] : parts_) add_rules(place, formats, result.rule);
    if (result.rule.empty()) fail("passes.quantize changes no layer of the model");
    for (const std::string& text : narrow_) result.notes.push_back(text);
    for (const std::string& text : order_)
      result.notes.push_back(fmt::format("{} ({} {})", text, counts_[text], counts_[text] == 1 ? "layer" : "layers"));
    return result;
  }

 private:
  using Place = std::pair<std::string, Part>;  // an op of hone's, and what of it
  using Formats = std::vector<std::pair<std::string, std::string>>;

  // "default" is for every op that MASE has quantized layers of, not for products alone.
  static void check_otherwise(const MaseQuantize& pass, const Graph& graph) {
    if (!pass.otherwise || pass.otherwise->quantizer.empty()) return;
    const std::vector<std::string> others = rounded_there(graph);
    if (others.empty()) return;
    fail(
        "{}: MASE's default rounds the inputs of {} of this model, too: {}. Write name = \"NA\" there, and a table for "
        "each of linear, conv1d and conv2d",
        pass.otherwise->where, fmt::join(others, ", "), "hone rounds what products read, not the inputs of other ops");
  }

  void add(const MaseLayer& found) {
    const MaseLayerConfig* const config = chooser_.of(found);
    const bool is_kept = config == nullptr || config->quantizer.empty();
    if (!is_kept) check(found, *config);
    const Layer& layer = found.layer;
    std::string says;
    const auto set = [&](Part part, const std::string& format) {
      if (format != kKeep) note_range(*config, format);
      parts_[{found.op, part}].emplace_back(layer.name, format);
      if (format != kKeep) says += fmt::format("{}{} {}", says.empty() ? "" : ", ", suffix_of(part).substr(1), format);
    };
    const bool weights_alone = is_kept || rounds_weights_alone(config->quantizer) || found.type == "embedding";
    if (layer.weight != kNone) set(Part::weight, is_kept ? kKeep : format(found, *config, "weight_"));
    if (!layer.inputs.empty()) set(Part::in, weights_alone ? kKeep : input_format(found, *config));
    if (layer.bias != kNone) set(Part::bias, weights_alone ? kKeep : format(found, *config, "bias_"));
    if (is_kept) return;
    if (weights_alone && !layer.inputs.empty()) format(found, *config, "data_in_");  // its keys are held to be known
    const std::string text = fmt::format("{}: {}: {}", config->key, config->quantizer, says);
    if (counts_[text]++ == 0) order_.push_back(text);
  }

  // An exponent_bias of 128 lets no magnitude of log8 be above 0.5.
  void note_range(const MaseLayerConfig& config, const std::string& text) {
    const Format format = parse_format(text);
    const double most = format.codec->max(format.element);
    if (format.scale_kind != &no_scale || most >= 1) return;
    std::string note =
        fmt::format("{}: magnitudes of {} end at {:.6g}: what is larger becomes that", config.where, text, most);
    if (!std::ranges::count(narrow_, note)) narrow_.push_back(std::move(note));
  }

  void check(const MaseLayer& found, const MaseLayerConfig& config) const {
    const bool is_conv = found.type.starts_with("conv");
    if (found.type.empty())
      fail("{}: {} ({}) is no layer of MASE's; write a rule for it: --rule 'name:{}.in=FORMAT'", config.where,
           found.layer.name, found.op, found.layer.name);
    if (is_conv && reads_blocks(config.quantizer))
      fail(
          "{}: {} of convolutions: MASE reshapes them for its blocks in ways that hone's, along the window and the "
          "channels, do not follow; write a rule: --rule op:conv=FORMAT",
          config.where, config.quantizer);
    if (is_conv && config.quantizer == "binary")
      fail(
          "{}: MASE's binary convolutions have a scale that is learned; hone's is the mean of a channel: "
          "--rule op:conv=binary.channel",
          config.where);
    if (found.type == "embedding" && config.quantizer != "mxint" && config.quantizer != "mxfp")
      fail("{}: MASE has embeddings in mxint and mxfp alone, found {}; hone: --rule op:gather=FORMAT", config.where,
           config.quantizer);
  }

  std::string format(const MaseLayer& found, const MaseLayerConfig& config, std::string_view operand) const {
    const ValueId value =
        operand == "weight_" ? found.layer.weight
        : operand == "bias_" ? found.layer.bias
                             : found.graph->node(found.layer.node).operands[static_cast<size_t>(found.layer.inputs[0])];
    const TensorType& type = found.graph->type(value);
    return mase_format({.quantizer = config.quantizer,
                        .keys = Operands(config).keys.at(operand),
                        .where = fmt::format("{}: {}", config.where, operand.substr(0, operand.size() - 1)),
                        .rank = type.ranked ? type.shape.size() : 2,
                        .skip_first_dim = operand == "data_in_"},
                       bits_);
  }

  // A product of two activations reads both in one format.
  std::string input_format(const MaseLayer& found, const MaseLayerConfig& config) const {
    std::string first = format(found, config, "data_in_");
    if (found.type != "matmul") return first;
    if (reads_blocks(config.quantizer))
      fail(
          "{}: {} of products of activations: MASE's blocks lie along the last axis of both, hone's along the axis "
          "that is summed over; write a rule: --rule op:matmul.in=FORMAT",
          config.where, config.quantizer);
    MaseLayer second = found;
    second.layer.weight = found.graph->node(found.layer.node).operands[1];
    if (const std::string other = format(second, config, "weight_"); other != first)
      fail("{}: data_in is {} and weight {}; hone rounds both factors of a product of activations alike", config.where,
           first, other);
    return first;
  }

  // One rule for all layers of an op that are alike, otherwise one for each.
  static void add_rules(const Place& place, const Formats& formats, std::vector<std::string>& rules) {
    const auto& [op, part] = place;
    const std::string_view suffix = suffix_of(part);
    const bool are_alike =
        std::ranges::all_of(formats, [&](const auto& each) { return each.second == formats[0].second; });
    if (are_alike && formats[0].second != kKeep) {
      rules.push_back(fmt::format("op:{}{}={}", op, part == Part::weight ? "" : suffix, formats[0].second));
      return;
    }
    for (const auto& [layer, format] : formats) {
      if (format == kKeep) continue;
      std::string rule = fmt::format("name:{}{}={}", layer, suffix, format);
      if (!std::ranges::count(rules, rule)) rules.push_back(std::move(rule));
    }
  }

  std::vector<MaseLayer> layers_;
  Chooser chooser_;
  MaseBits bits_;
  std::map<Place, Formats> parts_;
  std::map<std::string, int> counts_;  // of layers, by what became of them
  std::vector<std::string> order_;     // of these texts
  std::vector<std::string> narrow_;    // what formats of small ranges do
};

}  // namespace

MaseRules mase_rules(const MaseQuantize& pass, const Graph& graph, MaseBits bits) {
  return Translation(pass, graph, bits).run();
}

}  // namespace hone

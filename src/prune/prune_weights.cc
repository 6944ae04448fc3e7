#include "prune/prune_weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/regex.h"
#include "base/registry.h"
#include "base/stop.h"
#include "base/text.h"
#include "ops/calls/comparison.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/conv_weights.h"
#include "ops/evaluate.h"
#include "passes/compress/coupled_channels.h"
#include "passes/compress/network_layers.h"
#include "passes/weight_matrix.h"
#include "prune/mask.h"
#include "prune/registry.h"

namespace hone {
namespace {

using Strings = std::vector<std::string>;

constexpr OptionField<PruneOptions> kFields[] = {
    {"sparsity", "share of the weights, or units, that goes (0.5)", &PruneOptions::sparsity},
    {"method", "the score: random, l1, l2, movement, snip, wanda or sparsegpt", &PruneOptions::method},
    {"structure", "none: single weights; 2:4 and the like; heads, neurons, channels or layers",
     &PruneOptions::structure},
    {"scope", "local: each layer loses the share; global: the lowest of all go", &PruneOptions::scope},
    {"rule", "prune only layers whose weight's name this regular expression matches", &PruneOptions::rule},
    {"skip", "layers that are left as they are: a regular expression", &PruneOptions::skip},
    {"seed", "random seed of the score random", &PruneOptions::seed},
};

constexpr const char* kStructures[] = {"none", "heads", "neurons", "channels", "layers"};

struct Neighbours {
  int64_t keep, of;
};

std::optional<Neighbours> neighbours(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  Neighbours found{};
  const char *begin = text.data(), *end = begin + text.size();
  const auto first = std::from_chars(begin, begin + colon, found.keep),
             second = std::from_chars(begin + colon + 1, end, found.of);
  const bool is_whole =
      first.ec == std::errc() && first.ptr == begin + colon && second.ec == std::errc() && second.ptr == end;
  constexpr int64_t kMost = 1024;
  if (!is_whole || found.keep < 1 || found.keep >= found.of || found.of > kMost)
    fail("structure \"{}\": of N:M, N of each M neighbours stay; accepted: 1 <= N < M <= {}, e.g. 2:4", text, kMost);
  return found;
}

double sparsity_of(const PruneOptions& options) {
  if (const auto nm = neighbours(options.structure))
    return 1 - static_cast<double>(nm->keep) / static_cast<double>(nm->of);
  return options.sparsity < 0 ? 0.5 : options.sparsity;
}

class Names {
 public:
  explicit Names(const PruneOptions& options) : rules_(options.rule), used_(rules_.size(), false) {
    for (const std::string& text : options.rule) wanted_.push_back(pattern(text));
    for (const std::string& text : options.skip) skipped_.push_back(pattern(text));
  }
  bool chosen(const std::string& name) {
    bool is_wanted = wanted_.empty();
    for (size_t i = 0; i < wanted_.size(); ++i)
      if (wanted_[i].search(name)) is_wanted = used_[i] = true;
    return is_wanted && std::ranges::none_of(skipped_, [&](const Regex& skip) { return skip.search(name); });
  }
  bool is_named() const { return !wanted_.empty(); }
  void check_used(const Strings& names) const {
    for (size_t i = 0; i < used_.size(); ++i)
      if (!used_[i])
        fail("rule \"{}\" matches none of {} names{}", rules_[i], names.size(),
             names.empty()                            ? ""
             : did_you_mean(rules_[i], names).empty() ? ", e.g. " + names[0]
                                                      : did_you_mean(rules_[i], names));
  }

 private:
  static Regex pattern(const std::string& text) {
    try {
      return Regex(text);
    } catch (const Error& error) {
      fail("rule \"{}\": {}", text, error.what());
    }
  }
  Strings rules_;
  std::vector<bool> used_;
  std::vector<Regex> wanted_, skipped_;
};

struct Target {
  ValueId weight;
  std::string label;
  NodeId node;
};

std::vector<Target> all_targets(const Graph& graph) {
  std::vector<Target> targets;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op != &linear_def && node.op != &conv_def) continue;
    const Tensor* weight = graph.constant(node.operands[1]);
    const std::string& label = graph.value(node.operands[1]).label;
    if (!weight || label.empty() || weight->is_packed() || !is_float(weight->dtype()) || weight->elements() == 0)
      continue;
    if (node.attributes.has("kernel_shape")) continue;
    const auto known = [&](const Target& target) { return target.weight == node.operands[1]; };
    if (std::ranges::none_of(targets, known)) targets.push_back({node.operands[1], label, id});
  }
  return targets;
}

[[noreturn]] void refuse_nothing() {
  fail(
      "the model has no weights that could be pruned: no linear or conv with a plain weight that has a name (packed "
      "ones are pruned before they are quantized)");
}

Tensor as_matrix(const Tensor& tensor) {
  const Tensor plain = tensor.converted(DType::f32);
  return plain.shape().size() == 2 ? plain : *weight_matrix(plain);
}

// A matrix of the weight's elements in the weight's own order.
Tensor as_weight(const Tensor& matrix, const std::vector<int64_t>& shape) {
  if (shape.size() == 2) return matrix;
  Attributes window;
  window.set("kernel_shape", std::vector<int64_t>(shape.begin() + 2, shape.end()));
  return conv_weights(window, matrix);
}

class Scores {
 public:
  Scores(const Graph& graph, const ScoreDef& def, const PruneOptions& options, const ScoreSources& sources)
      : graph_(graph), def_(def), options_(options), sources_(sources) {}

  template <class F>
  auto with_input(const Target& target, F run) const {
    const Tensor weight = as_matrix(*graph_.constant(target.weight));
    ScoreInput input{.weight = weight, .seed = static_cast<uint64_t>(options_.seed) ^ hash_text(target.label)};
    Tensor gradient;
    if (def_.needs == ScoreDef::Needs::inputs) {
      CHECK(sources_.statistics);
      const auto found = sources_.statistics->layers.find(target.label);
      if (found == sources_.statistics->layers.end()) fail("{}: no input of it was seen in the data", target.label);
      CHECK(found->second.width == weight.dim(1) && !found->second.moment.empty());
      input.statistics = &found->second;
    } else if (def_.needs != ScoreDef::Needs::nothing) {
      gradient = as_matrix(sources_.gradients.at(target.label));
      input.gradient = &gradient;
    }
    return run(input);
  }

  std::vector<float> of(const Target& target) const {
    check_stop();
    std::vector<float> scores = with_input(target, def_.score);
    for (float& score : scores)
      if (!std::isfinite(score))
        fail("{}: a score is {}: its weights, or what it is multiplied with, are no numbers", target.label, score);
    return scores;
  }

 private:
  const Graph& graph_;
  const ScoreDef& def_;
  const PruneOptions& options_;
  const ScoreSources& sources_;
};

// The weight where the mask keeps it, else 0: the mask, folded.
void fold_mask(Graph& graph, const Target& target, const Mask& mask) {
  const Tensor& weight = *graph.constant(target.weight);
  const std::vector<float> kept(mask.begin(), mask.end());
  const Tensor stays = as_weight(Tensor::of<float>(weight_matrix_shape(weight.shape()), kept), weight.shape())
                           .converted(DType::boolean),
               zero(weight.dtype(), {});
  const Tensor* operands[] = {&stays, &weight, &zero};
  graph.set_constant(target.weight, evaluate_node(where_def, operands)[0]);
}

int64_t zeros_in(const Tensor& tensor) {
  const std::vector<float> values = tensor.to_floats();
  return std::ranges::count(values, 0.0f);
}

// What is 0 already goes before all else, whatever its score.
std::vector<float> zeros_first(std::vector<float> scores, const Tensor& weight) {
  const std::vector<float> values = as_matrix(weight).to_floats();
  for (size_t i = 0; i < scores.size(); ++i)
    if (values[i] == 0) scores[i] = std::numeric_limits<float>::lowest();
  return scores;
}

PrunedGraph prune_elements(Graph graph, const std::vector<Target>& targets, const Scores& scores, const ScoreDef& def,
                           const PruneOptions& options) {
  const auto nm = neighbours(options.structure);
  Selection selection{.sparsity = sparsity_of(options), .by_row = def.by_row && options.scope == "local"};
  if (nm) selection.keep = nm->keep, selection.of = nm->of;
  std::vector<std::vector<float>> all;
  std::vector<double> shares(targets.size(), selection.sparsity);
  if (!def.prune || options.scope == "global")
    for (const Target& target : targets) all.push_back(zeros_first(scores.of(target), *graph.constant(target.weight)));
  if (options.scope == "global") shares = shares_of_all(all, selection.sparsity);
  PrunedGraph pruned;
  for (size_t t = 0; t < targets.size(); ++t) {
    const Target& target = targets[t];
    const std::vector<int64_t> shape = graph.constant(target.weight)->shape(), matrix = weight_matrix_shape(shape);
    selection.sparsity = shares[t];
    PrunedPart part{.name = target.label, .all = matrix[0] * matrix[1]};
    if (nm && matrix[1] < nm->of) part.kept_because = fmt::format("rows of {} elements hold no {}", matrix[1], nm->of);
    else if (def.prune) {
      const Tensor changed =
          scores.with_input(target, [&](const ScoreInput& input) { return def.prune(input, selection); });
      const DType dtype = graph.constant(target.weight)->dtype();
      graph.set_constant(target.weight, as_weight(changed, shape).converted(dtype));
    } else {
      fold_mask(graph, target, keep_best(all[t], matrix[0], matrix[1], selection));
    }
    pruned.parts.push_back(std::move(part));
  }
  for (size_t t = 0; t < targets.size(); ++t) pruned.parts[t].gone = zeros_in(*graph.constant(targets[t].weight));
  pruned.graph = std::move(graph);
  return pruned;
}

// Scores of what is tied together.
class UnitScores {
 public:
  UnitScores(const Graph& graph, const Scores& scores) : graph_(graph) {
    for (const Target& target : all_targets(graph)) {
      const std::vector<int64_t> shape = graph.constant(target.weight)->shape();
      const Tensor matrix = Tensor::of<float>(weight_matrix_shape(shape), scores.of(target));
      scores_[target.weight] = as_weight(matrix, shape).to_floats();
    }
  }

  // Sums over all indices of an axis at once.
  double of(const ChannelUnit& unit) {
    double sum = 0;
    for (const ChannelSlice& slice : unit.slices) {
      const auto found = scores_.find(slice.constant);
      if (found == scores_.end()) continue;
      sum += axis_sums(slice.constant, slice.axis)[static_cast<size_t>(slice.index)];
    }
    return sum;
  }

  double mean_of(const std::vector<ValueId>& weights) const {
    double sum = 0, count = 0;
    for (ValueId id : weights)
      if (const auto found = scores_.find(id); found != scores_.end()) {
        sum = std::accumulate(found->second.begin(), found->second.end(), sum);
        count += static_cast<double>(found->second.size());
      }
    return count == 0 ? 0 : sum / count;
  }

 private:
  const std::vector<double>& axis_sums(ValueId id, int axis) {
    std::vector<double>& sums = sums_[{id, axis}];
    if (!sums.empty()) return sums;
    const std::vector<int64_t>& shape = graph_.constant(id)->shape();
    const std::vector<float>& scores = scores_.at(id);
    int64_t inner = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
    const int64_t length = shape[static_cast<size_t>(axis)];
    sums.resize(static_cast<size_t>(length));
    for (size_t i = 0; i < scores.size(); ++i)
      sums[static_cast<size_t>(static_cast<int64_t>(i) / inner % length)] += scores[i];
    return sums;
  }

  const Graph& graph_;
  std::map<ValueId, std::vector<float>> scores_;
  std::map<std::pair<ValueId, int>, std::vector<double>> sums_;
};

bool fits(const ChannelFamily& family, const std::string& structure) {
  if (structure == "heads") return family.is_heads;
  if (structure == "neurons") return !family.is_heads && !family.is_conv && family.producers.size() == 1;
  return !family.is_heads;
}

PrunedGraph prune_channels(Graph graph, UnitScores scores, const PruneOptions& options) {
  Names names(options);
  PrunedGraph pruned;
  std::vector<const ChannelFamily*> chosen;
  Strings known;
  std::string refused;
  const std::vector<ChannelFamily> families = channel_families(graph);
  for (const ChannelFamily& family : families) {
    if (!fits(family, options.structure)) continue;
    known.insert(known.end(), family.producers.begin(), family.producers.end());
    bool is_chosen = false;
    for (const std::string& producer : family.producers) is_chosen = names.chosen(producer) || is_chosen;
    if (!is_chosen) continue;
    if (!family.kept_because.empty()) {
      if (names.is_named()) fail("{} of {} can't be pruned: {}", options.structure, family.name, chain_text(family));
      if (refused.empty()) refused = chain_text(family);
      pruned.parts.push_back({family.name, static_cast<int64_t>(family.units.size()), 0, chain_text(family)});
      continue;
    }
    chosen.push_back(&family);
  }
  names.check_used(known);
  if (chosen.empty())
    fail("the model has no {} that can be pruned{}", options.structure, refused.empty() ? "" : ": " + refused);
  const double sparsity = sparsity_of(options);
  std::vector<std::vector<float>> all;
  for (const ChannelFamily* family : chosen) {
    std::vector<float>& of = all.emplace_back();
    double mean = 0;
    for (const ChannelUnit& unit : family->units) of.push_back(static_cast<float>(scores.of(unit)));
    for (float score : of) mean += std::abs(score) / static_cast<double>(of.size());
    for (float& score : of) score = mean > 0 ? static_cast<float>(score / mean) : 0;  // layers are compared by it
  }
  std::vector<double> shares(chosen.size(), sparsity);
  if (options.scope == "global") shares = shares_of_all(all, sparsity);
  std::vector<ChannelUnit> gone;
  for (size_t f = 0; f < chosen.size(); ++f) {
    const auto units = static_cast<int64_t>(chosen[f]->units.size());
    auto count = static_cast<int64_t>(std::llround(shares[f] * static_cast<double>(units)));
    if (count == units) {
      if (options.scope == "local")
        fail("{}: all its {} {} would go; prune less, or leave it out (skip)", chosen[f]->name, units,
             options.structure);
      count = units - 1;  // the lowest of all may be all of a layer's
    }
    const Mask mask =
        keep_best(all[f], 1, units, {.sparsity = static_cast<double>(count) / static_cast<double>(units)});
    for (int64_t u = 0; u < units; ++u)
      if (!mask[static_cast<size_t>(u)]) gone.push_back(chosen[f]->units[static_cast<size_t>(u)]);
    pruned.parts.push_back({chosen[f]->name, units, count, ""});
  }
  pruned.graph = gone.empty() ? std::move(graph) : remove_units(std::move(graph), gone);
  return pruned;
}

PrunedGraph prune_layers(Graph graph, const UnitScores& scores, const PruneOptions& options) {
  Names names(options);
  PrunedGraph pruned;
  std::vector<NetworkLayer> layers;
  Strings known;
  std::string refused;
  for (NetworkLayer& layer : network_layers(graph)) {
    known.push_back(layer.name);
    if (!names.chosen(layer.name)) continue;
    if (layer.kept_because.empty()) layers.push_back(std::move(layer));
    else if (names.is_named()) fail("{} can't go: {}", layer.name, layer.kept_because);
    else {
      refused = layer.name + ": " + layer.kept_because;
      pruned.parts.push_back({layer.name, 1, 0, layer.kept_because});
    }
  }
  names.check_used(known);
  if (layers.empty())
    fail("the model has no layers that can go, by numbers in the names of weights{}",
         refused.empty() ? "" : " (" + refused + ")");
  const auto count = static_cast<size_t>(std::llround(sparsity_of(options) * static_cast<double>(layers.size())));
  if (count == layers.size()) fail("all {} layers would go; prune less", layers.size());
  std::vector<float> of;
  for (const NetworkLayer& layer : layers) of.push_back(static_cast<float>(scores.mean_of(layer.weights)));
  const Mask mask = keep_best(of, 1, static_cast<int64_t>(of.size()),
                              {.sparsity = static_cast<double>(count) / static_cast<double>(of.size())});
  // From the last on, so that what the others read is still there.
  for (size_t l = layers.size(); l-- > 0;) {
    if (!mask[l]) graph = remove_layer(std::move(graph), layers[l]);
    pruned.parts.push_back({layers[l].name, 1, mask[l] ? 0 : 1, ""});
  }
  pruned.graph = std::move(graph);
  return pruned;
}

}  // namespace

std::span<const OptionField<PruneOptions>> prune_fields() { return kFields; }

const ScoreDef& find_score(const PruneOptions& options) {
  if (const ScoreDef* def = find_def(prune::all(), options.method)) return *def;
  const Strings known = names_of(prune::all());
  fail("unknown method {}; known: {}{}", options.method, fmt::join(known, ", "), did_you_mean(options.method, known));
}

bool is_structured(const PruneOptions& options) {
  return options.structure != "none" && !neighbours(options.structure);
}

void check_options(const PruneOptions& options) {
  const ScoreDef& def = find_score(options);
  const auto nm = neighbours(options.structure);
  if (!nm && std::ranges::find(kStructures, options.structure) == std::end(kStructures)) {
    const Strings known(std::begin(kStructures), std::end(kStructures));
    fail("unknown structure {}; known: {} and N:M, e.g. 2:4{}", options.structure, fmt::join(known, ", "),
         did_you_mean(options.structure, known));
  }
  if (options.sparsity != -1 && !(options.sparsity >= 0 && options.sparsity < 1))
    fail("sparsity is {}; accepted: 0 to below 1, as a share", options.sparsity);
  if (nm && options.sparsity >= 0 && options.sparsity != sparsity_of(options))
    fail("structure {} is a sparsity of {}, and {} is given; leave sparsity out", options.structure,
         sparsity_of(options), options.sparsity);
  if (options.scope != "local" && options.scope != "global")
    fail("scope is \"{}\"; accepted: local, global{}", options.scope,
         did_you_mean(options.scope, Strings{"local", "global"}));
  if (nm && options.scope == "global") fail("of N:M each layer loses the same; leave scope global out");
  if (options.structure == "layers" && options.scope == "global")
    fail("layers are compared with each other anyway; leave scope global out");
  if (def.prune && is_structured(options))
    fail("{} is of single weights; for {} take another method, e.g. wanda", def.name, options.structure);
}

std::vector<std::string> prunable_weights(const Graph& graph, const PruneOptions& options) {
  const std::vector<Target> targets = all_targets(graph);
  if (targets.empty()) refuse_nothing();
  Strings labels, chosen;
  Names names(options);
  for (const Target& target : targets) {
    labels.push_back(target.label);
    if (is_structured(options) || names.chosen(target.label)) chosen.push_back(target.label);
  }
  if (!is_structured(options)) names.check_used(labels);
  if (chosen.empty()) fail("nothing is left to prune: all {} weights are skipped", targets.size());
  return chosen;
}

PrunedGraph prune_weights(Graph graph, const PruneOptions& options, const ScoreSources& sources) {
  check_options(options);
  const Strings labels = prunable_weights(graph, options);
  const ScoreDef& def = find_score(options);
  const Graph scored = graph;
  const Scores scores(scored, def, options, sources);
  if (!is_structured(options)) {
    std::vector<Target> targets;
    for (Target& target : all_targets(graph))
      if (std::ranges::count(labels, target.label)) targets.push_back(std::move(target));
    return prune_elements(std::move(graph), targets, scores, def, options);
  }
  UnitScores units(scored, scores);
  return options.structure == "layers" ? prune_layers(std::move(graph), units, options)
                                       : prune_channels(std::move(graph), std::move(units), options);
}

}  // namespace hone

#include "nas/search_space.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/regex.h"
#include "base/text.h"
#include "formats/packed.h"
#include "formats/registry.h"
#include "jobs/format_list.h"
#include "nas/trial_start.h"
#include "ops/calls/linear.h"
#include "passes/layer.h"

namespace hone {
namespace {

bool is_of_formats(const std::string& name) {
  return name == "format" || name.starts_with("format.") || name == "quantize.to" || name == "quantize.activations";
}

// Examples of all formats that are stored as such; those that only reproduce values are none.
std::vector<std::string> every_format() {
  std::vector<std::string> all;
  for (const FormatDef* def : formats::all())
    for (const std::string& example : split(def->examples, ' '))
      if (!example.empty() && !is_fake_only(parse_format(example))) all.push_back(example);
  return all;
}

Json expanded_formats(const Json& choices) {
  Json all = Json::array();
  const auto add = [&](const std::string& text) {
    if (std::ranges::find(all, Json(text)) == all.end()) all.push_back(text);
  };
  for (const Json& choice : choices) {
    if (!choice.is_string()) fail("choice {} is no format", json_excerpt(choice));
    const auto text = choice.get<std::string>();
    if (text == "keep") add(text);
    else if (text == "*") std::ranges::for_each(every_format(), add);
    else std::ranges::for_each(parse_format_list({text}), add);
  }
  return all;
}

// Weights and inputs that the address of a rule is of.
std::vector<std::string> addressed(const Graph& graph, const std::string& address) {
  const QuantizationPlan plan = plan_quantization(graph, {.rule = {address + "=fp16"}});
  std::vector<std::string> names;
  for (const auto* choices : {&plan.constants, &plan.activations})
    for (const QuantizeChoice& choice : *choices)
      if (choice.decided_by.find(address) != std::string::npos && choice.format) names.push_back(choice.name);
  return names;
}

std::vector<std::string> square_layers(const Graph& graph, const std::string& pattern) {
  const Regex regex(pattern);
  std::vector<std::string> names;
  for (const Layer& layer : layers_of(graph)) {
    if (graph.node(layer.node).op != &linear_def || !regex.search(layer.name)) continue;
    const std::vector<int64_t>& shape = graph.constant(layer.weight)->shape();
    if (shape.at(0) == shape.at(1)) names.push_back(layer.name);
  }
  return names;
}

// Bits per element of large matrices.
double bits_of(const Json& choice) {
  const auto text = choice.get<std::string>();
  if (text == "keep") return 32;
  constexpr int64_t kRows = 128, kColumns = 1024;
  return 8 * static_cast<double>(plane_bytes(parse_format(text), std::vector<int64_t>{kRows, kColumns}).total()) /
         static_cast<double>(kRows * kColumns);
}

double cheapest_looking(const SpaceParameter& parameter) {
  const Distribution& d = parameter.distribution;
  if (!d.is_category()) return parameter.name == "prune.sparsity" ? d.high : d.low;
  if (!is_of_formats(parameter.name)) return 0;
  size_t best = 0;
  for (size_t i = 1; i < d.choices.size(); ++i)
    if (bits_of(d.choices[i]) < bits_of(d.choices[best])) best = i;
  return static_cast<double>(best);
}

// As a list or the text of one: "[16,32]".
std::vector<double> numbers_in(const Json& choice) {
  const Json list = choice.is_string() ? Json::parse(choice.get<std::string>(), nullptr, false) : choice;
  if (!list.is_array() || !std::ranges::all_of(list, [](const Json& n) { return n.is_number(); })) return {};
  return list.get<std::vector<double>>();
}

// Of numbers the least or most, of lists of them each element's, as many as the shortest or longest has; of other
// choices the first or last, and of layers whether they are there.
Json extreme(const Json& choices, Corner corner) {
  const bool most = corner == Corner::largest;
  const auto better = [&](double a, double b) { return most ? a > b : a < b; };
  if (std::ranges::all_of(choices, [](const Json& c) { return c.is_number(); }))
    return most ? *std::ranges::max_element(choices) : *std::ranges::min_element(choices);
  if (const Json layer = most ? "linear" : "identity"; std::ranges::count(choices, layer) > 0) return layer;
  std::vector<double> all = numbers_in(choices[0]);
  for (const Json& choice : choices) {
    const std::vector<double> list = numbers_in(choice);
    if (list.empty()) return most ? choices.back() : choices.front();
    const size_t shared = std::min(all.size(), list.size());
    for (size_t i = 0; i < shared; ++i)
      if (better(list[i], all[i])) all[i] = list[i];
    if (most && list.size() > shared)
      all.insert(all.end(), list.begin() + static_cast<std::ptrdiff_t>(shared), list.end());
    if (!most) all.resize(shared);
  }
  Json list = Json::array();
  for (const double value : all)
    if (value == std::floor(value)) list.push_back(static_cast<int64_t>(value));
    else list.push_back(value);
  return list.dump();
}

class Descent {
 public:
  Descent(const Space& space, std::span<const FigureLimit> limits,
          const std::function<Figures(const Json& values)>& measure)
      : space_(space), limits_(limits), measure_(measure) {
    for (const SpaceParameter& p : space.parameters()) point_.push_back(cheapest_looking(p));
  }

  void run() {
    double least = excess(point_);
    for (bool improved = true; improved && least > 0;) {
      improved = false;
      for (size_t i = 0; i < point_.size() && least > 0; ++i)
        for (double value : values_of(space_.parameters()[i].distribution)) {
          std::vector<double> other = point_;
          other[i] = value;
          if (other == point_) continue;
          const double there = excess(other);
          if (there < least) point_ = other, least = there, improved = true;
          if (least == 0 || measured_ >= kMost) break;
        }
      if (measured_ >= kMost) break;
    }
    if (least > 0) refuse();
  }

 private:
  static constexpr int kMost = 300;  // points that are made: a model is built and rounded for each

  static std::vector<double> values_of(const Distribution& d) {
    if (!d.is_category()) return {d.low, d.high};
    std::vector<double> all;
    for (int64_t i = 0; i < d.size(); ++i) all.push_back(static_cast<double>(i));
    return all;
  }

  double excess(const std::vector<double>& point) {
    std::vector<TrialParameter> chosen;
    for (size_t i = 0; i < point.size(); ++i) {
      const SpaceParameter& p = space_.parameters()[i];
      if (space_.is_active(p, chosen))
        chosen.push_back({p.name, point[i], std::make_shared<const Distribution>(p.distribution)});
    }
    if (const double violation = space_.violation(chosen); violation > 0) return kImpossible + violation;
    ++measured_;
    Figures figures;
    try {
      figures = measure_(space_.values(chosen));
    } catch (const Error& e) {
      if (fault_.empty()) fault_ = e.what();
      return kImpossible;
    }
    double sum = 0;
    for (const FigureLimit& limit : limits_) sum += std::max(0.0, limit.excess(figures));
    if (sum < least_) least_ = sum, best_ = figures;
    return sum;
  }

  [[noreturn]] void refuse() const {
    if (best_.empty()) fail("no candidate could be made to hold the budget against: {}", fault_);
    std::string limits, found;
    for (const FigureLimit& limit : limits_) {
      limits += (limits.empty() ? "" : ", ") + limit.text;
      found += fmt::format("{}{} {:.6g}", found.empty() ? "" : ", ", limit.figure, best_.at(limit.figure));
    }
    fail(
        "no candidate meets the budget {}; of {} that were made, nearest is one with {}. Loosen the budget, or widen "
        "the "
        "space",
        limits, measured_, found);
  }

  static constexpr double kImpossible = 1e100;
  const Space& space_;
  std::span<const FigureLimit> limits_;
  const std::function<Figures(const Json& values)>& measure_;
  std::vector<double> point_;
  Figures best_;
  std::string fault_;
  double least_ = std::numeric_limits<double>::infinity();
  int measured_ = 0;
};

}  // namespace

Json expanded_parameters(const Json& parameters, const Graph& largest, const std::string& source) {
  Json all = Json::object();
  for (const auto& [name, entry] : parameters.items()) {
    const std::string where = source + ": parameter " + name;
    Json value = entry;
    std::vector<std::string> names{name};
    try {
      if (value.is_array()) value = Json::object({{"choices", entry}});
      if (value.is_object() && value.contains("each")) {
        const auto each = json_get<std::string>(value, "each", where);
        value.erase("each");
        if (name != "format" && name != "layer")
          fail("each goes with \"format\" and \"layer\": one parameter for each weight, or layer");
        names = name == "format" ? addressed(largest, each) : square_layers(largest, each);
        if (names.empty()) fail("each = \"{}\" is of no {}", each, name == "format" ? "weight" : "square linear layer");
        for (std::string& one : names) one = name + "." + one;
      }
      if (is_of_formats(name) && value.is_object() && value.contains("choices"))
        value["choices"] = expanded_formats(value["choices"]);
    } catch (const Error& e) {
      fail("{}: {}", where, e.what());
    }
    for (const std::string& one : names) {
      if (all.contains(one)) fail("{}: {} stands in the space twice", where, one);
      all[one] = value;
    }
  }
  return all;
}

TrialPlan plan_of(const TrialPlan& fixed, const Json& values) {
  TrialPlan plan = fixed;
  for (const auto& [name, value] : values.items()) set_knob(plan, name, value);
  return plan;
}

void check_space(const Space& space, const TrialPlan& fixed, const std::string& source) {
  const auto check = [&](const std::string& name, const Distribution& d) {
    std::vector<Json> values = d.choices;
    if (!d.is_category()) values = {d.outside(d.low), d.outside(d.high)};
    for (const Json& value : values) {
      TrialPlan plan = fixed;
      try {
        set_knob(plan, name, value);
      } catch (const Error& e) {
        fail("{}: parameter {}", source, e.what());
      }
    }
  };
  for (const SpaceParameter& p : space.parameters()) check(p.name, p.distribution);
  for (const SpaceTie& tie : space.ties()) check(tie.name, space.find(tie.same_as)->distribution);
}

TrialPlan largest_plan(const Json& parameters, const TrialPlan& fixed) {
  TrialPlan plan = fixed;
  for (const auto& [name, entry] : parameters.items()) {
    if (!name.starts_with("build.")) continue;
    if (entry.is_object() && entry.contains("high")) set_knob(plan, name, entry.at("high"));
    const Json choices = entry.is_array()                                 ? entry
                         : entry.is_object() && entry.contains("choices") ? entry.at("choices")
                                                                          : Json();
    if (choices.is_array() && !choices.empty()) set_knob(plan, name, extreme(choices, Corner::largest));
  }
  return plan;
}

TrialPlan corner_plan(const Space& space, const TrialPlan& fixed, Corner corner) {
  TrialPlan plan = fixed;
  const auto set = [&](const std::string& name, const Distribution& d) {
    if (!name.starts_with("build.") && !name.starts_with("layer.")) return;
    if (d.is_category()) set_knob(plan, name, extreme(d.choices, corner));
    else set_knob(plan, name, d.outside(corner == Corner::largest ? d.high : d.low));
  };
  for (const SpaceParameter& p : space.parameters()) set(p.name, p.distribution);
  for (const SpaceTie& tie : space.ties()) set(tie.name, space.find(tie.same_as)->distribution);
  return plan;
}

void check_addresses(const Space& space, const Graph& largest, const std::string& source) {
  for (const SpaceParameter& p : space.parameters()) {
    try {
      if (p.name.starts_with("layer.")) {
        const std::vector<std::string> known = square_layers(largest, "");
        const std::string name = p.name.substr(6);
        if (std::ranges::find(known, name) == known.end())
          fail("the model has no square linear layer {}{}", name, did_you_mean(name, known));
      } else if (p.name.starts_with("format.")) {
        const std::string address = p.name.substr(7);
        plan_quantization(largest, {.rule = {(has_address(largest, address) ? "name:" : "") + address + "=fp16"}});
      }
    } catch (const Error& e) {
      fail("{}: parameter {}: {}", source, p.name, e.what());
    }
  }
}

void require_reachable(const Space& space, std::span<const FigureLimit> limits,
                       const std::function<Figures(const Json& values)>& measure) {
  if (!limits.empty()) Descent(space, limits, measure).run();
}

}  // namespace hone

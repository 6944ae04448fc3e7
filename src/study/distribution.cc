#include "study/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "study/python_json.h"

namespace hone {
namespace {

constexpr double kExact = 9007199254740992;  // 2^53: the whole numbers that a double tells apart

// The last low + k·step that is not above high, as decimal arithmetic has it: 0 to 1 by 0.3 ends at 0.9.
double last_step(double low, double high, double step) {
  const double k = std::floor((high - low) / step * (1 + 1e-12) + 1e-9);
  return std::min(high, std::strtod(fmt::format("{:.15g}", low + k * step).c_str(), nullptr));
}

void check_range(std::string_view name, double low, double high) {
  if (!std::isfinite(low) || !std::isfinite(high))
    fail("parameter {}: low {} and high {} must be finite numbers", name, low, high);
  if (low > high) fail("parameter {}: low {} is above high {}; nothing lies between them", name, low, high);
}

bool is_choice(const Json& value) {
  return value.is_null() || value.is_boolean() || value.is_number() || value.is_string();
}

// 1 and 1.0 are one choice to Python, and so are 1 and true; here a type is part of a choice.
bool same_choice(const Json& a, const Json& b) {
  return a.type() == b.type() ? a == b : a.is_number() && b.is_number() && a == b;
}

// The whole number in a double, which need not fit 64 bits.
Json whole_number(double value) {
  if (std::abs(value) < 0x1p63) return static_cast<int64_t>(std::llround(value));
  if (value > 0 && value < 0x1p64) return static_cast<uint64_t>(value);
  return value;
}

// Of a parameter of integers, as Optuna writes it: a double only where it is beyond 64 bits.
std::string whole_text(const Json& value) {
  return value.is_number_float() ? fmt::format("{:.0f}", value.get<double>()) : value.dump();
}

std::string choices_text(const std::vector<Json>& choices) {
  std::string text;
  for (const Json& choice : choices) text += (text.empty() ? "" : ", ") + python_json(choice);
  return text;
}

bool is_beyond_exact(const Json& value) { return value.is_number() && std::abs(value.get<double>()) > kExact; }

// Of another program's study: the range as it is written, beside the nearest doubles.
Distribution large_integers(std::string_view name, const Json& low, const Json& high, const Json& step, bool log) {
  for (const Json* value : {&low, &high, &step})
    if (!value->is_number() || std::trunc(value->get<double>()) != value->get<double>())
      fail("parameter {}: expected a whole number, found {}", name, json_excerpt(*value));
  Distribution made{.kind = DistributionKind::integer,
                    .low = low.get<double>(),
                    .high = high.get<double>(),
                    .step = step.get<double>(),
                    .log = log,
                    .written = {low, high, step}};
  check_range(name, made.low, made.high);
  if (made.step < 1) fail("parameter {}: step {} must be 1 or more", name, made.step);
  if (log && made.low < 1) fail("parameter {}: low {} has no logarithm; with log it must be 1 or more", name, made.low);
  return made;
}

// A whole number beyond 64 bits is read as a float, which would be another choice when it is written again.
void check_choices_fit(const Json& choices, std::string_view text, const std::string& place) {
  for (const Json& choice : choices)
    if (choice.is_number_float() && std::abs(choice.get<double>()) >= 0x1p63 &&
        text.find(python_float(choice.get<double>())) == text.npos)
      fail("{}: the choice {:.0f} is a whole number beyond 64 bits; accepted: -2^63 to 2^64-1", place,
           choice.get<double>());
}

}  // namespace

bool Distribution::is_single() const {
  if (is_category()) return choices.size() == 1;
  return low == high || (step > 0 && high - low < step);
}

bool Distribution::contains(double inside) const {
  if (!(inside >= low && inside <= high)) return false;
  if (step == 0 || is_category()) return true;
  const double k = (inside - low) / step;
  return std::abs(k - std::round(k)) < 1e-8;  // as Optuna
}

int64_t Distribution::size() const {
  if (is_category()) return static_cast<int64_t>(choices.size());
  if (low == high) return 1;
  if (step == 0 || !is_exact()) return 0;
  return static_cast<int64_t>(std::floor((high - low) / step + 1e-8)) + 1;
}

double Distribution::value_at(int64_t i) const {
  if (is_category() || kind == DistributionKind::integer)
    return low + static_cast<double>(i) * (is_category() ? 1 : step);
  return step == 0 ? low : std::strtod(fmt::format("{:.15g}", low + static_cast<double>(i) * step).c_str(), nullptr);
}

Json Distribution::outside(double inside) const {
  if (is_category()) {
    CHECK(inside >= 0 && inside < static_cast<double>(choices.size()), "choice {} of {}", inside, choices.size());
    return choices[static_cast<size_t>(inside)];
  }
  if (kind == DistributionKind::integer) return whole_number(inside);
  return inside;
}

double Distribution::inside(const Json& outside, std::string_view name) const {
  if (is_category()) {
    for (size_t i = 0; i < choices.size(); ++i)
      if (same_choice(choices[i], outside)) return static_cast<double>(i);
    fail("parameter {}: {} is none of its choices {}", name, json_excerpt(outside), choices_text(choices));
  }
  if (!outside.is_number()) fail("parameter {}: expected a number, found {}", name, json_excerpt(outside));
  const auto value = outside.get<double>();
  if (!std::isfinite(value)) fail("parameter {}: {} is no finite number", name, value);
  if (kind == DistributionKind::integer && (value != std::trunc(value) || std::abs(value) > kExact))
    fail("parameter {}: expected a whole number, found {}", name, value);
  return value;
}

std::string Distribution::text(double inside) const {
  const Json value = outside(inside);
  if (kind == DistributionKind::integer) return whole_text(value);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  // A choice as it was given: no two look alike.
  return is_category() ? python_float(value.get<double>()) : fmt::format("{:.6g}", inside);
}

std::string Distribution::json() const {
  const auto truth = [](bool b) { return b ? "true" : "false"; };
  switch (kind) {
    case DistributionKind::real:
      return fmt::format(
          R"({{"name": "FloatDistribution", "attributes": {{"step": {}, "low": {}, "high": {}, "log": {}}}}})",
          step == 0 ? "null" : python_float(step), python_float(low), python_float(high), truth(log));
    case DistributionKind::integer:
      return fmt::format(
          R"({{"name": "IntDistribution", "attributes": {{"log": {}, "step": {}, "low": {}, "high": {}}}}})",
          truth(log), whole_text(is_exact() ? Json(step) : written[2]), whole_text(is_exact() ? Json(low) : written[0]),
          whole_text(is_exact() ? Json(high) : written[1]));
    case DistributionKind::category:
      break;
  }
  return fmt::format(R"({{"name": "CategoricalDistribution", "attributes": {{"choices": {}}}}})",
                     python_json(Json(choices)));
}

std::string Distribution::describe() const {
  if (is_category()) return "one of " + choices_text(choices);
  if (!is_exact()) {
    const std::string range = fmt::format("int {} to {}", whole_text(written[0]), whole_text(written[1]));
    return range + (step != 1 ? ", step " + whole_text(written[2]) : "") + (log ? ", log" : "");
  }
  std::string text = fmt::format("{} {} to {}", kind == DistributionKind::real ? "float" : "int", low, high);
  if (step != 0 && (kind == DistributionKind::real || step != 1)) text += fmt::format(", step {}", step);
  return log ? text + ", log" : text;
}

Distribution real_distribution(std::string_view name, double low, double high, double step, bool log) {
  check_range(name, low, high);
  if (!(step >= 0) || std::isinf(step)) fail("parameter {}: step {} must be above 0", name, step);
  if (log && step != 0) fail("parameter {}: step and log can't be together; leave one out", name);
  if (log && low <= 0) fail("parameter {}: low {} has no logarithm; with log it must be above 0", name, low);
  if (step > 0) high = last_step(low, high, step);
  return {DistributionKind::real, low, high, step, log, {}, {}};
}

Distribution integer_distribution(std::string_view name, int64_t low, int64_t high, int64_t step, bool log) {
  check_range(name, static_cast<double>(low), static_cast<double>(high));
  if (std::abs(static_cast<double>(low)) > kExact || std::abs(static_cast<double>(high)) > kExact)
    fail("parameter {}: {} to {} goes beyond 2^53, where not each whole number can be told from the next", name, low,
         high);
  if (step < 1) fail("parameter {}: step {} must be 1 or more", name, step);
  if (log && step != 1) fail("parameter {}: with log the step of an integer is 1, found {}; leave one out", name, step);
  if (log && low < 1) fail("parameter {}: low {} has no logarithm; with log it must be 1 or more", name, low);
  high = low + (high - low) / step * step;
  return {DistributionKind::integer,
          static_cast<double>(low),
          static_cast<double>(high),
          static_cast<double>(step),
          log,
          {},
          {}};
}

Distribution category_distribution(std::string_view name, std::vector<Json> choices) {
  if (choices.empty()) fail("parameter {}: no choices; give at least one", name);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (!is_choice(choices[i]))
      fail("parameter {}: choice {} is no text, number, boolean or null", name, json_excerpt(choices[i]));
    for (size_t j = 0; j < i; ++j)
      if (same_choice(choices[i], choices[j]))
        fail("parameter {}: choice {} stands there twice", name, json_excerpt(choices[i]));
  }
  const auto last = static_cast<double>(choices.size() - 1);
  return {DistributionKind::category, 0, last, 1, false, std::move(choices), {}};
}

Distribution parse_distribution(std::string_view text, std::string_view name, const std::string& source) {
  const std::string place = fmt::format("{}: parameter {}", source, name);
  const Json root = parse_python_json(text, place);
  const auto kind = json_get<std::string>(root, "name", place);
  const Json attributes = json_get<Json>(root, "attributes", place);
  const auto real = [&](const char* step, bool log) {
    const bool stepped = attributes.contains(step) && !attributes.at(step).is_null();
    return real_distribution(name, json_get<double>(attributes, "low", place),
                             json_get<double>(attributes, "high", place),
                             stepped ? json_get<double>(attributes, step, place) : 0, log);
  };
  const auto integer = [&](bool log) {
    const bool stepped = !log && attributes.contains("step") && !attributes.at("step").is_null();
    const Json low = json_get<Json>(attributes, "low", place), high = json_get<Json>(attributes, "high", place),
               step = stepped ? attributes.at("step") : Json(1);
    if (is_beyond_exact(low) || is_beyond_exact(high)) return large_integers(name, low, high, step, log);
    return integer_distribution(name, json_get<int64_t>(attributes, "low", place),
                                json_get<int64_t>(attributes, "high", place),
                                stepped ? json_get<int64_t>(attributes, "step", place) : 1, log);
  };
  const auto logarithmic = [&] { return attributes.contains("log") && json_get<bool>(attributes, "log", place); };
  const auto categories = [&] {
    const Json choices = json_get<Json>(attributes, "choices", place);
    if (!choices.is_array()) fail("{}: choices are no list", place);
    check_choices_fit(choices, text, place);
    return category_distribution(name, {choices.begin(), choices.end()});
  };
  try {
    if (kind == "FloatDistribution") return real("step", logarithmic());
    if (kind == "IntDistribution") return integer(logarithmic());
    if (kind == "CategoricalDistribution") return categories();
    if (kind == "UniformDistribution") return real("step", false);
    if (kind == "LogUniformDistribution") return real("step", true);
    if (kind == "DiscreteUniformDistribution") return real("q", false);
    if (kind == "IntUniformDistribution") return integer(false);
    if (kind == "IntLogUniformDistribution") return integer(true);
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with(place)) throw;
    fail("{}: {}", source, e.what());
  }
  fail("{}: unknown distribution {}", place, kind);
}

DistributionPtr DistributionPool::get(const Distribution& distribution) {
  for (const auto& [text, known] : known_)
    if (*known == distribution) return known;
  return known_.emplace_back(distribution.json(), std::make_shared<const Distribution>(distribution)).second;
}

DistributionPtr DistributionPool::parse(std::string_view json, std::string_view name, const std::string& source) {
  for (size_t tried = 0; tried < known_.size(); ++tried) {
    if (next_ >= known_.size()) next_ = 0;
    const auto& [text, known] = known_[next_++];
    if (text == json) return known;
  }
  DistributionPtr same = get(parse_distribution(json, name, source));
  known_.emplace_back(json, same);
  return same;
}

void check_compatible(std::string_view name, const Distribution& before, const Distribution& now) {
  if (before.kind == now.kind && before.log == now.log && before.choices == now.choices) return;
  fail(
      "parameter {} was {} in this study and is {} now; its kind, scale and choices can't change within a study. "
      "Give the parameter another name, or start a study with another name",
      name, before.describe(), now.describe());
}

}  // namespace hone

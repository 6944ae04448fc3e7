#include "models/rope_scaling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "models/rotary.h"

namespace hone {
namespace {

constexpr char kTrained[] = "original_max_position_embeddings", kShare[] = "partial_rotary_factor";

// What the types read, by the key of the configuration that says it.
class Scaling {
 public:
  Scaling(const ModelConfig& config, double default_theta, const RotaryKeys& keys)
      : json_(Json::object()),
        source_(config.source()),
        keys_(keys),
        theta_(config.number_or(keys.theta, default_theta)),
        share_(keys.share ? config.number_or(keys.share, keys.default_share) : keys.default_share) {
    if (config.has("rope_parameters")) {
      take(config.json(), "rope_parameters");
      if (keys.layers) take(Json(json_), keys.layers);
    } else if (keys.scaling && config.has(keys.scaling)) {
      take(config.json(), keys.scaling);
    }
    if (scales_beyond_training() && config.has(kTrained)) json_[kTrained] = config.json().at(kTrained);
    theta_ = given("rope_theta") ? number("rope_theta") : theta_;
    if (!(theta_ > 1) || std::isinf(theta_))
      fail("{}: {} is {}; accepted: a number above 1", config.source(), keys.theta, theta_);
    share_ = keys.share && given(kShare) ? number(kShare) : share_;
    if (!(share_ > 0 && share_ <= 1))
      fail("{}: {} is {}; accepted: a number above 0, at most 1", source_, kShare, share_);
  }

  const Json& json() const { return json_; }
  const std::string& source() const { return source_; }
  const RotaryKeys& keys() const { return keys_; }
  double theta() const { return theta_; }
  double share() const { return share_; }  // of a head, that turns

  std::string type() const {
    for (const char* key : {"rope_type", "type"})
      if (given(key)) return json_get<std::string>(json_, key, source_);
    return "default";
  }

  bool given(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  double positive(const char* key) const {
    const double value = number(key);
    if (!(value > 0) || std::isinf(value)) fail("{}: {} is {}; accepted: a number above 0", source_, key, value);
    return value;
  }
  double positive_or(const char* key, double fallback) const { return given(key) ? positive(key) : fallback; }

 private:
  double number(const char* key) const { return json_get<double>(json_, key, source_); }

  void take(const Json& object, const char* key) {
    json_ = json_get<Json>(object, key, source_);
    source_ += fmt::format(": {}", key);
    if (!json_.is_object()) fail("{} is {}; accepted: an object", source_, json_excerpt(json_));
  }

  // Types that know the trained length: some files have it beside their parameters.
  bool scales_beyond_training() const { return type() != "default" && type() != "linear"; }

  Json json_;
  std::string source_;
  RotaryKeys keys_;
  double theta_, share_;
};

void scale_linearly(RotaryAngles& angles, const Scaling& scaling, double) {
  for (double& frequency : angles.frequencies) frequency /= scaling.positive("factor");
}

// Long waves are stretched, short ones stay, and those between are a mean of both. Grattafiori et al., "The Llama 3
// Herd of Models" (2024).
void scale_llama3(RotaryAngles& angles, const Scaling& scaling, double) {
  const double factor = scaling.positive("factor"), low = scaling.positive("low_freq_factor"),
               high = scaling.positive("high_freq_factor"), trained = scaling.positive(kTrained);
  if (!(high > low))
    fail("{}: high_freq_factor is {} and low_freq_factor {}; accepted: the former above the latter", scaling.source(),
         high, low);
  for (double& frequency : angles.frequencies) {
    const double turns = trained * frequency / (2 * std::numbers::pi);  // within the trained length
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    frequency *= kept + (1 - kept) / factor;
  }
}

double yarn_magnitude(double factor, double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; }

// Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models" (2023).
void scale_yarn(RotaryAngles& angles, const Scaling& scaling, double context) {
  const double trained = scaling.positive_or(kTrained, context);
  const double factor = scaling.positive_or("factor", context / trained);
  const double columns = 2 * static_cast<double>(angles.frequencies.size());
  // The column whose pair turns so often within the trained length.
  const auto column = [&](double turns) {
    return columns * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(scaling.theta()));
  };
  double low = column(scaling.positive_or("beta_fast", 32)), high = column(scaling.positive_or("beta_slow", 1));
  const bool truncate = !scaling.given("truncate") || json_get<bool>(scaling.json(), "truncate", scaling.source());
  if (truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, columns - 1);
  if (low == high) high += 0.001;
  for (size_t i = 0; i < angles.frequencies.size(); ++i) {
    const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    angles.frequencies[i] *= 1 - stretched + stretched / factor;
  }
  if (scaling.given("attention_factor")) angles.factor = scaling.positive("attention_factor");
  else if (scaling.given("mscale") && scaling.given("mscale_all_dim"))
    angles.factor =
        yarn_magnitude(factor, scaling.positive("mscale")) / yarn_magnitude(factor, scaling.positive("mscale_all_dim"));
  else angles.factor = yarn_magnitude(factor, 1);
}

std::vector<double> divisors_of(const Scaling& scaling, const char* key, size_t count) {
  const auto divisors = json_get<std::vector<double>>(scaling.json(), key, scaling.source());
  if (divisors.size() != count)
    fail("{}: {} has {} numbers; accepted: {}, one for each pair of columns that turn", scaling.source(), key,
         divisors.size(), count);
  for (const double divisor : divisors)
    if (!(divisor > 0) || std::isinf(divisor))
      fail("{}: {} has {}; accepted: numbers above 0", scaling.source(), key, divisor);
  return divisors;
}

// Each frequency has a divisor. Where those of short and of long texts differ, a text that grows would change what
// stands before: long ones are left out, or such lists are refused.
void scale_by_divisors(RotaryAngles& angles, const Scaling& scaling, double context) {
  const size_t count = angles.frequencies.size();
  const std::vector<double> of_long = divisors_of(scaling, "long_factor", count),
                            divisors = divisors_of(scaling, "short_factor", count);
  const double trained = scaling.positive_or(kTrained, context);
  if (divisors != of_long && !scaling.keys().takes_short)
    fail("{}: short_factor and long_factor differ; accepted: the same list, which holds for texts of any length",
         scaling.source());
  if (divisors != of_long && trained < context) angles.context = std::max<int64_t>(1, static_cast<int64_t>(trained));
  for (size_t i = 0; i < count; ++i) angles.frequencies[i] /= divisors[i];
  const double factor = scaling.positive_or("factor", context / trained);
  angles.factor =
      scaling.positive_or("attention_factor", factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(trained)));
}

constexpr Setting kUnscaled[] = {{"factor", "1 | 1.0"}};
constexpr Setting kLinear[] = {{"factor"}};
constexpr Setting kLlama3[] = {
    {"factor"}, {"low_freq_factor"}, {"high_freq_factor"}, {"original_max_position_embeddings"}};
constexpr Setting kYarn[] = {{"factor"},    {"original_max_position_embeddings"},
                             {"beta_fast"}, {"beta_slow"},
                             {"truncate"},  {"attention_factor"},
                             {"mscale"},    {"mscale_all_dim"}};
constexpr Setting kDivisors[] = {
    {"factor"}, {"original_max_position_embeddings"}, {"short_factor"}, {"long_factor"}, {"attention_factor"}};

struct ScalingType {
  const char* name;
  std::span<const Setting> settings;
  void (*scale)(RotaryAngles& angles, const Scaling& scaling, double context);
};
constexpr ScalingType kTypes[] = {{"default", kUnscaled, [](RotaryAngles&, const Scaling&, double) {}},
                                  {"linear", kLinear, scale_linearly},
                                  {"llama3", kLlama3, scale_llama3},
                                  {"yarn", kYarn, scale_yarn},
                                  {"longrope", kDivisors, scale_by_divisors},
                                  {"su", kDivisors, scale_by_divisors}};  // longrope in older files

const ScalingType& type_of(const Scaling& scaling) {
  const std::string type = scaling.type();
  std::vector<std::string> names;
  for (const ScalingType& known : kTypes) {
    if (type == known.name) return known;
    names.emplace_back(known.name);
  }
  fail("{}: type \"{}\" is not known; accepted: {}{}", scaling.source(), type, fmt::join(names, ", "),
       did_you_mean(type, names));
}

}  // namespace

RotaryAngles rotary_angles(const ModelConfig& config, int64_t columns, double default_theta, const RotaryKeys& keys) {
  constexpr int64_t kMostColumns = 65536;
  const Scaling scaling(config, default_theta, keys);
  const auto turned = static_cast<int64_t>(static_cast<double>(columns) * scaling.share());
  if (turned < 2 || turned % 2 != 0 || columns > kMostColumns)
    fail("{}: heads have {} columns, of which {} turn; accepted: up to {} columns, of which an even number turns",
         config.source(), columns, turned, kMostColumns);
  const ScalingType& type = type_of(scaling);
  std::vector<Setting> known(type.settings.begin(), type.settings.end());
  for (const char* key : {"rope_type", "type", "rope_theta"}) known.push_back({key});
  known.push_back({kShare, keys.share ? "" : "1 | 1.0"});
  check_settings(scaling.json(), known, scaling.source());
  RotaryAngles angles{.frequencies = rotary_frequencies(turned, scaling.theta())};
  type.scale(angles, scaling, static_cast<double>(config.size("max_position_embeddings")));
  return angles;
}

}  // namespace hone

#include "ship/promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

// The number at the start of the text, and what follows it.
std::optional<double> leading_number(const std::string& text, std::string& rest) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  rest = std::string(trim(std::string_view(end, text.data() + text.size())));
  return number;
}

LatencyPromise parse_latency(const std::string& text) {
  std::string unit;
  const std::optional<double> number = leading_number(text, unit);
  if (!number || *number <= 0 || (unit != "ms" && unit != "s" && unit != "x"))
    fail("--max-latency {}: expected a time such as 5ms, or a share of the original's time such as 0.7x", text);
  return {*number * (unit == "s" ? 1000 : 1), unit == "x"};
}

double parse_metric_value(const std::string& text) {
  std::string unit;
  const std::optional<double> number = leading_number(text, unit);
  if (!number || (!unit.empty() && unit != "%"))
    fail("--min-metric {}: expected a number in the metric's own units, such as 0.91 or 91%", text);
  return *number / (unit == "%" ? 100 : 1);
}

}  // namespace

Promises parse_promises(const std::string& max_size, const std::string& max_latency, const std::string& max_drop,
                        const std::string& min_metric) {
  Promises promises;
  if (!max_size.empty()) {
    promises.max_bytes = parse_bytes(max_size);
    if (!promises.max_bytes)
      fail("--max-size {}: expected a size such as 2MB (B, kB, MB, GB, KiB, MiB or GiB)", max_size);
  }
  if (!max_latency.empty()) promises.max_latency = parse_latency(max_latency);
  if (!max_drop.empty()) promises.max_drop = parse_max_drop(max_drop);
  if (!min_metric.empty()) promises.min_metric = parse_metric_value(min_metric);
  return promises;
}

std::string to_string(const LatencyPromise& p) {
  return p.is_share ? fmt::format("{:g} of the original's time", p.value) : fmt::format("{:g} ms", p.value);
}

bool keeps(const LatencyPromise& promise, const Speed& speed) {
  return (promise.is_share ? speed.share_ci95.high : speed.ms_ci95.high) <= promise.value;
}

Loss loss_of(const AnswerQuality& quality, const FigureKind& kind) {
  if (!quality.difference) return {};
  const double sign = kind.larger_is_better ? -1 : 1;
  Loss loss{.value = sign * quality.difference->value};
  loss.at_most = loss.value;
  if (const auto& ci = quality.difference->ci95) {
    loss.has_interval = true;
    loss.at_most = std::max(sign * ci->low, sign * ci->high);
  }
  return loss;
}

bool keeps_quality(const Promises& promises, const AnswerQuality& quality, const AnswerQuality& original,
                   const std::optional<FigureKind>& kind) {
  if (promises.max_error && !(quality.error <= *promises.max_error)) return false;
  if (!promises.max_drop && !promises.min_metric) return true;
  if (!kind || !quality.figure || std::isnan(quality.figure->value)) return false;
  const Loss loss = loss_of(quality, *kind);
  const double by_chance = promises.assumed || kind->follows_original ? 0 : (loss.at_most - loss.value) / 2;
  return loss.value + by_chance <= allowed_loss(promises, original, *kind) + 1e-12;
}

double allowed_loss(const Promises& promises, const AnswerQuality& original, const FigureKind& kind) {
  double allowed = INFINITY;
  const double before = original.figure ? original.figure->value : NAN;
  if (promises.max_drop) allowed = promises.max_drop->of(before, kind.is_share);
  if (promises.min_metric)
    allowed = std::min(allowed, kind.larger_is_better ? before - *promises.min_metric : *promises.min_metric - before);
  return allowed;
}

}  // namespace hone

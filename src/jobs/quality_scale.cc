#include "jobs/quality_scale.h"

#include <algorithm>
#include <cmath>

namespace hone {

std::string QualityScale::key() const {
  std::string key = metric ? metric->name() : "accuracy";
  std::ranges::replace(key, '@', '_');
  return key;
}

double QualityScale::quality(const OutputDistance& distance) const {
  return distance.figure ? distance.figure->value : bounded_decibels(distance.error);
}

bool QualityScale::is_better(const OutputDistance& a, const OutputDistance& b) const {
  const double p = quality(a), q = quality(b);
  if (std::isnan(p) || std::isnan(q)) return !std::isnan(p);
  return larger_is_better() ? p > q : p < q;
}

Shown QualityScale::shown(const OutputDistance& a, const OutputDistance& b) const {
  if (a.difference && b.difference) return shown_apart(a.difference->ci95, b.difference->ci95);  // on the same samples
  if (a.figure && b.figure) return shown_apart(a.figure->ci95, b.figure->ci95);
  return shown_apart(b.error_ci95, a.error_ci95);  // of errors the smaller one has the larger SQNR
}

double QualityScale::loss(const OutputDistance& d) const {
  if (!d.figure) return d.error;
  if (std::isnan(d.figure->value)) return INFINITY;
  return larger_is_better() ? 1 - d.figure->value : d.figure->value;
}

std::string QualityScale::loss_name() const {
  if (!metric) return "output error";
  if (metric->name() == "accuracy") return "share of wrong rows";
  return larger_is_better() ? "1 - " + metric->title() : metric->title();
}

double decibels(double error) { return -10 * std::log10(error); }

double bounded_decibels(double error) {
  constexpr double kExact = 200;
  return error > 0 ? std::min(decibels(error), kExact) : kExact;
}

}  // namespace hone

#include "ship/measured.h"

#include <cmath>

namespace hone {
namespace {

constexpr double kMissing = INFINITY;

double finite_or_none(double value) { return std::isfinite(value) ? value : kMissing; }

std::optional<Interval> interval_of(double low, double high) {
  return low == kMissing || high == kMissing ? std::nullopt : std::optional(Interval{low, high});
}

}  // namespace

MeasuredValues values_of(const AnswerQuality& q, const Speed& s) {
  constexpr Interval kNone{kMissing, kMissing};
  const Interval figure_ci = q.figure ? q.figure->ci95.value_or(kNone) : kNone;
  const Interval difference_ci = q.difference ? q.difference->ci95.value_or(kNone) : kNone;
  return {q.figure ? finite_or_none(q.figure->value) : kMissing,
          finite_or_none(figure_ci.low),
          finite_or_none(figure_ci.high),
          q.figure ? static_cast<double>(q.figure->samples) : kMissing,
          q.difference ? finite_or_none(q.difference->value) : kMissing,
          finite_or_none(difference_ci.low),
          finite_or_none(difference_ci.high),
          finite_or_none(q.error),
          finite_or_none(q.loss),
          s.ms,
          s.original_ms,
          finite_or_none(s.ms_ci95.low),
          finite_or_none(s.ms_ci95.high),
          finite_or_none(s.share_ci95.low),
          finite_or_none(s.share_ci95.high)};
}

AnswerQuality quality_of(const MeasuredValues& v, bool has_figure) {
  AnswerQuality q{.error = v[7], .loss = v[8]};
  if (!has_figure) return q;
  q.figure = Estimate{.value = v[0] == kMissing ? NAN : v[0], .ci95 = interval_of(v[1], v[2])};
  q.figure->samples = q.figure->counted = v[3] == kMissing ? 0 : static_cast<int64_t>(v[3]);
  q.difference = Difference{.value = v[4] == kMissing ? NAN : v[4], .ci95 = interval_of(v[5], v[6])};
  return q;
}

Speed speed_of(const MeasuredValues& v) {
  const auto bounds = [](double low, double high) { return Interval{low == kMissing ? 0 : low, high}; };
  return {.ms = v[9],
          .original_ms = v[10],
          .ms_ci95 = bounds(v[11], v[12]),
          .share = v[9] / v[10],
          .share_ci95 = bounds(v[13], v[14])};
}

}  // namespace hone

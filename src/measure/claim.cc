#include "measure/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

// Enough digits that a bound next to 1 does not print as 1.
int digits_for(double bound) {
  int digits = 2;
  for (double step = 0.01; digits < 6 && std::abs(bound - 1) < step; step /= 10) ++digits;
  return digits;
}

std::string sentence(double value, double low, double high, const char* word) {
  const int digits = digits_for(low);
  return fmt::format("{:.{}f}x {} ({:.{}f}-{:.{}f})", value, digits, word, low, digits, high, digits);
}

}  // namespace

Shown shown(const std::optional<Interval>& ci95, double alike) {
  if (!ci95) return Shown::nothing;
  return ci95->high < alike ? Shown::below : ci95->low > alike ? Shown::above : Shown::nothing;
}

Shown shown_apart(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  if (!a || !b) return Shown::nothing;
  return a->high < b->low ? Shown::below : a->low > b->high ? Shown::above : Shown::nothing;
}

std::string verdict(const Ratio& ratio) {
  if (ratio.rounds < kFewestForInterval)
    return fmt::format("no difference shown ({} rounds; {} are the fewest that give a 95 % interval)", ratio.rounds,
                       kFewestForInterval);
  if (!std::isfinite(ratio.ci95.low))
    return fmt::format("no difference shown ({} rounds so alike that they are worth fewer than {})", ratio.rounds,
                       kFewestForInterval);
  switch (shown(ratio.ci95, 1)) {
    case Shown::above:
      return sentence(ratio.value, ratio.ci95.low, ratio.ci95.high, "faster");
    case Shown::below:
      return sentence(1 / ratio.value, 1 / ratio.ci95.high, 1 / ratio.ci95.low, "slower");
    case Shown::nothing:
      break;
  }
  return fmt::format("no difference shown ({:.2f}-{:.2f})", ratio.ci95.low, ratio.ci95.high);
}

std::string verdict(const Difference& d, const FigureSense& kind) {
  const auto text = [&](double x) { return kind.is_share ? fmt::format("{:.2f}", 100 * x) : fmt::format("{:.3g}", x); };
  const std::string unit = kind.is_share ? " points" : "";
  if (!d.ci95) return fmt::format("difference {}{}", text(d.value), unit);
  const Shown side = shown(d.ci95, 0);
  if (side == Shown::nothing)
    return fmt::format("no difference shown ({} to {}{})", text(d.ci95->low), text(d.ci95->high), unit);
  const double least = std::min(std::abs(d.ci95->low), std::abs(d.ci95->high)),
               most = std::max(std::abs(d.ci95->low), std::abs(d.ci95->high));
  return fmt::format("{}{} {} ({}-{}), which is {}", text(std::abs(d.value)), unit,
                     side == Shown::below ? "lower" : "higher", text(least), text(most),
                     (side == Shown::above) == kind.larger_is_better ? "better" : "worse");
}

void Tally::add(Shown shown, bool larger_is_better) {
  if (shown == Shown::nothing) ++level;
  else if ((shown == Shown::above) == larger_is_better) ++better;
  else ++worse;
}

std::string verdict(const Tally& tally) {
  const int all = tally.better + tally.worse + tally.level;
  if (tally.level == all) return fmt::format("no difference shown in any of {}", all);
  return fmt::format("better in {} of {}, worse in {}, no difference shown in {}", tally.better, all, tally.worse,
                     tally.level);
}

}  // namespace hone

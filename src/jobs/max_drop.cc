#include "jobs/max_drop.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace hone {

double MaxDrop::of(double original, bool is_share) const {
  return percent ? value / 100 * (is_share ? 1 : std::abs(original)) : value;
}

MaxDrop parse_max_drop(const std::string& text) {
  MaxDrop drop{.percent = text.ends_with('%')};
  const char *begin = text.data(), *end = begin + text.size() - (drop.percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, end, drop.value);
  if (error != std::errc() || stop != end || !(drop.value >= 0) || !std::isfinite(drop.value))
    fail(
        "\"{}\" is no drop; a number of at least 0 is expected, as in 0.5% (points of a share, of other metrics a part "
        "of the original's value) or 0.01 (the metric's own numbers)",
        text);
  return drop;
}

std::string to_string(const MaxDrop& drop) { return fmt::format("{:g}{}", drop.value, drop.percent ? "%" : ""); }

}  // namespace hone

#include "base/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace hone {

std::optional<double> parse_seconds(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = trim({end, static_cast<size_t>(text.data() + text.size() - end)});
  for (const Unit& known : kUnits)
    if (error == std::errc() && unit == known.name && std::isfinite(number) && number > 0)
      return std::min(number * known.seconds, 1e9);
  return std::nullopt;
}

std::string duration_text(double seconds) {
  if (seconds < 0.0995) return fmt::format("{:.2g} ms", 1e3 * seconds);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace hone

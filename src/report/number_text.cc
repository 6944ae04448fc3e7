#include "report/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hone {
namespace {

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), 1, ',');
  return value < 0 && digits != "0" ? "-" + digits : digits;
}

// Plain decimals while they are short, powers of ten beyond.
std::string significant(double value, int digits) {
  if (value == 0) return "0";
  // The exponent after rounding: 9.996 with three digits is 10.0.
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent > 8) return scientific;
  const int decimals = digits - 1 - exponent;
  return decimals > 0 ? fmt::format("{:.{}f}", value, decimals) : grouped(value);
}

}  // namespace

std::string number_text(double value, const NumberStyle& style) {
  if (std::isnan(value)) return "n/a";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  switch (style.format) {
    case NumberFormat::fixed:
      return fmt::format("{:.{}f}", value, style.digits);
    case NumberFormat::integer:
      return grouped(value);
    case NumberFormat::bytes:
      return value < 0 ? "-" + human_bytes(-value) : human_bytes(value);
    case NumberFormat::percent:
      return fmt::format("{:.{}f} %", 100 * value, style.digits);
    case NumberFormat::significant:
      break;
  }
  return significant(value, std::max(1, style.digits));
}

std::string cell_text(const Cell& cell, const NumberStyle& style) {
  if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
  const Number* number = std::get_if<Number>(&cell);
  if (!number) return "-";
  const std::string value = number_text(number->value, style);
  if (!number->interval) return value;
  return fmt::format("{} ({}-{})", value, number_text(number->interval->low, style),
                     number_text(number->interval->high, style));
}

std::string title_with_unit(const std::string& title, const std::string& unit) {
  return unit.empty() ? title : fmt::format("{} ({})", title, unit);
}

}  // namespace hone

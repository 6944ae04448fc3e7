#include "jobs/budget.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "jobs/max_drop.h"

namespace hone {
namespace {

constexpr const char* kAccepted =
    "avg-bits=4.5, bytes=12MB (B, kB, MB, GB, KiB, MiB or GiB), latency=0.7x (of the original's time), latency=12ms "
    "or drop=0.5%";

struct Quantity {
  double number;
  std::string unit;
};

Quantity parse_quantity(const std::string& text, const std::string& value) {
  Quantity quantity{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), quantity.number);
  if (error != std::errc() || !std::isfinite(quantity.number) || quantity.number <= 0)
    fail("budget \"{}\": \"{}\" is no number above 0; give {}", text, value, kAccepted);
  quantity.unit = std::string(trim(std::string_view(end, value.data() + value.size())));
  return quantity;
}

}  // namespace

Budget parse_budget(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) fail("budget \"{}\": give {}", text, kAccepted);
  const std::string what = text.substr(0, equals);
  if (what == "drop") {
    const MaxDrop drop = parse_max_drop(text.substr(equals + 1));
    return {Budget::Kind::drop, drop.value, drop.percent};
  }
  const Quantity quantity = parse_quantity(text, text.substr(equals + 1));
  const auto refuse_unit = [&]() {
    fail("budget \"{}\": unknown unit \"{}\"; give {}", text, quantity.unit, kAccepted);
  };
  if (what == "avg-bits") {
    if (!quantity.unit.empty()) refuse_unit();
    return {Budget::Kind::average_bits, quantity.number, false};
  }
  if (what == "bytes") {
    if (const auto bytes = parse_bytes(text.substr(equals + 1))) return {Budget::Kind::bytes, *bytes, false};
    refuse_unit();
  }
  if (what != "latency") fail("budget \"{}\": unknown quantity {}; give {}", text, what, kAccepted);
  if (quantity.unit != "x" && quantity.unit != "ms") refuse_unit();
  return {Budget::Kind::latency, quantity.number, quantity.unit == "x"};
}

std::string to_string(const Budget& budget) {
  switch (budget.kind) {
    case Budget::Kind::average_bits:
      return fmt::format("{:g} bits per element", budget.value);
    case Budget::Kind::bytes:
      return human_bytes(budget.value);
    case Budget::Kind::drop:
      return fmt::format("a drop of {}", to_string(MaxDrop{budget.value, budget.is_relative}));
    case Budget::Kind::latency:
      break;
  }
  return budget.is_relative ? fmt::format("{:g} of the original's time", budget.value)
                            : fmt::format("{:g} ms", budget.value);
}

}  // namespace hone

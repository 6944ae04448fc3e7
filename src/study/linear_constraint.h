// An inequality between a space's parameters: "2*depth + width <= 64".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hone {

struct LinearConstraint {
  struct Term {
    double factor = 1;
    std::string parameter;
  };
  std::string text;
  std::vector<Term> terms;  // their sum is at most `limit`
  double limit = 0;

  // By how much it is violated, 0 when it holds. `value` gives a parameter's number, or nothing where it has none, for
  // which the constraint does not count.
  double violation(const std::function<std::optional<double>(const std::string&)>& value) const;
};

// Sums of [number *] name and numbers, on both sides of <= or >=. Names of letters, digits, "_", "." and ":"; others
// stand between single quotes. Throws Error with the place.
LinearConstraint parse_linear_constraint(const std::string& text);

}  // namespace hone

#include "study/linear_constraint.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.h"

namespace hone {
namespace {

struct Side {
  std::vector<LinearConstraint::Term> terms;
  double constant = 0;
};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text), rest_(text) {}

  LinearConstraint parse() {
    Side left = side();
    const bool at_most = take("<=");
    if (!at_most && !take(">=")) expected("+, -, <= or >=");
    Side right = side();
    if (!rest_.empty()) expected("the end");
    if (!at_most) std::swap(left, right);
    LinearConstraint result{text_, std::move(left.terms), right.constant - left.constant};
    for (auto& [factor, name] : right.terms) result.terms.push_back({-factor, std::move(name)});
    if (result.terms.empty()) fail("constraint \"{}\": names no parameter", text_);
    return result;
  }

 private:
  void skip() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip();
    return true;
  }
  [[noreturn]] void expected(const char* what) const {
    fail("constraint \"{}\": expected {} at \"{}\"; accepted are sums such as \"2*depth + width <= 64\"", text_, what,
         rest_);
  }

  std::optional<double> number() {
    skip();
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !std::isfinite(value) || end == rest_.data() ||
        std::isalpha(static_cast<unsigned char>(rest_[0])))
      return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  std::optional<std::string> name() {
    skip();
    size_t n = 0;
    if (rest_.starts_with('\'')) {
      n = rest_.find('\'', 1);
      if (n == rest_.npos) expected("a closing '");
      std::string quoted(rest_.substr(1, n - 1));
      rest_.remove_prefix(n + 1);
      return quoted;
    }
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_' ||
                                rest_[n] == '.' || rest_[n] == ':'))
      ++n;
    if (n == 0) return std::nullopt;
    std::string plain(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return plain;
  }

  Side side() {
    Side sum;
    double sign = take("-") ? -1 : 1;
    for (;;) {
      const std::optional<double> factor = number();
      if (!factor || take("*")) {
        std::optional<std::string> parameter = name();
        if (!parameter) expected("a number or a parameter");
        sum.terms.push_back({sign * factor.value_or(1), std::move(*parameter)});
      } else {
        sum.constant += sign * *factor;
      }
      if (take("+")) sign = 1;
      else if (take("-")) sign = -1;
      else return sum;
    }
  }

  const std::string& text_;
  std::string_view rest_;
};

}  // namespace

double LinearConstraint::violation(const std::function<std::optional<double>(const std::string&)>& value) const {
  double sum = 0, size = std::abs(limit);
  for (const Term& term : terms) {
    const std::optional<double> number = value(term.parameter);
    if (!number) return 0;
    sum += term.factor * *number;
    size += std::abs(term.factor * *number);
  }
  const double excess = sum - limit;
  return excess > 1e-12 * size ? excess : 0;  // rounding of the sum itself is no violation
}

LinearConstraint parse_linear_constraint(const std::string& text) { return Parser(text).parse(); }

}  // namespace hone

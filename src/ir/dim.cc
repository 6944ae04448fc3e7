#include "ir/dim.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "ir/dim_parse.h"

namespace hone {
namespace {

const std::string kUnknown = "?";  // no name of a symbol

using Monomial = std::vector<std::string>;

Monomial merge(const Monomial& a, const Monomial& b) {
  Monomial merged;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  return merged;
}

bool divides(const Monomial& b, const Monomial& a) { return std::includes(a.begin(), a.end(), b.begin(), b.end()); }

// By degree, then lexicographically: compatible with multiplication, so that polynomial division ends.
bool lower(const Monomial& a, const Monomial& b) { return a.size() != b.size() ? a.size() < b.size() : b < a; }

// What a polynomial may grow to: shapes of real models have a handful of terms, a hostile file multiplies them until
// nothing ends. Quotients are texts of polynomials within texts, which are parsed again: that is bounded with them.
constexpr size_t kMostTerms = 128, kMostCharacters = 4096;
constexpr int kMostNested = 60;  // parentheses: below the depth that Dim::parse takes

int nesting(const std::string& factor) {
  int depth = 0, most = 0;
  for (char c : factor) most = std::max(most, depth += (c == '(') - (c == ')'));
  return most;
}

[[noreturn]] void too_large() {
  fail("a dimension is a polynomial of more than {} terms or {} characters; accepted: smaller ones", kMostTerms,
       kMostCharacters);
}

void expect_small(const std::map<Monomial, int64_t>& terms) {
  if (terms.size() > kMostTerms) too_large();
  size_t characters = 0;
  for (const auto& [factors, coefficient] : terms)
    for (const std::string& factor : factors) characters += factor.size();
  if (characters > kMostCharacters) too_large();
}

// Whether b goes into a without rest, both coefficients.
bool goes_into(int64_t b, int64_t a) { return b == -1 || a % b == 0; }

bool is_quotient(const std::string& factor) { return factor.front() == '('; }

// The two sides of "(a)/(b)".
std::pair<std::string, std::string> sides(const std::string& factor) {
  int depth = 0;
  size_t end = 0;
  do {
    depth += (factor[end] == '(') - (factor[end] == ')');
    ++end;
  } while (depth > 0);
  return {factor.substr(1, end - 2), factor.substr(end + 2, factor.size() - end - 3)};
}

std::string in_parentheses(const std::string& text) {
  const bool atomic = text.find_first_of("+-*/(") == std::string::npos;
  return atomic ? text : "(" + text + ")";
}

std::string factor_text(const std::string& factor) {
  if (!is_quotient(factor)) return factor;
  const auto [a, b] = sides(factor);
  return in_parentheses(a) + "/" + in_parentheses(b);
}

// A quotient stands without parentheses only where it is the whole term: -(S/2) is not (-S)/2.
std::string term_text(const Monomial& factors, int64_t coefficient) {
  const bool one = coefficient == 1 || coefficient == -1;
  std::string text = factors.empty() || !one ? std::to_string(coefficient) : coefficient < 0 ? "-" : "";
  const bool alone = factors.size() == 1 && coefficient == 1;
  for (const std::string& factor : factors) {
    if (!text.empty() && text != "-") text += '*';
    text += alone ? factor_text(factor) : in_parentheses(factor_text(factor));
  }
  return text;
}

}  // namespace

Dim::Dim(int64_t constant) {
  if (constant != 0) terms_[{}] = constant;
}

Dim Dim::symbol(std::string_view name) {
  CHECK(is_symbol_name(name), "not a symbol name: {}", name);
  Dim dim;
  dim.terms_[{std::string(name)}] = 1;
  return dim;
}

Dim Dim::unknown() {
  Dim dim;
  dim.terms_[{kUnknown}] = 1;
  return dim;
}

bool Dim::is_unknown() const { return terms_.contains({kUnknown}); }

bool Dim::is_symbol() const {
  return terms_.size() == 1 && terms_.begin()->second == 1 && terms_.begin()->first.size() == 1 &&
         !is_quotient(terms_.begin()->first[0]);
}

bool Dim::is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty()); }

int64_t Dim::constant() const {
  if (!is_constant()) fail("the dimension {} has no value where one is needed", to_string());
  return terms_.empty() ? 0 : terms_.begin()->second;
}

std::string Dim::to_string() const {
  std::string text;
  auto append = [&](const Monomial& factors, int64_t coefficient) {
    if (coefficient > 0 && !text.empty()) text += '+';
    text += term_text(factors, coefficient);
  };
  for (const auto& [factors, coefficient] : terms_)
    if (!factors.empty()) append(factors, coefficient);
  if (const auto constant = terms_.find({}); constant != terms_.end()) append({}, constant->second);
  return text.empty() ? "0" : text;
}

int64_t Dim::evaluate(const Bindings& bindings) const {
  const Dim bound = substitute(bindings);
  if (bound.is_constant()) return bound.constant();
  std::vector<std::string> unbound;
  bound.collect_symbols(unbound);
  fail("dimension {}: symbol {} has no value", to_string(), unbound.front());
}

Dim Dim::substitute(const Bindings& bindings) const {
  Dim sum;
  for (const auto& [factors, coefficient] : terms_) {
    Dim product = coefficient;
    for (const std::string& factor : factors) {
      if (is_quotient(factor)) {
        const auto [a, b] = sides(factor);
        product = product * floordiv(parse(a).substitute(bindings), parse(b).substitute(bindings));
      } else {
        const auto bound = bindings.find(factor);
        product = product * (bound != bindings.end() ? Dim(bound->second)
                             : factor == kUnknown    ? unknown()
                                                     : symbol(factor));
      }
    }
    sum = sum + product;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& names) const {
  for (const auto& [factors, coefficient] : terms_) {
    for (const std::string& factor : factors) {
      if (is_quotient(factor)) {
        const auto [a, b] = sides(factor);
        parse(a).collect_symbols(names);
        parse(b).collect_symbols(names);
      } else if (std::find(names.begin(), names.end(), factor) == names.end()) {
        names.push_back(factor);
      }
    }
  }
}

// Of one factor that is not negative and grows with every symbol; none of another.
std::optional<int64_t> Dim::least_of_factor(const std::string& factor) {
  if (!is_quotient(factor)) return factor.front() == '_' ? 0 : 1;
  const auto [a, b] = sides(factor);
  const std::optional<int64_t> least = parse(a).least();
  const Dim divisor = parse(b);
  if (!least || *least < 0 || !divisor.is_constant()) return std::nullopt;
  return checked_floor_div(*least, divisor.constant());
}

std::optional<int64_t> Dim::least() const {
  if (is_unknown()) return std::nullopt;
  int64_t sum = 0;
  for (const auto& [factors, coefficient] : terms_) {
    if (!factors.empty() && coefficient < 0) return std::nullopt;
    int64_t product = coefficient;
    for (const std::string& factor : factors) {
      const std::optional<int64_t> least = least_of_factor(factor);
      if (!least) return std::nullopt;
      product = checked_mul(product, *least);
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  Dim sum = a;
  for (const auto& [factors, coefficient] : b.terms_) {
    int64_t& term = sum.terms_[factors];
    term = checked_add(term, coefficient);
    if (term == 0) sum.terms_.erase(factors);
  }
  expect_small(sum.terms_);
  return sum;
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  Dim product;
  for (const auto& [fa, ca] : a.terms_) {
    for (const auto& [fb, cb] : b.terms_) {
      int64_t& term = product.terms_[merge(fa, fb)];
      term = checked_add(term, checked_mul(ca, cb));
    }
    expect_small(product.terms_);
  }
  std::erase_if(product.terms_, [](const auto& term) { return term.second == 0; });
  return product;
}

Dim floordiv(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (b.is_constant() && b.constant() == 0) fail("dimension {} is divided by zero", a.to_string());
  if (a.is_constant() && b.is_constant()) return checked_floor_div(a.constant(), b.constant());
  if (b.is_constant() && b.constant() < 0) return floordiv(Dim(-1) * a, Dim(-1) * b);

  // a = b * quotient + rest. A constant divisor takes its multiples out of every term; another one must divide exactly.
  Dim quotient, rest;
  if (b.is_constant()) {
    const int64_t divisor = b.constant();
    for (const auto& [factors, coefficient] : a.terms_) {
      const int64_t part = (coefficient % divisor + divisor) % divisor, whole = checked_floor_div(coefficient, divisor);
      if (whole != 0) quotient.terms_[factors] = whole;
      if (part != 0) rest.terms_[factors] = part;
    }
    if (rest.is_constant()) return quotient;  // 0 <= rest < divisor
  } else {
    const auto by_order = [](const auto& x, const auto& y) { return lower(x.first, y.first); };
    const auto lead = *std::max_element(b.terms_.begin(), b.terms_.end(), by_order);
    for (rest = a; !rest.terms_.empty() && quotient.terms_.size() < kMostTerms;) {
      const auto top = *std::max_element(rest.terms_.begin(), rest.terms_.end(), by_order);
      if (!divides(lead.first, top.first) || !goes_into(lead.second, top.second)) break;
      Dim term;
      Monomial factors;
      std::set_difference(top.first.begin(), top.first.end(), lead.first.begin(), lead.first.end(),
                          std::back_inserter(factors));
      term.terms_[factors] = checked_floor_div(top.second, lead.second);
      quotient = quotient + term;
      rest = rest - term * b;
    }
    if (rest.terms_.empty()) return quotient;
    quotient = Dim(), rest = a;
  }
  std::string text = "(" + rest.to_string() + ")/(" + b.to_string() + ")";
  if (text.size() > kMostCharacters || nesting(text) > kMostNested) too_large();
  Dim fraction;
  fraction.terms_[{std::move(text)}] = 1;
  return quotient + fraction;
}

}  // namespace hone

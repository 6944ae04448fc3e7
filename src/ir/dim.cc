#include "ir/dim.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/checked.h"
#include "base/error.h"
#include "ir/dim_parse.h"

namespace hone {

// A symbol, or a quotient of two dimensions that is none itself.
struct Dim::Factor {
  std::string text;  // "S", "(a)/(b)": decides the order of factors
  Dim dividend, divisor;
  bool is_quotient() const { return text.front() == '('; }
};

namespace {

using Factor = Dim::Factor;
using FactorPtr = std::shared_ptr<const Factor>;
using Monomial = Dim::Monomial;
using Terms = Dim::Terms;

constexpr std::string_view kUnknown = "?";  // no name of a symbol

// Every factor that a dimension has at this moment, once: equal factors have equal addresses.
class Interned {
 public:
  static FactorPtr get(std::string text, const Dim& dividend = 0, const Dim& divisor = 0) {
    Interned& all = instance();
    FactorPtr made(new Factor{std::move(text), dividend, divisor},
                   forget);  // dropped, when not needed, without the lock
    const std::lock_guard lock(all.mutex_);
    std::weak_ptr<const Factor>& entry = all.factors_[made->text];
    if (FactorPtr found = entry.lock()) return found;
    entry = made;
    return made;
  }

 private:
  // Never destroyed: dimensions in other static objects may outlive it.
  static Interned& instance() {
    static auto& all = *new Interned;
    return all;
  }
  static void forget(const Factor* factor) {
    Interned& all = instance();
    {
      const std::lock_guard lock(all.mutex_);
      const auto entry = all.factors_.find(factor->text);
      if (entry != all.factors_.end() && entry->second.expired()) all.factors_.erase(entry);
    }
    delete factor;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Factor>> factors_;
};

bool before(const FactorPtr& a, const FactorPtr& b) { return a != b && a->text < b->text; }

Monomial merge(const Monomial& a, const Monomial& b) {
  Monomial merged;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged), before);
  return merged;
}

bool divides(const Monomial& b, const Monomial& a) {
  return std::includes(a.begin(), a.end(), b.begin(), b.end(), before);
}

// By degree, then lexicographically: compatible with multiplication, so that polynomial division ends.
bool lower(const Monomial& a, const Monomial& b) {
  return a.size() != b.size() ? a.size() < b.size() : Dim::ByText()(b, a);
}

// What a polynomial may grow to: shapes of real models have a handful of terms, a hostile file multiplies them until
// nothing ends.
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

void expect_small(const Terms& terms) {
  if (terms.size() > kMostTerms) too_large();
  size_t characters = 0;
  for (const auto& [factors, coefficient] : terms)
    for (const FactorPtr& factor : factors) characters += factor->text.size();
  if (characters > kMostCharacters) too_large();
}

// Whether b goes into a without rest, both coefficients.
bool goes_into(int64_t b, int64_t a) { return b == -1 || a % b == 0; }

std::string in_parentheses(const std::string& text) {
  const bool atomic = text.find_first_of("+-*/(") == std::string::npos;
  return atomic ? text : "(" + text + ")";
}

std::string factor_text(const Factor& factor) {
  if (!factor.is_quotient()) return factor.text;
  return in_parentheses(factor.dividend.to_string()) + "/" + in_parentheses(factor.divisor.to_string());
}

// A quotient stands without parentheses only where it is the whole term: -(S/2) is not (-S)/2.
std::string term_text(const Monomial& factors, int64_t coefficient) {
  const bool one = coefficient == 1 || coefficient == -1;
  std::string text = factors.empty() || !one ? std::to_string(coefficient) : coefficient < 0 ? "-" : "";
  const bool alone = factors.size() == 1 && coefficient == 1;
  for (const FactorPtr& factor : factors) {
    if (!text.empty() && text != "-") text += '*';
    text += alone ? factor_text(*factor) : in_parentheses(factor_text(*factor));
  }
  return text;
}

void add_to(Terms& terms, const Monomial& factors, int64_t coefficient) {
  int64_t& term = terms[factors];
  term = checked_add(term, coefficient);
  if (term == 0) terms.erase(factors);
}

int64_t quotient_of(int64_t dividend, int64_t divisor) {
  if (divisor == 0) fail("dimension {} is divided by zero", dividend);
  return checked_floor_div(dividend, divisor);
}

// Of one factor that is not negative and grows with every symbol; none of another.
std::optional<int64_t> least_of(const Factor& factor) {
  if (!factor.is_quotient()) return factor.text.front() == '_' ? 0 : 1;
  const std::optional<int64_t> least = factor.dividend.least();
  if (!least || *least < 0 || !factor.divisor.is_constant()) return std::nullopt;
  return checked_floor_div(*least, factor.divisor.constant());
}

}  // namespace

bool Dim::ByText::operator()(const Monomial& a, const Monomial& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), before);
}

Dim::Dim(int64_t constant) : constant_(constant) {}

Dim Dim::of(Terms terms) {
  Dim dim;
  if (const auto constant = terms.find({}); constant != terms.end()) {
    dim.constant_ = constant->second;
    terms.erase(constant);
  }
  if (!terms.empty()) dim.terms_ = std::make_shared<const Terms>(std::move(terms));
  return dim;
}

Dim Dim::of(FactorPtr factor) { return of(Terms{{{std::move(factor)}, 1}}); }

Terms Dim::all_terms() const {
  Terms terms = terms_ ? *terms_ : Terms();
  if (constant_ != 0) terms[{}] = constant_;
  return terms;
}

Dim Dim::symbol(std::string_view name) {
  CHECK(is_symbol_name(name), "not a symbol name: {}", name);
  return of(Interned::get(std::string(name)));
}

Dim Dim::unknown() { return of(Interned::get(std::string(kUnknown))); }

bool Dim::operator==(const Dim& other) const {
  if (constant_ != other.constant_ || !terms_ != !other.terms_) return false;
  return terms_ == other.terms_ || *terms_ == *other.terms_;
}

bool Dim::is_unknown() const { return terms_ && terms_->size() == 1 && terms_->begin()->first[0]->text == kUnknown; }

bool Dim::is_symbol() const {
  if (!terms_ || constant_ != 0 || terms_->size() != 1) return false;
  const auto& [factors, coefficient] = *terms_->begin();
  return coefficient == 1 && factors.size() == 1 && !factors[0]->is_quotient();
}

bool Dim::is_constant() const { return !terms_; }

int64_t Dim::constant() const {
  if (!is_constant()) fail("the dimension {} has no value where one is needed", to_string());
  return constant_;
}

std::string Dim::to_string() const {
  if (!terms_) return std::to_string(constant_);
  std::string text;
  auto append = [&](const Monomial& factors, int64_t coefficient) {
    if (coefficient > 0 && !text.empty()) text += '+';
    text += term_text(factors, coefficient);
  };
  for (const auto& [factors, coefficient] : *terms_) append(factors, coefficient);
  if (constant_ != 0) append({}, constant_);
  return text;
}

int64_t Dim::evaluate(const Bindings& bindings) const {
  int64_t sum = constant_;
  if (!terms_) return sum;
  for (const auto& [factors, coefficient] : *terms_) {
    int64_t product = coefficient;
    for (const FactorPtr& factor : factors) {
      int64_t value;
      if (factor->is_quotient()) {
        value = quotient_of(factor->dividend.evaluate(bindings), factor->divisor.evaluate(bindings));
      } else {
        const auto bound = bindings.find(factor->text);
        if (bound == bindings.end()) fail("dimension {}: symbol {} has no value", to_string(), factor->text);
        value = bound->second;
      }
      product = checked_mul(product, value);
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

Dim Dim::substitute(const Bindings& bindings) const { return substituted(bindings); }
Dim Dim::substitute(const std::map<std::string, Dim>& dims) const { return substituted(dims); }

template <class Value>
Dim Dim::substituted(const std::map<std::string, Value>& values) const {
  Dim sum = constant_;
  if (!terms_) return sum;
  for (const auto& [factors, coefficient] : *terms_) {
    Dim product = coefficient;
    for (const FactorPtr& factor : factors) {
      if (factor->is_quotient()) {
        product = product * floordiv(factor->dividend.substituted(values), factor->divisor.substituted(values));
      } else {
        const auto bound = values.find(factor->text);
        product = product * (bound != values.end() ? Dim(bound->second) : of(factor));
      }
    }
    sum = sum + product;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& names) const {
  if (!terms_) return;
  for (const auto& [factors, coefficient] : *terms_) {
    for (const FactorPtr& factor : factors) {
      if (factor->is_quotient()) {
        factor->dividend.collect_symbols(names);
        factor->divisor.collect_symbols(names);
      } else if (std::find(names.begin(), names.end(), factor->text) == names.end()) {
        names.push_back(factor->text);
      }
    }
  }
}

std::optional<int64_t> Dim::least() const {
  if (is_unknown()) return std::nullopt;
  int64_t sum = constant_;
  if (!terms_) return sum;
  for (const auto& [factors, coefficient] : *terms_) {
    if (coefficient < 0) return std::nullopt;
    int64_t product = coefficient;
    for (const FactorPtr& factor : factors) {
      const std::optional<int64_t> least = least_of(*factor);
      if (!least) return std::nullopt;
      product = checked_mul(product, *least);
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (!a.terms_ || !b.terms_) {
    Dim sum = a.terms_ ? a : b;
    sum.constant_ = checked_add(a.constant_, b.constant_);
    return sum;
  }
  Terms sum = a.all_terms();
  for (const auto& [factors, coefficient] : b.all_terms()) add_to(sum, factors, coefficient);
  expect_small(sum);
  return Dim::of(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (!a.terms_ && !b.terms_) return checked_mul(a.constant_, b.constant_);
  Terms product;
  const Terms others = b.all_terms();
  for (const auto& [fa, ca] : a.all_terms()) {
    for (const auto& [fb, cb] : others) add_to(product, merge(fa, fb), checked_mul(ca, cb));
    expect_small(product);
  }
  return Dim::of(std::move(product));
}

Dim floordiv(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::unknown();
  if (b.is_constant() && b.constant_ == 0) fail("dimension {} is divided by zero", a.to_string());
  if (a.is_constant() && b.is_constant()) return checked_floor_div(a.constant_, b.constant_);
  if (b.is_constant() && b.constant_ < 0) return floordiv(Dim(-1) * a, Dim(-1) * b);

  // a = b * quotient + rest. A constant divisor takes its multiples out of every term; another one must divide exactly.
  Dim quotient, rest;
  if (b.is_constant()) {
    const int64_t divisor = b.constant_;
    Terms wholes, parts;
    for (const auto& [factors, coefficient] : a.all_terms()) {
      const int64_t whole = checked_floor_div(coefficient, divisor), part = coefficient - whole * divisor;
      if (whole != 0) wholes[factors] = whole;
      if (part != 0) parts[factors] = part;
    }
    quotient = Dim::of(std::move(wholes)), rest = Dim::of(std::move(parts));
    if (rest.is_constant()) return quotient;  // 0 <= rest < divisor
  } else {
    const auto by_order = [](const auto& x, const auto& y) { return lower(x.first, y.first); };
    const Terms divisor = b.all_terms();
    const auto lead = *std::max_element(divisor.begin(), divisor.end(), by_order);
    rest = a;
    for (size_t steps = 0; steps <= kMostTerms; ++steps) {
      const Terms left = rest.all_terms();
      if (left.empty()) return quotient;
      const auto top = *std::max_element(left.begin(), left.end(), by_order);
      if (!divides(lead.first, top.first) || !goes_into(lead.second, top.second)) break;
      Monomial factors;
      std::set_difference(top.first.begin(), top.first.end(), lead.first.begin(), lead.first.end(),
                          std::back_inserter(factors), before);
      const Dim term = Dim::of(Terms{{factors, checked_floor_div(top.second, lead.second)}});
      quotient = quotient + term;
      rest = rest - term * b;
    }
    quotient = Dim(), rest = a;
  }
  std::string text = "(" + rest.to_string() + ")/(" + b.to_string() + ")";
  if (text.size() > kMostCharacters || nesting(text) > kMostNested) too_large();
  return quotient + Dim::of(Interned::get(std::move(text), rest, b));
}

}  // namespace hone

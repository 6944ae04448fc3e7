// A dimension: an integer polynomial over named symbols, with floor division, e.g. 128, S, B*S, (S+1)/2. Kept in a
// normal form, so that == decides equality of polynomials. Symbols and quotients are interned: a dimension is a tree
// that is shared, not a text, and evaluating it parses nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

using Bindings = std::map<std::string, int64_t>;  // a value for each symbol

class Dim {
 public:
  Dim(int64_t constant = 0);                 // NOLINT: integers are dimensions
  static Dim symbol(std::string_view name);  // name: [A-Za-z_][A-Za-z0-9_]*
  static Dim parse(std::string_view text);   // inverse of to_string; throws Error
  static Dim unknown();  // what a shape rule gives for a size that depends on data; arithmetic with it gives it again

  bool is_constant() const;
  int64_t constant() const;  // throws Error unless is_constant()
  bool is_unknown() const;
  bool is_symbol() const;  // a symbol and nothing else
  // The smallest value it can take when sizes of inputs are at least 1 and unbacked ones (_1, _2, …) at least 0; none
  // where no bound is evident.
  std::optional<int64_t> least() const;
  std::string to_string() const;
  int64_t evaluate(const Bindings& bindings) const;              // throws Error naming an unbound symbol
  Dim substitute(const Bindings& bindings) const;                // bound symbols become numbers
  Dim substitute(const std::map<std::string, Dim>& dims) const;  // or other formulas
  void collect_symbols(std::vector<std::string>& names) const;   // appends those not yet listed

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floordiv(const Dim& a, const Dim& b);  // toward minus infinity; exact polynomial division where it divides
  bool operator==(const Dim& other) const;

  struct Factor;
  using Monomial = std::vector<std::shared_ptr<const Factor>>;  // a product, its factors sorted
  struct ByText {
    bool operator()(const Monomial& a, const Monomial& b) const;
  };
  using Terms = std::map<Monomial, int64_t, ByText>;  // coefficients by product; the empty one is the constant

 private:
  static Dim of(Terms terms);
  static Dim of(std::shared_ptr<const Factor> factor);
  template <class Value>
  Dim substituted(const std::map<std::string, Value>& values) const;
  Terms all_terms() const;

  int64_t constant_ = 0;
  std::shared_ptr<const Terms> terms_;  // but the constant; null where there are none
};

using Shape = std::vector<Dim>;
std::string to_string(const Shape& shape);  // "[B,S,384]"
std::vector<int64_t> evaluate(const Shape& shape, const Bindings& bindings);
std::vector<int64_t> constant_shape(const Shape& shape);  // Bug unless all are constant
bool is_constant(const Shape& shape);
Shape to_shape(std::span<const int64_t> sizes);
Dim element_count(const Shape& shape);
int64_t element_count(std::span<const int64_t> sizes);  // throws Error on overflow

// Whether two sizes may turn out equal once symbols are bound: not when they differ by a constant.
bool may_be_same(const Dim& a, const Dim& b);

// NumPy broadcasting; throws Error naming both shapes when constants do not go together. Of a symbolic dimension and a
// constant above 1 the result is the constant; of two that may or may not be equal it is unknown.
Shape broadcast(const Shape& a, const Shape& b);
// Whether it does, whatever values the symbols have.
bool broadcasts_to(const Shape& from, const Shape& to);

// Matches a declared shape against actual sizes: binds plain symbols, checks everything else; throws Error that names
// `what`.
void bind_shape(const Shape& declared, const std::vector<int64_t>& actual, Bindings& bindings, const std::string& what);

}  // namespace hone

// A dimension: an integer polynomial over named symbols, with floor division, e.g. 128, S, B*S, (S+1)/2. Kept in a
// normal form, so that == decides equality of polynomials.
#pragma once

#include <cstdint>
#include <map>
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

  bool is_constant() const;
  int64_t constant() const;  // Bug unless is_constant()
  std::string to_string() const;
  int64_t evaluate(const Bindings& bindings) const;             // throws Error naming an unbound symbol
  Dim substitute(const Bindings& bindings) const;               // bound symbols become numbers
  void collect_symbols(std::vector<std::string>& names) const;  // appends those not yet listed

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floordiv(const Dim& a, const Dim& b);  // toward minus infinity; exact polynomial division where it divides
  bool operator==(const Dim&) const = default;

 private:
  // A term's key lists its factors, sorted: symbols by name, quotients as "(a)/(b)" in normal form. The empty key is
  // the constant.
  std::map<std::vector<std::string>, int64_t> terms_;
};

using Shape = std::vector<Dim>;
std::string to_string(const Shape& shape);  // "[B,S,384]"
std::vector<int64_t> evaluate(const Shape& shape, const Bindings& bindings);
std::vector<int64_t> constant_shape(const Shape& shape);  // Bug unless all are constant
bool is_constant(const Shape& shape);
Shape to_shape(const std::vector<int64_t>& sizes);
Dim element_count(const Shape& shape);
int64_t element_count(const std::vector<int64_t>& sizes);  // throws Error on overflow

// NumPy broadcasting. A symbolic dimension broadcasts with 1 and with an equal dimension; throws Error naming both
// shapes otherwise.
Shape broadcast(const Shape& a, const Shape& b);

// Matches a declared shape against actual sizes: binds plain symbols, checks everything else; throws Error that names
// `what`.
void bind_shape(const Shape& declared, const std::vector<int64_t>& actual, Bindings& bindings, const std::string& what);

}  // namespace hone

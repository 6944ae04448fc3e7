// einsum: a product that is summed is linear in each factor, so that a factor's gradient is the einsum of the result's
// gradient and the other factors.
#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"
#include "gradients/gradient.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/einsum.h"
#include "ops/calls/full.h"
#include "ops/einsum.h"

namespace hone {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// One letter for each dimension, those of ellipses included, and fresh ones.
class Letters {
 public:
  char of(Label label) {
    const auto [found, is_new] = letters_.try_emplace(label, ' ');
    if (is_new) found->second = fresh();
    return found->second;
  }
  char fresh() {
    if (used_ == kLetters.size()) fail("the equation has more than {} dimensions", kLetters.size());
    return kLetters[used_++];
  }
  std::string of(const Labels& labels) {
    std::string term;
    for (Label label : labels) term += of(label);
    return term;
  }

 private:
  std::map<Label, char> letters_;
  size_t used_ = 0;
};

ValueId identity_matrix(Graph& g, const Dim& size, DType dtype) {
  const ValueId rows = ops::iota(g, {.shape = Shape{size, 1}}), columns = ops::iota(g, {.shape = Shape{size}});
  return ops::cast(g, {.x = ops::equal(g, {rows, columns}), .dtype = dtype});
}

// The factors of one gradient and the terms that name their dimensions.
struct Product {
  std::string terms;
  std::vector<ValueId> factors;
  void add(const std::string& term, ValueId factor) {
    terms += (terms.empty() ? "" : ",") + term;
    factors.push_back(factor);
  }
};

ValueId gradient_of(const GradientArgs& a, const EinsumEquation& equation, size_t which) {
  Graph& g = a.graph;
  const DType dtype = g.type(a.d_results[0]).dtype;
  Letters letters;
  Product product;
  product.add(letters.of(equation.result), a.d_results[0]);
  for (size_t i = 0; i < equation.operands.size(); ++i)
    if (i != which) product.add(letters.of(equation.operands[i]), wide_operand(a, i));
  // Whether a factor has the dimension in its whole size, not just as one element that goes with all.
  const auto is_spanned = [&](Label label, const Dim& size) {
    if (std::ranges::count(equation.result, label) > 0) return true;
    for (size_t i = 0; i < equation.operands.size(); ++i)
      for (size_t at = 0; i != which && at < equation.operands[i].size(); ++at)
        if (equation.operands[i][at] == label && a.type(i).shape[at] == size) return true;
    return false;
  };
  std::string result;
  const Labels& labels = equation.operands[which];
  for (size_t axis = 0; axis < labels.size(); ++axis) {
    const Dim& size = a.type(which).shape[axis];
    const char letter = letters.of(labels[axis]);
    if (result.find(letter) == std::string::npos) {
      result += letter;
      if (!is_spanned(labels[axis], size))  // summed alone: each element has all of the sum's gradient
        product.add(std::string(1, letter), ops::full(g, {.shape = Shape{size}, .value = 1.0, .dtype = dtype}));
      continue;
    }
    const char other = letters.fresh();  // the same dimension again: only a diagonal was read
    result += other;
    product.add(std::string{letter, other}, identity_matrix(g, size, dtype));
  }
  const ValueId gradient = ops::einsum(g, {.inputs = product.factors, .equation = product.terms + "->" + result});
  return summed_to(g, gradient, a.type(which).shape);
}

std::vector<ValueId> einsum_gradient(const GradientArgs& a) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < a.op().operands.size(); ++i) ranks.push_back(a.type(i).rank());
  const EinsumEquation equation = parse_einsum(a.op().attributes.get<std::string>("equation"), ranks);
  std::vector<ValueId> gradients(ranks.size(), kNone);
  for (size_t i = 0; i < ranks.size(); ++i)
    if (a.wants(i)) gradients[i] = gradient_of(a, equation, i);
  return gradients;
}

}  // namespace

extern constinit const GradientDef einsum_rule_def{.op = &einsum_def, .rule = einsum_gradient};

}  // namespace hone

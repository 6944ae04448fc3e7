// einsum as transposes, sums and products of matrices: dimensions are those of batches (in both operands and the
// result), of sums (in both alone), of rows and of columns (in one operand and the result), and what one operand has
// alone is summed before. Of more than two operands those two are multiplied first that give the fewest dimensions,
// which stand for them. A letter that repeats in an operand is its diagonal, every (n + 1)-th element. Products of
// integers, which no kernel sums up as it goes, are a tensor of their own where they are few.
//
// Sizes of one letter may differ where one of them is 1. Where that is so whatever the sizes, the operand is taken not
// to have the letter. Where a run decides it, batches broadcast in the product, and both operands are expanded along
// what is summed over: the rules of these ops find sizes that do not go together.
#include <algorithm>
#include <array>
#include <map>

#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/einsum.h"
#include "ops/calls/expand.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"
#include "ops/einsum.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

constexpr int64_t kMostProducts = 1 << 20;  // of integers that lie in memory: some MB

bool contains(const Labels& labels, Label label) { return std::ranges::find(labels, label) != labels.end(); }

// An operand with its dimensions' labels.
struct Term {
  ValueId value;
  Labels labels;
};

class Expansion {
 public:
  Expansion(Graph& graph, const Node& node, EinsumEquation equation) : g_(graph), equation_(std::move(equation)) {
    for (size_t i = 0; i < node.operands.size(); ++i) terms_.push_back({node.operands[i], equation_.operands[i]});
  }

  // Whether no size is 0, and those of a letter are equal or 1 where a run may not decide it: diagonals have numbers of
  // elements, and what more than two operands have is broadcast by none.
  bool applies() const {
    std::map<Label, Dim> sizes;
    for (const Term& term : terms_) {
      const TensorType& type = g_.type(term.value);
      if (type.is_packed() || !type.ranked) return false;
      for (size_t axis = 0; axis < term.labels.size(); ++axis) {
        const Dim& size = type.shape[axis];
        if (size == Dim(0)) return false;
        const bool repeats = std::ranges::count(term.labels, term.labels[axis]) > 1;
        if (repeats && !size.is_constant()) return false;
        if (size == Dim(1)) continue;
        const Dim& first = sizes.emplace(term.labels[axis], size).first->second;
        if ((repeats || terms_.size() > 2) && !(first == size)) return false;
      }
    }
    if (is_float(g_.type(terms_[0].value).dtype)) return true;
    int64_t products = 1;
    for (const auto& [label, size] : sizes)
      if (size.is_constant())
        products = std::min(products * std::min(size.constant(), kMostProducts), kMostProducts + 1);
    return products <= kMostProducts;
  }

  // Of the einsum's type.
  ValueId expanded(const TensorType& type) {
    for (Term& term : terms_) {
      while (take_diagonal(term)) {
      }
      if (terms_.size() > 2) term.value = cast(term.value, sum_dtype(term));  // rounded once, at the end
    }
    for (Term& term : terms_) drop_ones(term);
    for (size_t i = 0; i < terms_.size(); ++i) sum_alone(i);
    while (terms_.size() > 1) join(fewest_dimensions(), type.shape);
    return cast(arranged(terms_[0], equation_.result), type.dtype);
  }

 private:
  using Pair = std::array<size_t, 2>;

  ValueId cast(ValueId x, DType dtype) {
    return g_.type(x).dtype == dtype ? x : ops::cast(g_, {.x = x, .dtype = dtype});
  }
  DType sum_dtype(const Term& term) const { return g_.type(term.value).dtype == DType::f64 ? DType::f64 : DType::f32; }

  ValueId transposed(ValueId x, const List& perm) {
    return std::ranges::is_sorted(perm) ? x : ops::transpose(g_, {.x = x, .perm = perm});
  }

  Dim size_of(const Term& term, Label label) const {
    return g_.type(term.value).shape[static_cast<size_t>(std::ranges::find(term.labels, label) - term.labels.begin())];
  }

  // Whether the result has the label, or an operand but these.
  bool is_wanted(Label label, const Pair& but) const {
    if (contains(equation_.result, label)) return true;
    for (size_t i = 0; i < terms_.size(); ++i)
      if (i != but[0] && i != but[1] && contains(terms_[i].labels, label)) return true;
    return false;
  }

  // Two dimensions of one label become one, the last. False where no label repeats.
  bool take_diagonal(Term& term) {
    for (size_t i = 0; i < term.labels.size(); ++i) {
      const auto again =
          std::find(term.labels.begin() + static_cast<ptrdiff_t>(i) + 1, term.labels.end(), term.labels[i]);
      if (again == term.labels.end()) continue;
      const auto j = static_cast<size_t>(again - term.labels.begin());
      List perm;
      Labels left;
      Shape flat;
      for (size_t axis = 0; axis < term.labels.size(); ++axis) {
        if (axis == i || axis == j) continue;
        perm.push_back(static_cast<int64_t>(axis));
        left.push_back(term.labels[axis]);
        flat.push_back(g_.type(term.value).shape[axis]);
      }
      const int64_t rows = g_.type(term.value).shape[i].constant(), columns = g_.type(term.value).shape[j].constant();
      perm.insert(perm.end(), {static_cast<int64_t>(i), static_cast<int64_t>(j)});
      left.push_back(term.labels[i]);
      flat.push_back(rows * columns);
      const ValueId line = ops::reshape(g_, {.x = transposed(term.value, perm), .shape = flat});
      const int64_t step = rows == columns ? rows + 1 : 1;  // else one of them is 1
      term = {
          ops::slice(
              g_,
              {.x = line, .starts = Shape{0}, .ends = Shape{rows * columns}, .axes = List{-1}, .steps = List{step}}),
          left};
      return true;
    }
    return false;
  }

  // Dimensions of size 1 where another operand has another size, or may have.
  void drop_ones(Term& term) {
    List axes;
    Labels left;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const Label label = term.labels[axis];
      const bool is_longer = std::ranges::any_of(terms_, [&](const Term& other) {
        return contains(other.labels, label) && !(size_of(other, label) == Dim(1));
      });
      if (is_longer && size_of(term, label) == Dim(1)) axes.push_back(static_cast<int64_t>(axis));
      else left.push_back(label);
    }
    if (!axes.empty()) term = {ops::squeeze(g_, {.x = term.value, .axes = axes}), left};
  }

  // Sums over what neither the result nor another operand has.
  void sum_alone(size_t i) {
    Term& term = terms_[i];
    List axes;
    Labels left;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (is_wanted(term.labels[axis], {i, i})) left.push_back(term.labels[axis]);
      else axes.push_back(static_cast<int64_t>(axis));
    }
    if (axes.empty()) return;
    term = {ops::reduce_sum(g_, {.x = cast(term.value, sum_dtype(term)), .axes = axes, .keepdims = 0}), left};
  }

  // The operands whose product has the fewest dimensions.
  Pair fewest_dimensions() const {
    Pair best{0, 1};
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < terms_.size(); ++i)
      for (size_t j = i + 1; j < terms_.size(); ++j) {
        const auto is_left = [&](Label label) { return is_wanted(label, {i, j}); };
        const auto is_new = [&](Label label) { return is_left(label) && !contains(terms_[i].labels, label); };
        const auto count = static_cast<size_t>(std::ranges::count_if(terms_[i].labels, is_left) +
                                               std::ranges::count_if(terms_[j].labels, is_new));
        if (count < fewest) best = {i, j}, fewest = count;
      }
    return best;
  }

  // Two operands become their product. `sizes`: of the result.
  void join(const Pair& pair, const Shape& sizes) {
    make_equal_sums(pair);
    Term a = terms_[pair[0]], b = terms_[pair[1]];
    // The operand whose own dimensions come first in the result is the left one.
    const auto own_first = [&](const Term& term, const Term& other) {
      const auto is_own = [&](Label label) { return contains(term.labels, label) && !contains(other.labels, label); };
      return std::ranges::find_if(equation_.result, is_own) - equation_.result.begin();
    };
    if (own_first(b, a) < own_first(a, b)) std::swap(a, b);
    const auto is_left = [&](Label label) { return is_wanted(label, pair); };
    terms_[pair[0]] = product(a, b, is_left, sizes);
    terms_.erase(terms_.begin() + static_cast<ptrdiff_t>(pair[1]));
  }

  // Where sizes of what is summed over are not known to be equal, both operands get the larger one.
  void make_equal_sums(const Pair& pair) {
    const std::array<Term, 2> given{terms_[pair[0]], terms_[pair[1]]};
    const auto is_open = [&](Label label) {
      return contains(given[0].labels, label) && contains(given[1].labels, label) && !is_wanted(label, pair) &&
             !(size_of(given[0], label) == size_of(given[1], label));
    };
    for (size_t i : {0, 1}) {
      Shape shape;
      for (Label label : given[i].labels) shape.push_back(is_open(label) ? size_of(given[1 - i], label) : Dim(1));
      if (std::ranges::any_of(given[i].labels, is_open))
        terms_[pair[i]].value = ops::expand(g_, {.x = given[i].value, .shape = shape});
    }
  }

  ValueId arranged(const Term& term, const Labels& wanted) {
    List perm;
    for (Label label : wanted) perm.push_back(std::ranges::find(term.labels, label) - term.labels.begin());
    return transposed(term.value, perm);
  }

  Shape sizes_of(const Term& term, const Labels& labels) const {
    Shape sizes;
    for (Label label : labels) sizes.push_back(size_of(term, label));
    return sizes;
  }

  // [batches..., own, summed], the last two of which are one dimension each.
  ValueId as_matrices(const Term& term, const Labels& batches, const Labels& own, const Labels& summed) {
    Labels order = batches;
    order.insert(order.end(), own.begin(), own.end());
    order.insert(order.end(), summed.begin(), summed.end());
    Shape shape = sizes_of(term, batches);
    shape.push_back(element_count(sizes_of(term, own)));
    shape.push_back(element_count(sizes_of(term, summed)));
    const ValueId value = arranged(term, order);
    return shape == g_.type(value).shape ? value : ops::reshape(g_, {.x = value, .shape = shape});
  }

  // Of [..., rows, k] and [..., columns, k], [..., rows, columns].
  ValueId multiplied(ValueId left, ValueId right) {
    if (is_float(g_.type(left).dtype)) return ops::matmul(g_, {.a = left, .b = right, .transpose_b = 1});
    const ValueId rows = ops::unsqueeze(g_, {.x = left, .axes = List{-2}}),
                  columns = ops::unsqueeze(g_, {.x = right, .axes = List{-3}});
    return ops::reduce_sum(g_, {.x = ops::mul(g_, {rows, columns}), .axes = List{-1}, .keepdims = 0});
  }

  // `sizes`: of the result of all; `is_left` says what of both the product has.
  template <class IsLeft>
  Term product(const Term& a, const Term& b, const IsLeft& is_left, const Shape& sizes) {
    Labels batches, summed, rows, columns;
    for (Label label : equation_.result)
      if (contains(a.labels, label) && contains(b.labels, label)) batches.push_back(label);
    const size_t in_result = batches.size();
    for (Label label : a.labels) {
      if (!contains(b.labels, label)) rows.push_back(label);
      else if (!is_left(label)) summed.push_back(label);
      else if (!contains(equation_.result, label)) batches.push_back(label);
    }
    for (Label label : b.labels)
      if (!contains(a.labels, label)) columns.push_back(label);
    const ValueId left = as_matrices(a, batches, rows, summed), right = as_matrices(b, batches, columns, summed);
    Term result{multiplied(left, right), batches};
    Shape shape = sizes_of(a, batches);
    for (size_t i = 0; i < in_result; ++i)
      shape[i] = sizes[static_cast<size_t>(std::ranges::find(equation_.result, batches[i]) - equation_.result.begin())];
    TensorType type = g_.type(result.value);
    std::ranges::copy(shape, type.shape.begin());
    g_.refine_type(result.value, type);
    for (const auto& [term, labels] : {std::pair{&a, &rows}, std::pair{&b, &columns}}) {
      const Shape own = sizes_of(*term, *labels);
      shape.insert(shape.end(), own.begin(), own.end());
      result.labels.insert(result.labels.end(), labels->begin(), labels->end());
    }
    if (!(shape == g_.type(result.value).shape)) result.value = ops::reshape(g_, {.x = result.value, .shape = shape});
    return result;
  }

  Graph& g_;
  EinsumEquation equation_;
  std::vector<Term> terms_;
};

Graph expand_einsum(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(einsum_def)) {
    const Node node = graph.node(id);
    if (!std::ranges::all_of(node.operands, [&](ValueId v) { return graph.type(v).ranked; })) continue;
    std::vector<size_t> ranks;
    for (ValueId v : node.operands) ranks.push_back(graph.type(v).rank());
    Expansion expansion(graph, node, parse_einsum(node.attributes.get<std::string>("equation"), ranks));
    if (!expansion.applies()) continue;
    graph.set_insertion_point(id);
    const ValueId result = expansion.expanded(graph.type(node.results[0]));
    graph.set_insertion_point(kNone);
    replace_by_value(graph, id, result);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_einsum_def{
    .name = "expand_einsum",
    .doc = "einsum → transposes, sums and matmuls, or products of integers.",
    .run = expand_einsum};

}  // namespace hone

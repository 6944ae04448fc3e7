// einsum of one or two operands as transposes, sums and one product of matrices: dimensions are those of batches (in
// both operands and the result), of sums (in both alone), of rows and of columns (in one operand and the result), and
// what one operand has alone is summed before.
//
// Sizes of one letter may differ where one of them is 1. Where that is so whatever the sizes, the operand is taken not
// to have the letter. Where a run decides it, batches broadcast in the product, and both operands are expanded along
// what is summed over: the rules of these ops find sizes that do not go together.
#include <algorithm>
#include <array>

#include "ops/calls.h"
#include "ops/einsum.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

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

  // Whether no label has the size 0 or occurs twice in a term.
  bool applies() const {
    for (const Term& term : terms_) {
      const TensorType& type = g_.type(term.value);
      if (!is_float(type.dtype) || type.is_packed() || !type.ranked) return false;
      for (size_t axis = 0; axis < term.labels.size(); ++axis) {
        if (type.shape[axis] == Dim(0)) return false;
        if (std::ranges::count(term.labels, term.labels[axis]) > 1) return false;
      }
    }
    return terms_.size() <= 2;
  }

  // Of the einsum's type.
  ValueId expanded(const TensorType& type) {
    const DType dtype = type.dtype;
    if (terms_.size() == 2) {
      drop_ones(terms_[0], terms_[1]);
      drop_ones(terms_[1], terms_[0]);
    }
    for (size_t i = 0; i < terms_.size(); ++i) sum_alone(i);
    if (terms_.size() == 1) return cast(arranged(terms_[0], equation_.result), dtype);
    make_equal_sums();
    // The operand whose own dimensions come first in the result is the left one.
    const auto own_first = [&](const Term& term, const Term& other) {
      const auto is_own = [&](Label label) { return contains(term.labels, label) && !contains(other.labels, label); };
      return std::ranges::find_if(equation_.result, is_own) - equation_.result.begin();
    };
    if (own_first(terms_[1], terms_[0]) < own_first(terms_[0], terms_[1])) std::swap(terms_[0], terms_[1]);
    return cast(product(terms_[0], terms_[1], type.shape), dtype);
  }

 private:
  ValueId cast(ValueId x, DType dtype) {
    return g_.type(x).dtype == dtype ? x : ops::cast(g_, {.x = x, .dtype = dtype});
  }

  Dim size_of(const Term& term, Label label) const {
    return g_.type(term.value).shape[static_cast<size_t>(std::ranges::find(term.labels, label) - term.labels.begin())];
  }

  // Dimensions of size 1 where the other operand has another size, or may have.
  void drop_ones(Term& term, const Term& other) {
    List axes;
    Labels left;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const Label label = term.labels[axis];
      const bool is_one = size_of(term, label) == Dim(1) && contains(other.labels, label);
      if (is_one && !(size_of(other, label) == Dim(1))) axes.push_back(static_cast<int64_t>(axis));
      else left.push_back(label);
    }
    if (!axes.empty()) term = {ops::squeeze(g_, {.x = term.value, .axes = axes}), left};
  }

  // Where sizes of what is summed over are not known to be equal, both operands get the larger one.
  void make_equal_sums() {
    const auto is_open = [&](Label label) {
      return contains(terms_[0].labels, label) && contains(terms_[1].labels, label) &&
             !contains(equation_.result, label) && !(size_of(terms_[0], label) == size_of(terms_[1], label));
    };
    const std::array<Term, 2> given{terms_[0], terms_[1]};
    for (size_t i : {0, 1}) {
      Shape shape;
      for (Label label : given[i].labels) shape.push_back(is_open(label) ? size_of(given[1 - i], label) : Dim(1));
      if (std::ranges::any_of(given[i].labels, is_open))
        terms_[i].value = ops::expand(g_, {.x = given[i].value, .shape = shape});
    }
  }

  // Sums over what neither the result nor the other operand has.
  void sum_alone(size_t i) {
    Term& term = terms_[i];
    List axes;
    Labels left;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const Label label = term.labels[axis];
      const bool is_read =
          contains(equation_.result, label) || (terms_.size() > 1 && contains(terms_[1 - i].labels, label));
      if (is_read) left.push_back(label);
      else axes.push_back(static_cast<int64_t>(axis));
    }
    if (axes.empty()) return;
    const DType dtype = g_.type(term.value).dtype == DType::f64 ? DType::f64 : DType::f32;
    term = {ops::reduce_sum(g_, {.x = cast(term.value, dtype), .axes = axes, .keepdims = 0}), left};
  }

  ValueId arranged(const Term& term, const Labels& wanted) {
    List perm;
    for (Label label : wanted) perm.push_back(std::ranges::find(term.labels, label) - term.labels.begin());
    if (std::ranges::is_sorted(perm)) return term.value;
    return ops::transpose(g_, {.x = term.value, .perm = perm});
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

  // `sizes`: of the result.
  ValueId product(const Term& a, const Term& b, const Shape& sizes) {
    Labels batches, summed, rows, columns;
    for (Label label : a.labels) {
      if (!contains(b.labels, label)) rows.push_back(label);
      else if (!contains(equation_.result, label)) summed.push_back(label);
    }
    for (Label label : equation_.result)
      if (contains(a.labels, label) && contains(b.labels, label)) batches.push_back(label);
    for (Label label : b.labels)
      if (!contains(a.labels, label)) columns.push_back(label);
    const ValueId left = as_matrices(a, batches, rows, summed), right = as_matrices(b, batches, columns, summed);
    Term result{ops::matmul(g_, {.a = left, .b = right, .transpose_b = 1}), batches};
    Shape shape;
    for (Label label : batches)
      shape.push_back(
          sizes[static_cast<size_t>(std::ranges::find(equation_.result, label) - equation_.result.begin())]);
    TensorType type = g_.type(result.value);
    std::ranges::copy(shape, type.shape.begin());
    g_.refine_type(result.value, type);
    for (const auto& [term, labels] : {std::pair{&a, &rows}, std::pair{&b, &columns}}) {
      const Shape own = sizes_of(*term, *labels);
      shape.insert(shape.end(), own.begin(), own.end());
      result.labels.insert(result.labels.end(), labels->begin(), labels->end());
    }
    if (!(shape == g_.type(result.value).shape)) result.value = ops::reshape(g_, {.x = result.value, .shape = shape});
    return arranged(result, equation_.result);
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
    .doc = "einsum of one or two operands of floats → transposes, sums and a matmul.",
    .run = expand_einsum};

}  // namespace hone

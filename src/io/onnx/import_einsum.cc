// Einsum. A product of two operands is a matmul, with the dimensions brought into its order; the rest is the op einsum.
#include <algorithm>

#include "io/onnx/onnx_family.h"
#include "ops/calls.h"
#include "ops/einsum.h"

namespace hone {
namespace {

bool has(const Labels& labels, Label label) { return std::ranges::find(labels, label) != labels.end(); }

bool has_repeats(Labels labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) != labels.end();
}

// Dimensions of a product of two operands, each in the order of the operand named first.
struct Roles {
  Labels batch, left, right, summed;
};

// An operand of the product, and what its dimensions are called.
class Factor {
 public:
  Factor(OnnxNode& n, ValueId value, Labels labels) : n_(n), value_(value), labels_(std::move(labels)) {}
  const Labels& labels() const { return labels_; }
  Dim dim(Label label) const { return n_.type(value_).shape[position(label)]; }
  Shape dims(const Labels& labels) const {
    Shape shape;
    for (Label label : labels) shape.push_back(dim(label));
    return shape;
  }

  // Summed over the dimensions that neither `other` nor the result has.
  void drop_own(const Labels& other, const Labels& result) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t i = 0; i < labels_.size(); ++i) {
      if (has(other, labels_[i]) || has(result, labels_[i])) kept.push_back(labels_[i]);
      else axes.push_back(static_cast<int64_t>(i));
    }
    if (!axes.empty()) value_ = ops::reduce_sum(n_, {.x = value_, .axes = axes, .keepdims = 0});
    labels_ = kept;
  }

  // [batch..., rows, columns]
  ValueId as_matrices(const Labels& batch, const Labels& rows, const Labels& columns) const {
    Labels order = batch;
    order.insert(order.end(), rows.begin(), rows.end());
    order.insert(order.end(), columns.begin(), columns.end());
    Shape shape = dims(batch);
    shape.push_back(element_count(dims(rows)));
    shape.push_back(element_count(dims(columns)));
    return n_.reshape(ordered(order), shape);
  }

  ValueId ordered(const Labels& order) const {
    std::vector<int64_t> perm;
    for (Label label : order) perm.push_back(static_cast<int64_t>(position(label)));
    return n_.transpose(value_, perm);
  }

 private:
  size_t position(Label label) const {
    return static_cast<size_t>(std::ranges::find(labels_, label) - labels_.begin());
  }
  OnnxNode& n_;
  ValueId value_;
  Labels labels_;
};

Roles roles_of(const Factor& a, const Factor& b, const Labels& result) {
  Roles roles;
  for (Label label : a.labels()) {
    if (!has(b.labels(), label)) roles.left.push_back(label);
    else (has(result, label) ? roles.batch : roles.summed).push_back(label);
  }
  for (Label label : b.labels())
    if (!has(a.labels(), label)) roles.right.push_back(label);
  return roles;
}

// Every dimension once in a term, of equal length wherever it occurs, and in one operand at least.
bool is_plain(const EinsumEquation& equation, const Factor& a, const Factor& b) {
  if (has_repeats(a.labels()) || has_repeats(b.labels()) || has_repeats(equation.result)) return false;
  for (Label label : a.labels())
    if (has(b.labels(), label) && !(a.dim(label) == b.dim(label))) return false;
  return std::ranges::all_of(equation.result,
                             [&](Label label) { return has(a.labels(), label) || has(b.labels(), label); });
}

ValueId product(OnnxNode& n, Factor a, Factor b, const Labels& result) {
  const Labels of_b = b.labels();
  b.drop_own(a.labels(), result);
  a.drop_own(of_b, result);
  const Roles roles = roles_of(a, b, result);
  const ValueId matrices = ops::matmul(
      n, {a.as_matrices(roles.batch, roles.left, roles.summed), b.as_matrices(roles.batch, roles.summed, roles.right)});
  Labels order = roles.batch;
  order.insert(order.end(), roles.left.begin(), roles.left.end());
  order.insert(order.end(), roles.right.begin(), roles.right.end());
  Shape shape = a.dims(roles.batch);
  for (const Dim& dim : a.dims(roles.left)) shape.push_back(dim);
  for (const Dim& dim : b.dims(roles.right)) shape.push_back(dim);
  return Factor(n, n.reshape(matrices, shape), order).ordered(result);
}

std::vector<ValueId> import_einsum(OnnxNode& n) {
  const std::string text = n.text("equation");
  const std::vector<ValueId> operands = n.all_inputs();
  if (operands.size() == 2) {
    const EinsumEquation equation = parse_einsum(text, std::vector<size_t>{n.rank(n.in(0)), n.rank(n.in(1))});
    const Factor a(n, n.in(0), equation.operands[0]), b(n, n.in(1), equation.operands[1]);
    if (is_plain(equation, a, b)) return {n.cast(product(n, a, b, equation.result), n.type(n.in(0)).dtype)};
  }
  return {ops::einsum(n, {.inputs = operands, .equation = text})};
}

constexpr OnnxOperator kOperators[] = {{"Einsum", 12, import_einsum}};

}  // namespace

extern constinit const OnnxFamilyDef onnx_einsum_def{.name = "einsum", .operators = kOperators};

}  // namespace hone

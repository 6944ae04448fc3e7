#include "io/onnx/known_dims.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/reduce.h"
#include "ops/calls/resize.h"
#include "ops/calls/shape_of.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

constexpr size_t kMaxHeld = 1'000'000;  // some 100 MB

bool may_hold_dims(const TensorType& type) {
  return type.ranked && type.container == Container::none && !type.is_packed() &&
         (type.dtype == DType::i64 || type.dtype == DType::i32 || type.dtype == DType::boolean);
}

// A polynomial of sizes with positive coefficients is at least 0.
bool is_size(const Dim& dim) { return dim.is_symbol() || (dim.is_constant() && dim.constant() >= 0); }

std::optional<Dim> equal(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  if (!may_be_same(a, b)) return Dim(0);
  const auto negative = [](const Dim& d) { return d.is_constant() && d.constant() < 0; };
  if ((negative(a) && is_size(b)) || (negative(b) && is_size(a))) return Dim(0);
  return std::nullopt;
}

// The result of an arithmetic op on two elements, where it is known.
std::optional<Dim> arithmetic(const OpDef* op, const Dim& a, const Dim& b) {
  if (op == &add_def) return a + b;
  if (op == &sub_def || op == &neg_def) return a - b;
  if (op == &mul_def) return a * b;
  if (op == &equal_def) return equal(a, b);
  if (op == &div_def && b.is_constant() && b.constant() > 0)  // which truncates: the same where it divides
    if (const Dim quotient = floordiv(a, b); is_size(a) || quotient * b == a) return quotient;
  if (op == &div_def && is_size(a) && is_size(b) && b.is_symbol()) return floordiv(a, b);
  if (op == &mod_def && b.is_constant() && b.constant() > 0) return a - b * floordiv(a, b);
  if ((op == &max_def || op == &min_def) && a == b) return a;
  return std::nullopt;
}

std::optional<Shape> each(const OpDef* op, const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->empty() || b->empty() || (a->size() != b->size() && a->size() != 1 && b->size() != 1))
    return std::nullopt;
  Shape result;
  for (size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    const std::optional<Dim> dim = arithmetic(op, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!dim) return std::nullopt;
    result.push_back(*dim);
  }
  return result;
}

// Whether a tensor of the type may have just these elements.
bool may_be_all(const TensorType& type, const Shape& dims) {
  const auto count = static_cast<int64_t>(dims.size());
  if (count > KnownDims::kMaxElements) return false;
  return type.rank() == 1 ? may_be_same(type.shape[0], count) : type.is_static() && element_count(type.shape) == count;
}

// 0, what borders are filled with, and every element that an op can put elsewhere: results are made of their numbers.
struct Numbered {
  Shape elements{0};
  std::vector<Tensor> operands;

  void add(const Shape& dims, const std::vector<int64_t>& shape) {
    std::vector<int64_t> numbers(dims.size());
    std::iota(numbers.begin(), numbers.end(), static_cast<int64_t>(elements.size()));
    operands.push_back(Tensor::of<int64_t>(shape, numbers));
    elements.insert(elements.end(), dims.begin(), dims.end());
  }
};

// Elements of a resize may be sums.
bool only_moves(const OpDef* op) { return (op->moves && op != &resize_def) || op == &gather_def; }

class Follow {
 public:
  Follow(const KnownDims& known, const Graph& graph, const Node& node) : known_(known), graph_(graph), node_(node) {}

  std::optional<Shape> result() const {
    const OpDef* const op = node_.op;
    if (op == &shape_of_def) {
      const TensorType& x = graph_.type(node_.operands[0]);
      if (!x.ranked || x.container != Container::none) return std::nullopt;
      return x.shape;
    }
    if (op->view || op == &identity_def || (op == &cast_def && type().dtype != DType::boolean)) return operand(0);
    if (op == &full_def) return filled();
    if (only_moves(op)) return moved();
    if (op == &neg_def) return each(op, Shape{0}, operand(0));
    if (type().rank() > 1) return std::nullopt;  // operands are vectors and numbers from here on
    if (op == &where_def) return chosen();
    if (op == &reduce_prod_def) return product();
    return node_.operands.size() == 2 ? each(op, operand(0), operand(1)) : std::nullopt;
  }

 private:
  const TensorType& type() const { return graph_.type(node_.results[0]); }
  bool is_small() const {
    return type().is_static() && element_count(constant_shape(type().shape)) <= KnownDims::kMaxElements;
  }

  std::optional<Shape> operand(size_t i) const {
    return i < node_.operands.size() && node_.operands[i] != kNone ? known_.elements(graph_, node_.operands[i])
                                                                   : std::nullopt;
  }

  // By moving numbers of the elements, with the op's own evaluation.
  std::optional<Shape> moved() const {
    if (!is_small() || is_symbolic(node_.attributes)) return std::nullopt;
    Numbered numbered;
    numbered.operands.reserve(node_.operands.size());
    std::vector<const Tensor*> operands;
    for (size_t i = 0; i < node_.operands.size(); ++i) {
      const ValueId v = node_.operands[i];
      const OperandSpec& spec = node_.op->operands.of(i);
      operands.push_back(v == kNone ? nullptr : known_.value(graph_, v));
      if (v == kNone || (operands[i] && (spec.argument || spec.indices))) continue;
      const std::optional<Shape> dims = operand(i);
      if (spec.argument || spec.indices || !dims || !graph_.type(v).is_static()) return std::nullopt;
      numbered.add(*dims, constant_shape(graph_.type(v).shape));
      operands[i] = &numbered.operands.back();
    }
    TensorType numbers = type();
    numbers.dtype = DType::i64;
    Shape picked;
    for (int64_t i : evaluate_op(*node_.op, {operands, node_.attributes, {&numbers, 1}})[0].to_integers())
      picked.push_back(numbered.elements.at(static_cast<size_t>(i)));
    return picked;
  }

  std::optional<Shape> chosen() const {
    const std::optional<Shape> condition = operand(0), yes = operand(1), no = operand(2);
    if (!condition || !yes || !no) return std::nullopt;
    const size_t count = std::max({condition->size(), yes->size(), no->size()});
    for (const Shape* each : {&*condition, &*yes, &*no})
      if (each->size() != count && each->size() != 1) return std::nullopt;
    const auto at = [](const Shape& s, size_t i) { return s[s.size() == 1 ? 0 : i]; };
    Shape result;
    for (size_t i = 0; i < count; ++i) {
      if (!at(*condition, i).is_constant()) return std::nullopt;
      result.push_back(at(*condition, i) == Dim(0) ? at(*no, i) : at(*yes, i));
    }
    return result;
  }

  std::optional<Shape> product() const {
    const std::optional<Shape> x = operand(0);
    if (!x || graph_.type(node_.operands[0]).rank() > 1) return std::nullopt;
    return Shape{element_count(*x)};
  }

  std::optional<Shape> filled() const {
    const double number = node_.attributes.get<double>("value");
    if (!is_small() || !(std::abs(number) <= 0x1p53)) return std::nullopt;
    return Shape(static_cast<size_t>(element_count(constant_shape(type().shape))), static_cast<int64_t>(number));
  }

  const KnownDims& known_;
  const Graph& graph_;
  const Node& node_;
};

}  // namespace

void KnownDims::note(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.results.size() != 1 || !may_hold_dims(graph.type(node.results[0]))) return;
  std::optional<Shape> dims;
  try {
    dims = Follow(*this, graph, node).result();
  } catch (const Error&) {  // of sizes that overflow: the node gives what it gives when it runs
  }
  const TensorType& type = graph.type(node.results[0]);
  if (!dims || held_ > kMaxHeld || !may_be_all(type, *dims)) return;
  if (std::ranges::any_of(*dims, [](const Dim& d) { return d.is_unknown(); })) return;
  if (type.is_static() && is_constant(*dims))
    hold(node.results[0], Tensor::of<int64_t>(constant_shape(type.shape), constant_shape(*dims)).converted(type.dtype));
  set(node.results[0], *std::move(dims));
}

void KnownDims::set(ValueId value, Shape dims) {
  held_ += dims.size();
  known_[value] = std::move(dims);
}

const Tensor* KnownDims::value(const Graph& graph, ValueId value) const {
  if (const auto found = values_.find(value); found != values_.end()) return &found->second;
  return graph.constant(value);
}

std::optional<Shape> KnownDims::elements(const Graph& graph, ValueId value) const {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  const Tensor* constant = graph.constant(value);
  if (!constant || !may_hold_dims(constant->type()) || constant->elements() > kMaxElements) return std::nullopt;
  return to_shape(constant->to_integers());
}

std::optional<Shape> KnownDims::of(const Graph& graph, ValueId value) const {
  const TensorType& type = graph.type(value);
  return type.ranked && type.rank() <= 1 ? elements(graph, value) : std::nullopt;
}

}  // namespace hone

#include "io/onnx/known_dims.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "ops/calls.h"

namespace hone {
namespace {

constexpr size_t kMaxHeld = 1'000'000;  // some 100 MB

bool may_hold_dims(const TensorType& type) {
  return type.ranked && type.container == Container::none && !type.is_packed() &&
         (type.dtype == DType::i64 || type.dtype == DType::i32 || type.dtype == DType::boolean) && type.rank() <= 1;
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
  if (op == &sub_def) return a - b;
  if (op == &mul_def) return a * b;
  if (op == &equal_def) return equal(a, b);
  if (op == &div_def && b.is_constant() && b.constant() > 0 && is_size(a)) return floordiv(a, b);
  if (op == &div_def && is_size(a) && is_size(b) && b.is_symbol()) return floordiv(a, b);
  return std::nullopt;
}

std::optional<Shape> each(const Shape& a, const Shape& b,
                          const std::function<std::optional<Dim>(const Dim&, const Dim&)>& f) {
  if (a.empty() || b.empty() || (a.size() != b.size() && a.size() != 1 && b.size() != 1)) return std::nullopt;
  Shape result;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::optional<Dim> dim = f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!dim) return std::nullopt;
    result.push_back(*dim);
  }
  return result;
}

class Follow {
 public:
  Follow(const KnownDims& known, const Graph& graph, const Node& node) : known_(known), graph_(graph), node_(node) {}

  std::optional<Shape> result() const {
    const OpDef* const op = node_.op;
    const TensorType& type = graph_.type(node_.results[0]);
    if (op == &shape_of_def) {
      const TensorType& x = graph_.type(node_.operands[0]);
      if (!x.ranked || x.container != Container::none) return std::nullopt;
      return x.shape;
    }
    if (op == &concat_def) return concatenated();
    if (op == &gather_def) return gathered();
    if (op == &slice_def || op == &strided_slice_def) return sliced(type);
    if (op == &where_def) return chosen();
    if (op == &reduce_prod_def) return product();
    if (op == &cast_def || op == &identity_def || op == &squeeze_def || op == &unsqueeze_def || op == &reshape_def ||
        op == &flatten_def)
      return operand(0);
    if (op == &full_def || op == &expand_def) return repeated(op, type);
    if (node_.operands.size() == 2) {
      const std::optional<Shape> a = operand(0), b = operand(1);
      if (a && b) return each(*a, *b, [op](const Dim& x, const Dim& y) { return arithmetic(op, x, y); });
    }
    return std::nullopt;
  }

 private:
  std::optional<Shape> operand(size_t i) const {
    return i < node_.operands.size() && node_.operands[i] != kNone ? known_.of(graph_, node_.operands[i])
                                                                   : std::nullopt;
  }

  std::optional<Shape> concatenated() const {
    Shape all;
    for (size_t i = 0; i < node_.operands.size(); ++i) {
      const std::optional<Shape> part = operand(i);
      if (!part) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
      if (all.size() > KnownDims::kMaxElements) return std::nullopt;
    }
    return all;
  }

  std::optional<Shape> gathered() const {
    const std::optional<Shape> table = operand(0), indices = operand(1);
    if (!table || !indices || graph_.type(node_.operands[0]).rank() != 1) return std::nullopt;
    Shape picked;
    for (const Dim& index : *indices) {
      if (!index.is_constant()) return std::nullopt;
      const auto size = static_cast<int64_t>(table->size());
      const int64_t at = index.constant() < 0 ? index.constant() + size : index.constant();
      if (at < 0 || at >= size) return std::nullopt;
      picked.push_back((*table)[static_cast<size_t>(at)]);
    }
    return picked;
  }

  // By slicing the positions themselves, with the op's own evaluation.
  std::optional<Shape> sliced(const TensorType& type) const {
    const std::optional<Shape> x = operand(0);
    if (!x || !type.is_static() || is_symbolic(node_.attributes)) return std::nullopt;
    if (graph_.type(node_.operands[0]).shape != Shape{static_cast<int64_t>(x->size())}) return std::nullopt;
    std::vector<int64_t> positions(x->size());
    for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
    const Tensor all = Tensor::of<int64_t>({static_cast<int64_t>(x->size())}, positions);
    std::vector<const Tensor*> operands{&all};
    for (size_t i = 1; i < node_.operands.size(); ++i) {
      operands.push_back(graph_.constant(node_.operands[i]));
      if (node_.operands[i] != kNone && !operands.back()) return std::nullopt;
    }
    TensorType indices = type;
    indices.dtype = DType::i64;
    Shape picked;
    for (int64_t at : node_.op->eval({operands, node_.attributes, {&indices, 1}})[0].to_integers()) {
      if (at < 0 || at >= static_cast<int64_t>(x->size())) return std::nullopt;
      picked.push_back((*x)[static_cast<size_t>(at)]);
    }
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
    if (!x || graph_.type(node_.results[0]).rank() > 1) return std::nullopt;
    return Shape{element_count(*x)};
  }

  std::optional<Shape> repeated(const OpDef* op, const TensorType& type) const {
    if (!type.is_static() || element_count(constant_shape(type.shape)) > KnownDims::kMaxElements) return std::nullopt;
    std::optional<Shape> value = operand(0);
    if (op == &full_def) {
      const double number = node_.attributes.get<double>("value");
      if (!(std::abs(number) <= 0x1p53)) return std::nullopt;
      value = Shape{static_cast<int64_t>(number)};
    }
    if (!value) return std::nullopt;
    const auto count = static_cast<size_t>(element_count(constant_shape(type.shape)));
    if (value->size() == count) return value;
    return value->size() == 1 ? std::optional(Shape(count, (*value)[0])) : std::nullopt;
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
  const bool fits =
      dims && static_cast<int64_t>(dims->size()) <= kMaxElements &&
      (type.rank() == 0 ? dims->size() == 1 : may_be_same(type.shape[0], Dim(static_cast<int64_t>(dims->size()))));
  const bool unknown = dims && std::any_of(dims->begin(), dims->end(), [](const Dim& d) { return d.is_unknown(); });
  if (fits && !unknown) set(node.results[0], *std::move(dims));
}

void KnownDims::set(ValueId value, Shape dims) {
  if (held_ > kMaxHeld) return;
  held_ += dims.size();
  known_[value] = std::move(dims);
}

const Tensor* KnownDims::value(const Graph& graph, ValueId value) const {
  if (const auto found = values_.find(value); found != values_.end()) return &found->second;
  return graph.constant(value);
}

std::optional<Shape> KnownDims::of(const Graph& graph, ValueId value) const {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  const Tensor* constant = graph.constant(value);
  if (!constant || !may_hold_dims(constant->type()) || constant->elements() > kMaxElements) return std::nullopt;
  return to_shape(constant->to_integers());
}

}  // namespace hone

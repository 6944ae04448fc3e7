// Random graphs for every kernel class: values of up to five axes, of whose sizes many are 1 and some are 0, open or
// fixed, and steps that add a few nodes each (random_*_steps.h). Equal seeds give equal graphs.
#pragma once

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ops/registry.h"
#include "runtime/session.h"
#include "tests/support/graph_bound.h"
#include "tests/support/op_case.h"

namespace hone::test {

using Axes = std::vector<int64_t>;

class RandomGraph {
 public:
  // `open`: most sizes are symbols, which get their values with the inputs.
  RandomGraph(uint64_t seed, bool open) : rng(seed) {
    const bool has_zeros = one_in(8);
    for (int i = 0; i < kSizes; ++i) {
      const int64_t size = any_size(has_zeros);
      const bool is_symbol = open && below(4) > 0;
      sizes_.push_back(is_symbol ? Dim::symbol(fmt::format("N{}", i)) : Dim(size));
      if (is_symbol) bindings_[fmt::format("N{}", i)] = size;
    }
  }

  Philox rng;
  Graph graph;
  NamedTensors inputs;      // what callers give
  NamedTensors parameters;  // what parameters are at first

  // --- choices ---
  int64_t below(int64_t n) { return rng.below(static_cast<uint32_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[below(std::ssize(all))];
  }
  int64_t small() { return one_in(3) ? 1 : 1 + below(6); }

  // --- shapes ---
  const TensorType& type(ValueId v) const { return graph.type(v); }
  size_t rank(ValueId v) const { return type(v).rank(); }
  Axes sizes(const Shape& shape) const { return evaluate(shape, bindings_); }
  Axes sizes(ValueId v) const { return sizes(type(v).shape); }
  int64_t size(ValueId v, int64_t axis) const {
    return sizes(v)[static_cast<size_t>(axis < 0 ? axis + std::ssize(type(v).shape) : axis)];
  }
  int64_t some_axis(ValueId v) {  // at times counted from the end
    const int64_t axis = below(static_cast<int64_t>(rank(v)));
    return one_in(3) ? axis - static_cast<int64_t>(rank(v)) : axis;
  }
  Axes some_axes(ValueId v) {
    Axes axes;
    while (axes.empty())
      for (int64_t axis = 0; axis < std::ssize(type(v).shape); ++axis)
        if (one_in(2)) axes.push_back(axis);
    return axes;
  }
  Shape some_shape(size_t rank) {
    Shape shape;
    for (size_t i = 0; i < rank; ++i) shape.push_back(sizes_[static_cast<size_t>(below(kSizes))]);
    return bounded(std::move(shape));
  }
  // Broadcasts to `shape`.
  Shape shape_beside(const Shape& shape) {
    Shape own(shape.begin() + below(std::ssize(shape) + 1), shape.end());
    for (Dim& dim : own)
      if (one_in(2)) dim = 1;
    return own;
  }

  // --- values ---
  const Bounded& known(ValueId v) const { return known_.at(v); }  // by the reference
  bool is_exact(ValueId v) const { return known(v).exact(); }
  ValueId input(DType dtype, Shape shape) {
    const Axes own = sizes(shape);
    const std::string label = fmt::format("x{}", inputs.size());
    inputs[label] = is_float(dtype) ? random_floats(rng, own, dtype) : random_integers(rng, own, dtype, 0, 6);
    return added(graph.add_input(label, {dtype, std::move(shape)}), {inputs[label], {}});
  }
  ValueId parameter(const Tensor& value) {
    const std::string label = new_label();
    parameters[label] = value;
    return added(graph.add_parameter(label, value), {value, {}});
  }
  ValueId constant(const Tensor& value) {
    const ValueId v = graph.add_constant(one_in(2) ? "" : new_label(), value);
    known_[v] = {value, {}};
    return v;
  }
  ValueId number(float value) { return constant(Tensor::scalar<float>(value)); }
  // One of those there are, or a new input where none fits, and at times.
  ValueId some(DType dtype, size_t least, size_t most, bool exact) {
    const ValueId found = find([&](ValueId v) {
      return type(v).dtype == dtype && rank(v) >= least && rank(v) <= most && (!exact || is_exact(v));
    });
    if (found != kNone && !one_in(6)) return found;
    return input(dtype, some_shape(least + static_cast<size_t>(below(static_cast<int64_t>(most - least) + 1))));
  }
  ValueId floats(size_t least, size_t most, bool exact = false) { return some(DType::f32, least, most, exact); }
  ValueId integers(size_t least, size_t most, DType dtype = DType::i64) { return some(dtype, least, most, true); }
  // Another of its type, kNone where there is none.
  ValueId alike(ValueId v) {
    return find([&](ValueId other) { return other != v && type(other) == type(v); });
  }
  // What a product reads beside x: a constant, packed or not, a parameter, an input, or computed from one of these.
  ValueId weight(const Axes& shape, const char* format = nullptr) {
    const Tensor plain = random_floats(rng, shape, DType::f32, -1, 1);
    if (format) return constant(pack(parse_format(format), plain));
    switch (below(6)) {
      case 0:
        return parameter(plain);
      case 1:
        return input(DType::f32, to_shape(shape));
      case 2:
        return computed_weight(shape);
      default:
        return constant(plain);
    }
  }

  // --- nodes: their results become values for further steps ---
  // Error where a shape rule or the reference refuses it, and where its bound would let anything pass.
  std::vector<ValueId> emit_all(const char* op, const std::vector<ValueId>& operands, Attributes attributes = {}) {
    const NodeId id = graph.add_node(ops::get(op), operands, std::move(attributes));
    try {
      const Node& node = graph.node(id);
      const Attributes numbers = substituted(node.attributes, bindings_);
      std::vector<const Bounded*> given;
      for (ValueId v : operands) given.push_back(v == kNone ? nullptr : &known(v));
      std::vector<Bounded> results = NodeBound(*node.op, numbers, given).run();
      for (size_t i = 0; i < results.size(); ++i) check_result(node.results[i], results[i]);
      for (size_t i = 0; i < results.size(); ++i) added(node.results[i], std::move(results[i]));
      return node.results;
    } catch (const Error&) {
      graph.erase(id);
      throw;
    }
  }
  ValueId emit(const char* op, const std::vector<ValueId>& operands, Attributes attributes = {}) {
    return emit_all(op, operands, std::move(attributes))[0];
  }

  // What nothing reads, and some of what something does.
  void add_outputs() {
    for (ValueId v : values_)
      if (graph.producer(v) != kNone && !type(v).is_packed() && (graph.use_count(v) == 0 || one_in(6)))
        graph.add_output(v, fmt::format("y{}", v));
  }

 private:
  static constexpr int kSizes = 6;
  static constexpr int64_t kMostElements = 4000;

  int64_t any_size(bool has_zeros) {
    if (has_zeros && one_in(4)) return 0;
    return one_in(5) ? 2 + below(16) : small();
  }
  Shape bounded(Shape shape) {
    while (element_count(sizes(shape)) > kMostElements) shape[static_cast<size_t>(below(std::ssize(shape)))] = 1;
    return shape;
  }
  std::string new_label() { return fmt::format("w{}", labels_++); }
  ValueId added(ValueId v, Bounded value) {
    known_[v] = std::move(value);
    values_.push_back(v);
    return v;
  }
  void check_result(ValueId v, const Bounded& result) const {
    constexpr double kWidest = 1e-2, kLargest = 1e4;
    if (result.value.is_packed() ? !result.exact() : !std::ranges::equal(result.value.shape(), sizes(v)))
      fail("sizes that depend on data, or rounded codes");
    if (result.value.is_packed()) return;
    if (!std::ranges::all_of(result.value.to_doubles(), [](double x) { return std::isfinite(x); }))
      fail("it is not finite");
    const auto [error, magnitude] = bound_size(result);
    if (!(error <= kWidest * (1 + magnitude)) || !(magnitude <= kLargest)) fail("the bound is {}", error);
  }
  // One of the later ones, so that chains grow.
  template <class Fits>
  ValueId find(Fits fits) {
    std::vector<ValueId> fitting;
    for (ValueId v : values_)
      if (!type(v).is_packed() && known(v).value.elements() <= kMostElements && fits(v)) fitting.push_back(v);
    if (fitting.empty()) return kNone;
    return fitting[static_cast<size_t>(std::max(below(std::ssize(fitting)), below(std::ssize(fitting))))];
  }
  // A view or a move of another weight, or its product with a number.
  ValueId computed_weight(const Axes& shape) {
    switch (below(3)) {
      case 0:
        return emit("transpose", {weight({shape.rbegin(), shape.rend()})});
      case 1:
        return emit("reshape", {weight({element_count(shape)})}, {{"shape", to_shape(shape)}});
      default:
        return emit("mul", {weight(shape), number(0.5f)});
    }
  }

  std::vector<Dim> sizes_;
  Bindings bindings_;
  std::vector<ValueId> values_;
  std::map<ValueId, Bounded> known_;
  int labels_ = 0;
};

// Adds nodes; Error where a shape rule refuses what was drawn.
struct RandomStep {
  const char* name;
  void (*add)(RandomGraph& g);
};

}  // namespace hone::test

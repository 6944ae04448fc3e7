// scatter_elements and scatter_nd: data [..] into which updates went at computed places, with four ways to join the
// two.
#include <string>

#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/gather_elements.h"
#include "ops/calls/gather_nd.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

// The two ops, each with the gather that reads where it writes.
class Places {
 public:
  explicit Places(const GradientArgs& a) : a_(a), g_(a.graph) {}

  ValueId put(ValueId data, ValueId updates, const char* reduction) const {
    if (by_tuples())
      return ops::scatter_nd(g_, {.x = data, .indices = a_.operand(1), .updates = updates, .reduction = reduction});
    return ops::scatter_elements(
        g_, {.x = data, .indices = a_.operand(1), .updates = updates, .axis = axis(), .reduction = reduction});
  }

  ValueId read(ValueId data) const {
    if (by_tuples()) return ops::gather_nd(g_, {.x = data, .indices = a_.operand(1)});
    return ops::gather_elements(g_, {.x = data, .indices = a_.operand(1), .axis = axis()});
  }

 private:
  bool by_tuples() const { return a_.op().op == &scatter_nd_def; }
  int64_t axis() const { return a_.op().attributes.get_or<int64_t>("axis", 0); }

  const GradientArgs& a_;
  Graph& g_;
};

struct ScatterGradients {
  ValueId data, updates;
};

// Of updates that meet in a place the last one stays, which their numbers tell.
ScatterGradients replaced(const GradientArgs& a, const Places& places, ValueId d) {
  Graph& g = a.graph;
  const DType dtype = g.type(d).dtype;
  const Shape& shape = a.type(2).shape;
  const ValueId numbers = ops::reshape(g, {.x = ops::iota(g, {.shape = Shape{element_count(shape)}}), .shape = shape});
  const ValueId none = ops::full(g, {.shape = a.type(0).shape, .value = -1.0, .dtype = DType::i64});
  const ValueId stays = ops::equal(g, {places.read(places.put(none, numbers, "none")), numbers});
  const ValueId zero = zeros(g, dtype, {});
  return {places.put(d, zeros(g, dtype, shape), "none"), ops::where(g, {stays, places.read(d), zero})};
}

// A factor's gradient is d times the product of the others: of all that are not 0, over itself, where no other is 0.
ScatterGradients multiplied(const GradientArgs& a, const Places& places, ValueId d) {
  Graph& g = a.graph;
  const DType dtype = g.type(d).dtype;
  const ValueId zero = zeros(g, dtype, {}), one = ops::full(g, {.shape = Shape(), .value = 1.0, .dtype = dtype});
  const auto is_zero = [&](ValueId x) { return ops::equal(g, {x, zero}); };
  const auto without_zeros = [&](ValueId x) { return ops::where(g, {is_zero(x), one, x}); };
  const auto zeros_in = [&](ValueId x) { return ops::cast(g, {.x = is_zero(x), .dtype = dtype}); };
  const ValueId data = as_dtype(g, a.operand(0), dtype), updates = as_dtype(g, a.operand(2), dtype);
  const ValueId ones = ops::full(g, {.shape = a.type(0).shape, .value = 1.0, .dtype = dtype});
  const ValueId product = places.put(without_zeros(data), without_zeros(updates), "mul"),
                count = places.put(zeros_in(data), zeros_in(updates), "add");
  const ValueId no_other_is_zero = ops::equal(g, {places.read(count), zeros_in(updates)});
  const ValueId others = ops::div(g, {places.read(ops::mul(g, {d, product})), without_zeros(updates)});
  return {ops::mul(g, {d, places.put(ones, updates, "mul")}), ops::where(g, {no_other_is_zero, others, zero})};
}

// What is the extreme shares its gradient.
ScatterGradients chosen(const GradientArgs& a, const Places& places, ValueId d) {
  Graph& g = a.graph;
  const DType dtype = g.type(d).dtype;
  const ValueId y = a.result();
  const ValueId of_data = ops::cast(g, {.x = ops::equal(g, {a.operand(0), y}), .dtype = dtype});
  const ValueId of_updates = ops::cast(g, {.x = ops::equal(g, {a.operand(2), places.read(y)}), .dtype = dtype});
  const ValueId share = ops::div(g, {d, places.put(of_data, of_updates, "add")});
  return {ops::mul(g, {share, of_data}), ops::mul(g, {places.read(share), of_updates})};
}

std::vector<ValueId> scatter_gradient(const GradientArgs& a) {
  const Places places(a);
  const std::string how = a.op().attributes.get_or<std::string>("reduction", "none");
  const ValueId d = a.d_results[0];
  const ScatterGradients gradients = how == "none"  ? replaced(a, places, d)
                                     : how == "add" ? ScatterGradients{d, places.read(d)}
                                     : how == "mul" ? multiplied(a, places, d)
                                                    : chosen(a, places, d);
  return {gradients.data, kNone, gradients.updates};
}

}  // namespace

extern constinit const GradientDef scatter_elements_rule_def{.op = &scatter_elements_def, .rule = scatter_gradient};
extern constinit const GradientDef scatter_nd_rule_def{.op = &scatter_nd_def, .rule = scatter_gradient};

}  // namespace hone

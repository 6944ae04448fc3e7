// resize: along each axis a product with a matrix of weights, most of them 0, and back a product with its transpose.
#include "ops/calls/resize.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "gradients/gradient.h"
#include "ops/calls/matmul.h"
#include "ops/read_positions.h"

namespace hone {
namespace {

// The node as its reference evaluation sees it, which reads only sizes of axes that are resized: others may be open,
// and count as a few elements, so that each has the neighbours that it would have.
class KnownResize {
  static constexpr int64_t kFew = 8;

 public:
  explicit KnownResize(const GradientArgs& a) : attributes_(a.op().attributes), result_(a.graph.type(a.result())) {
    const bool is_region = attributes_.get_or<std::string>("coordinates", "") == "tf_crop_and_resize";
    for (size_t i = 0; i < result_.shape.size(); ++i) {
      const Dim& size = a.type(0).shape[i];
      const bool open = !size.is_constant() || !result_.shape[i].is_constant();
      if (open && (is_region || size != result_.shape[i]))
        fail("axis {} is resized from {} to {}, which are not known before a run", i, size.to_string(),
             result_.shape[i].to_string());
      is_open_.push_back(open);
      sizes_.push_back(open ? kFew : size.constant());
      if (open) result_.shape[i] = kFew;
    }
    for (size_t i = 1; i < a.op().operands.size(); ++i)
      if (a.operand(i) != kNone && !a.graph.constant(a.operand(i)))
        fail("how it resizes is computed while it runs; accepted: constants");
    operands_.push_back(nullptr);
    for (size_t i = 1; i < a.op().operands.size(); ++i)
      operands_.push_back(a.operand(i) == kNone ? nullptr : a.graph.constant(a.operand(i)));
    if (!attributes_.has("sizes")) return;
    Shape asked = attributes_.get<Shape>("sizes");
    for (Dim& size : asked)
      if (!size.is_constant()) size = kFew;
    attributes_.set("sizes", asked);
  }

  std::vector<ResizedAxis> axes() const { return resize_samples({operands_, attributes_, {&result_, 1}}, sizes_); }
  int64_t length(size_t axis) const { return sizes_[axis]; }
  bool is_open(size_t axis) const { return is_open_[axis]; }

 private:
  Attributes attributes_;
  TensorType result_;
  std::vector<const Tensor*> operands_;
  std::vector<int64_t> sizes_;  // of x
  std::vector<bool> is_open_;
};

// [places, length]; no value where each place is its own element.
std::optional<Tensor> weights_of(const ResizedAxis& axis, int64_t length, DType dtype) {
  const auto places = std::ssize(axis.places);
  const int64_t count = checked_mul(places, length);
  require_memory(checked_mul(count, sizeof(double)), "the weights of a resized axis");
  std::vector<double> weights(static_cast<size_t>(count), 0.0);
  bool is_identity = places == length;
  for (int64_t place = 0; place < places; ++place) {
    double* row = weights.data() + place * length;
    for (const Weighted& each : axis.places[static_cast<size_t>(place)]) row[each.position] += each.weight;
    for (int64_t i = 0; i < length && is_identity; ++i) is_identity = row[i] == (i == place ? 1 : 0);
  }
  if (is_identity) return std::nullopt;
  return Tensor::from_doubles(dtype, {places, length}, weights);
}

// d [..., places, ...] times weights [places, length] along an axis.
ValueId along_axis(Graph& g, ValueId d, size_t axis, ValueId weights) {
  Shape shape = g.type(d).shape;
  const Shape before(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(axis)),
      after(shape.begin() + static_cast<ptrdiff_t>(axis) + 1, shape.end());
  const Dim outer = element_count(before), inner = element_count(after), places = shape[axis];
  shape[axis] = g.type(weights).shape[1];
  if (after.empty()) return reshaped(g, ops::matmul(g, {.a = reshaped(g, d, {outer, places}), .b = weights}), shape);
  const ValueId rows = reshaped(g, d, {outer, places, inner});
  return reshaped(g, ops::matmul(g, {.a = weights, .b = rows, .transpose_a = 1}), shape);
}

std::vector<ValueId> resize_gradient(const GradientArgs& a) {
  const KnownResize resize(a);
  ValueId d = a.d_results[0];
  for (const ResizedAxis& each : resize.axes())
    if (std::optional<Tensor> weights = weights_of(each, resize.length(each.axis), a.graph.type(d).dtype)) {
      if (resize.is_open(each.axis))
        fail("axis {} keeps its size, which is not known before a run, and moves", each.axis);
      d = along_axis(a.graph, d, each.axis, a.graph.add_constant("", *std::move(weights)));
    }
  return {d};
}

}  // namespace

extern constinit const GradientDef resize_rule_def{.op = &resize_def, .rule = resize_gradient};

}  // namespace hone

// Losses of labels. Which class is a row's label is a comparison with the classes' numbers, [1,C], so that no tensor of
// ones and zeros is kept.
#include <optional>

#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/cross_entropy.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/gather_elements.h"
#include "ops/calls/gather_gradient.h"
#include "ops/calls/nll_loss.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/softmax.h"

namespace hone {
namespace {

// Labels [N,...] of classes along axis 1 of scores [N,C,...], some of which are ignored.
class Labels {
 public:
  Labels(const GradientArgs& a, std::optional<int64_t> ignored)
      : a_(a), g_(a.graph), labels_(a.operand(1)), dtype_(a.graph.type(a.d_results[0]).dtype) {
    if (!ignored) return;
    const Tensor none = Tensor::scalar<int64_t>(*ignored).converted(type().dtype);
    counts_ = ops::not_equal(g_, {labels_, g_.add_constant("", none)});
    const ValueId first = g_.add_constant("", Tensor::scalar<int64_t>(0).converted(type().dtype));
    labels_ = ops::where(g_, {counts_, labels_, first});
  }

  // x where a label counts, 0 elsewhere; x has the shape of the labels.
  ValueId counted(ValueId x) const { return counts_ == kNone ? x : ops::where(g_, {counts_, x, constant(0)}); }

  // The weight of each label's class, and of each class, 1 without weights.
  ValueId weights(size_t operand) const {
    if (a_.operand(operand) == kNone) return counted(ones());
    return counted(ops::gather(g_, {.table = class_weights(operand), .indices = labels_}));
  }
  ValueId class_weights(size_t operand) const {
    if (a_.operand(operand) != kNone) return as_dtype(g_, a_.operand(operand), dtype_);
    return ops::full(g_, {.shape = Shape{a_.type(0).shape[1]}, .value = 1.0, .dtype = dtype_});
  }
  ValueId ones() const { return ops::full(g_, {.shape = type().shape, .value = 1.0, .dtype = dtype_}); }  // one a label

  // Whether a class, along axis 1, is the label: of the shape of the scores.
  ValueId is_label() const {
    const Shape& scores = a_.type(0).shape;
    Shape classes(scores.size(), Dim(1));
    classes[1] = scores[1];
    return ops::equal(g_, {over_classes(labels_), ops::iota(g_, {.shape = classes, .axis = 1, .dtype = type().dtype})});
  }

  // The score of each label, [N,...].
  ValueId score(ValueId scores) const {
    return reshaped(g_, ops::gather_elements(g_, {.x = scores, .indices = over_classes(labels_), .axis = 1}),
                    type().shape);
  }

  ValueId over_classes(ValueId x) const { return ops::unsqueeze(g_, {.x = x, .axes = std::vector<int64_t>{1}}); }

  // Of a value per label, sums over the labels of each class.
  ValueId by_class(ValueId x) const {
    return ops::gather_gradient(g_, {.d = x, .indices = labels_, .shape = Shape{a_.type(0).shape[1]}});
  }

  DType dtype() const { return dtype_; }  // of all that is computed
  ValueId total(ValueId x) const { return ops::reduce_sum(g_, {.x = x, .keepdims = 0}); }
  ValueId constant(double value) const { return ops::full(g_, {.shape = Shape(), .value = value, .dtype = dtype_}); }

 private:
  const TensorType& type() const { return a_.type(1); }

  const GradientArgs& a_;
  Graph& g_;
  ValueId labels_, counts_ = kNone;  // 0 in place of ignored labels; which are not

  DType dtype_;
};

// With W the sum of the labels' weights w, p = softmax(x), s the smoothing and u the classes' own weights:
//   by x  (1 - s) w (p - [c is the label]) / W + s / C (p sum(u) - u) / W, of rows that count
//   by u  ((1 - s) l - loss) / W summed over the rows of each label, with l their losses, and s / C sum(-log p) / W
class CrossEntropy {
 public:
  explicit CrossEntropy(const GradientArgs& a)
      : a_(a),
        g_(a.graph),
        labels_(a, a.op().attributes.get_or<int64_t>("ignore_index", -100)),
        smoothing_(a.op().attributes.get_or<double>("label_smoothing", 0)),
        x_(as_dtype(g_, a.operand(0), labels_.dtype())),
        w_(labels_.weights(2)),
        scale_(ops::div(g_, {a.d_results[0], labels_.total(w_)})) {}

  ValueId by_scores() const {
    const ValueId p = ops::softmax(g_, {.x = x_});
    const ValueId off = ops::where(g_, {labels_.is_label(), ops::sub(g_, {p, labels_.constant(1)}), p});
    const ValueId own = scaled(ops::mul(g_, {w_, labels_.constant(1 - smoothing_)}));
    const ValueId gradient = ops::mul(g_, {off, labels_.over_classes(own)});
    if (smoothing_ == 0) return gradient;
    const ValueId u = labels_.class_weights(2);
    const ValueId others = ops::sub(g_, {ops::mul(g_, {p, labels_.total(u)}), u});
    const ValueId share = scaled(ops::mul(g_, {labels_.counted(labels_.ones()), share_of_a_class()}));
    return ops::add(g_, {gradient, ops::mul(g_, {others, labels_.over_classes(share)})});
  }

  ValueId by_weights() const {
    const ValueId log_p = ops::log_softmax(g_, {.x = x_}), loss = as_dtype(g_, a_.result(), labels_.dtype());
    const ValueId own = ops::mul(g_, {labels_.score(log_p), labels_.constant(smoothing_ - 1)});
    const ValueId gradient = labels_.by_class(labels_.counted(ops::sub(g_, {own, loss})));
    if (smoothing_ == 0) return scaled(gradient);
    const ValueId counted = ops::mul(g_, {log_p, labels_.over_classes(labels_.counted(labels_.ones()))});
    const ValueId sums = ops::reduce_sum(g_, {.x = counted, .axes = std::vector<int64_t>{0}, .keepdims = 0});
    return scaled(ops::sub(g_, {gradient, ops::mul(g_, {sums, share_of_a_class()})}));
  }

 private:
  ValueId scaled(ValueId x) const { return ops::mul(g_, {x, scale_}); }
  ValueId share_of_a_class() const {
    return ops::div(g_, {labels_.constant(smoothing_), size_along(g_, x_, std::vector<size_t>{1}, labels_.dtype())});
  }

  const GradientArgs& a_;
  Graph& g_;
  Labels labels_;
  double smoothing_;
  ValueId x_, w_, scale_;  // scores; weights of the labels; d / W
};

std::vector<ValueId> cross_entropy_gradient(const GradientArgs& a) {
  const CrossEntropy loss(a);
  return {a.wants(0) ? loss.by_scores() : kNone, kNone, a.wants(2) ? loss.by_weights() : kNone};
}

// By x -w where the class is the label, by the weights -x of the labels, less the loss where it is a mean; each over
// what the reduction divides by.
std::vector<ValueId> nll_loss_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const Attributes& attributes = a.op().attributes;
  std::optional<int64_t> ignored;
  if (attributes.has("ignore_index")) ignored = attributes.get<int64_t>("ignore_index");
  const Labels labels(a, ignored);
  const bool is_mean = attributes.get_or<std::string>("reduction", "mean") == "mean";
  const ValueId w = labels.weights(2);
  const ValueId d = is_mean ? ops::div(g, {a.d_results[0], labels.total(w)}) : a.d_results[0];
  std::vector<ValueId> gradients(3, kNone);
  if (a.wants(0)) {
    const ValueId of_label = labels.over_classes(ops::neg(g, {ops::mul(g, {w, d})}));
    gradients[0] = ops::where(g, {labels.is_label(), of_label, labels.constant(0)});
  }
  if (a.wants(2)) {
    ValueId off = ops::neg(g, {labels.score(as_dtype(g, a.operand(0), labels.dtype()))});
    if (is_mean) off = ops::sub(g, {off, as_dtype(g, a.result(), labels.dtype())});
    gradients[2] = labels.by_class(labels.counted(ops::mul(g, {off, d})));
  }
  return gradients;
}

}  // namespace

extern constinit const GradientDef cross_entropy_rule_def{.op = &cross_entropy_def, .rule = cross_entropy_gradient};
extern constinit const GradientDef nll_loss_rule_def{.op = &nll_loss_def, .rule = nll_loss_gradient};

}  // namespace hone

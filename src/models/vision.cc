#include "models/vision.h"

#include "ops/calls/batch_norm.h"
#include "ops/calls/conv.h"
#include "ops/calls/pool.h"
#include "ops/calls/reduce.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;

ValueId emit_convolution(VisionBuilder& builder, std::vector<ValueId> operands, const Convolution& shape) {
  const int64_t pad = (shape.kernel - 1) / 2;
  return builder.graph().emit(
      conv_def, std::move(operands),
      {{"strides", Integers(2, shape.stride)}, {"pads", Integers(4, pad)}, {"groups", shape.groups}});
}

ValueId convolution_weight(VisionBuilder& builder, const std::string& name, const Convolution& shape) {
  return builder.weight(name + ".weight", {shape.outputs, shape.inputs / shape.groups, shape.kernel, shape.kernel});
}

}  // namespace

ValueId VisionBuilder::images(int64_t channels, int64_t usual_size) {
  graph().metadata["image_size"] = std::to_string(usual_size);
  return only_input("pixel_values", {Dim::symbol("B"), channels, Dim::symbol("H"), Dim::symbol("W")});
}

ValueId VisionBuilder::convolution(ValueId x, const std::string& name, const Convolution& shape) {
  return emit_convolution(*this, {x, convolution_weight(*this, name, shape)}, shape);
}

ValueId VisionBuilder::biased_convolution(ValueId x, const std::string& name, const Convolution& shape) {
  const ValueId w = convolution_weight(*this, name, shape), b = weight(name + ".bias", {shape.outputs});
  return emit_convolution(*this, {x, w, b}, shape);
}

ValueId VisionBuilder::batch_norm(ValueId x, const std::string& name, int64_t channels, double epsilon) {
  std::vector<ValueId> operands{x};
  for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"})
    operands.push_back(as_f32(weight(name + part, {channels})));
  return graph().emit(batch_norm_def, std::move(operands), {{"epsilon", epsilon}});
}

ValueId VisionBuilder::halving_max_pool(ValueId x) {
  return ops::max_pool(
      graph(), {.x = x, .kernel_shape = Integers{3, 3}, .strides = Integers{2, 2}, .pads = Integers{1, 1, 1, 1}});
}

ValueId VisionBuilder::spatial_mean(ValueId x, int64_t keepdims) {
  return ops::reduce_mean(graph(), {.x = x, .axes = Integers{2, 3}, .keepdims = keepdims});
}

}  // namespace hone

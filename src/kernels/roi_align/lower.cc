// Regions of channels-last images.
#include "kernels/lowering.h"
#include "kernels/roi_align/plan.h"
#include "ops/sliding_window.h"

namespace hone {

Support lower_roi_align(const Lowering& lowering, Prepared& prepared) {
  constexpr int64_t kMostSamples = 64;  // along a dimension of a bin: far beyond real networks
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const Attributes& attributes = node.attributes;
  if (!channels_last(attributes)) return {"channels that are not the last dimension"};
  if (attributes.get_or<std::string>("mode", "avg") != "avg") return {"the largest of a bin's samples"};
  for (ValueId v : {node.operands[0], node.operands[1], node.results[0]})
    if (graph.type(v).dtype != DType::f32 || graph.type(v).is_packed())
      return {fmt::format("%{} of type {}", graph.value(v).name, to_string(graph.type(v)))};
  const Shape x = lowering.shape(node.operands[0]), out = lowering.shape(node.results[0]);
  if (!x[3].is_constant()) return {"an open number of channels"};
  const int64_t samples = attributes.get_or<int64_t>("sampling_ratio", 0);
  if (samples < 1 || samples > kMostSamples) return {"as many samples as a bin has elements"};
  step.plan = RoiAlignPlan{.channels = x[3].constant(),
                           .samples = samples,
                           .scale = attributes.get_or<double>("spatial_scale", 1),
                           .half_pixel = attributes.get_or<int64_t>("half_pixel", 0) != 0,
                           .images = graph.type(node.operands[2]).dtype};
  step.lasting = true;
  for (ValueId v : {node.operands[0], node.operands[1], node.operands[2], node.results[0]}) lowering.bind(step, v);
  const Extent regions = lowering.extent(out[0]), images = lowering.extent(x[0]), height = lowering.extent(x[1]),
               width = lowering.extent(x[2]), down = lowering.extent(out[1]), across = lowering.extent(out[2]);
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(RoiAlignArgs{.region_count = sizes.of(regions),
                            .images = sizes.of(images),
                            .height = sizes.of(height),
                            .width = sizes.of(width),
                            .bins_down = sizes.of(down),
                            .bins_across = sizes.of(across)});
    return Support{};
  };
  return {};
}

}  // namespace hone

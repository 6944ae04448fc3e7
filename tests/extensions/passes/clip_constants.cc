// A pass with options of its own.
#include <algorithm>

#include "passes/pass.h"

namespace hone {
namespace {

struct ClipOptions {
  double limit = 65504;  // the largest f16
  bool biases = false;
  static constexpr const char* kPass = "clip_constants";
  static std::span<const OptionField<ClipOptions>> fields();
};

constexpr OptionField<ClipOptions> kFields[] = {
    {"limit", "the largest magnitude that constants keep", &ClipOptions::limit},
    {"biases", "constants of one axis are clipped, too", &ClipOptions::biases},
};
std::span<const OptionField<ClipOptions>> ClipOptions::fields() { return kFields; }

Graph clip_constants(Graph graph, const PassContext&, const ClipOptions& options) {
  if (!(options.limit >= 0)) fail("limit is {}; accepted: 0 and more", options.limit);
  for (ValueId id : graph.constants()) {
    const Tensor& constant = *graph.constant(id);
    if (constant.dtype() != DType::f32 || constant.is_packed() || (constant.shape().size() < 2 && !options.biases))
      continue;
    std::vector<double> values = constant.to_doubles();
    for (double& v : values) v = std::clamp(v, -options.limit, options.limit);
    graph.set_constant(id, Tensor::from_doubles(DType::f32, constant.shape(), values));
  }
  return graph;
}

}  // namespace

extern constinit const PassDef clip_constants_def{.name = "clip_constants",
                                                  .doc = "Constants of two and more axes get no larger than a limit.",
                                                  .run = with_options<clip_constants>};

}  // namespace hone

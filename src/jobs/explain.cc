#include "jobs/explain.h"

#include <algorithm>
#include <map>

#include "ops/control.h"
#include "runtime/arena.h"
#include "runtime/cut_graph.h"
#include "runtime/host_step.h"

namespace hone {
namespace {

// Whether the step's elements only change places.
bool only_moves(const Graph& graph, const Step& step) {
  return std::all_of(step->group.nodes.begin(), step->group.nodes.end(),
                     [&](NodeId n) { return graph.node(n).op->moves; });
}

class Explanation {
 public:
  Explanation(const Model& model, const ExplainOptions& options)
      : lowering_(lowering_of(device_or_cpu(options.device), options)) {
    const Compute compute = options.compute ? *options.compute : stored_compute(model.graph);
    Graph prepared = prepare_for_codegen(model.graph, compute, options.pipeline, lowering_.device->pipeline());
    prepared.compact();
    parts_ = specialised_parts(prepared, bind_symbols(prepared, options.shapes));
    result_.with_bodies =
        static_cast<int64_t>(std::erase_if(parts_.turns, [&](NodeId n) { return is_control(*prepared.node(n).op); }));
    lowered_ = lower(parts_.head, lowering_);
    result_.nodes = std::ssize(model.graph.nodes());
  }

  ExplainResult result() {
    result_.device = std::string(lowering_.device->name()), result_.variant = lowering_.device->variant();
    result_.one_by_one = std::ssize(parts_.turns), result_.later = std::ssize(parts_.later);
    const RunSizes sizes(graph());
    for (size_t s = 0; s < lowered_.steps.size(); ++s) result_.steps.push_back(explained(s, sizes));
    plan_memory();
    return std::move(result_);
  }

 private:
  const Graph& graph() const { return parts_.head; }

  ExplainedStep explained(size_t s, const RunSizes& sizes) {
    const Step& step = lowered_.steps[s];
    const StepWork work = work_of(graph(), step);
    ExplainedStep result{.name = step->name,
                         .ops = ops_of(graph(), step->group),
                         .kernel = std::string(step.plan ? step.plan->kernel().name : "interpreted"),
                         .why_interpreted = step.plan ? "" : step->why_interpreted,
                         .flops = work.flops,
                         .bytes = work.bytes,
                         .on_host = step.on_host()};
    if (step.plan) result.code = code_of(step);
    if (step.on_host()) {
      result.copied_bytes = copied_bytes(*lowering_.device, graph(), lowered_, s, sizes);
      result.why_on_host = step.why_on_host;
    }
    result.refused.assign(step.refused.begin(), step.refused.end());
    for (const LeftOut& left : step->group.left_out)
      result.left_out.push_back(
          {graph().node(left.node).op->name, graph().value(graph().result(left.node)).name, left.why});
    if (only_moves(graph(), step)) result.moved = to_string(graph().type(step->writes[0]));
    return result;
  }

  // The place of the plan's machine code, which all its steps share.
  size_t code_of(const Step& step) {
    const Device& device = lowering_.device_of(step);
    const auto [found, is_new] = codes_.emplace(std::pair(&device, step.plan->text()), codes_.size());
    if (is_new)
      result_.codes.push_back({.kernel = std::string(step.plan->kernel().name),
                               .how = describe(device, *step.plan),
                               .on_host = step.on_host()});
    ++result_.codes[found->second].steps;
    return found->second;
  }

  void plan_memory() {
    const Arena arena = plan_arena(graph(), lowered_, !lowering_.device->is_host());
    result_.arena_bytes = arena.bytes, result_.largest_live_bytes = arena.lower_bound;
    result_.in_place = arena.in_place;
    std::map<std::string, int64_t> laid_out;
    for (const Step& step : lowered_.steps)
      for (const PointerBinding& pointer : step->pointers) {
        if (pointer.plane != PointerBinding::Plane::prepacked) continue;
        const Device& device = lowering_.device_of(step);
        const Prepacking& layout = prepacking(device, *step.plan);
        laid_out[fmt::format("{} {}", pointer.value, layout.key(device, *step.plan))] =
            layout.bytes(device, *step.plan);
      }
    for (const auto& [key, bytes] : laid_out) result_.prepacked_bytes += bytes;
  }

  static LowerOptions lowering_of(const std::shared_ptr<Device>& device, const ExplainOptions& options) {
    return {.device = device,
            .host = host_kernels_for(*device),
            .no_fallback = options.no_fallback,
            .fuse = options.fuse,
            .no_winograd = options.no_winograd};
  }

  const LowerOptions lowering_;
  SpecialisedParts parts_;
  LoweredGraph lowered_;
  ExplainResult result_;
  std::map<std::pair<const Device*, std::string>, size_t> codes_;
};

}  // namespace

std::span<const OptionField<ExplainFlags>> ExplainFlags::fields() {
  static const auto all = joined_fields<ExplainFlags>(ShapeFlags::fields(), DeviceFlags::fields(),
                                                      RunFlags::compute_fields(), RunFlags::plan_fields());
  return all;
}

ExplainOptions ExplainFlags::explanation() const {
  ExplainOptions options{.shapes = shapes(),
                         .device = asked_device(),
                         .fuse = !no_fusion,
                         .no_winograd = no_winograd,
                         .no_fallback = no_fallback};
  if (!compute.empty()) options.compute = parse_compute(compute);
  options.pipeline.disabled = no_pass;
  return options;
}

ExplainResult explain(const Model& model, const ExplainOptions& options) {
  return Explanation(model, options).result();
}

}  // namespace hone

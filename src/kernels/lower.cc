#include "kernels/lower.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/stop.h"
#include "ir/flops.h"
#include "kernels/kernel_sizes.h"
#include "kernels/lacking.h"
#include "kernels/lowering.h"
#include "ops/calls/expand.h"
#include "ops/calls/gather.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

// Bytes that an operand or result moves; of a table whose rows are numbered, only the rows that are read.
template <class ShapeOf>
double bytes_of(const Graph& graph, const Step& step, ValueId v, const ShapeOf& shape_of) {
  const auto shape = shape_of(v);
  const double elements = static_cast<double>(element_count(shape));
  const TensorType& type = graph.type(v);
  const double each = type.is_packed()
                          ? static_cast<double>(plane_bytes(*type.format, shape).total()) / std::max(elements, 1.0)
                      : type.dtype == DType::string ? 0
                                                    : size_bytes(type.dtype);
  const std::optional<RowNumbers> numbers = step.plan ? step.plan->kernel().row_numbers : std::nullopt;
  if (!numbers || step->pointers[static_cast<size_t>(numbers->table)].value != v) return each * elements;
  return each * static_cast<double>(element_count(shape_of(step->group.results[0])));
}

template <class ShapeOf>
StepWork work_with(const Graph& graph, const Step& step, const ShapeOf& shape_of) {
  StepWork work;
  if (step->is_rest) return work;
  for (NodeId n : step->group.nodes) work.flops += node_flops(graph, n);
  work.bytes = step->moved_bytes;
  if (work.bytes > 0) return work;
  for (ValueId v : step->reads) {
    const double bytes = bytes_of(graph, step, v, shape_of);
    work.bytes += bytes;
    if (graph.constant(v)) work.weight_bytes += bytes;
  }
  for (ValueId v : step->writes) work.bytes += bytes_of(graph, step, v, shape_of);
  return work;
}

// Whether all that lies apart is taken as it lies.
Support strides_support(const Lowering& lowering, const StepDraft& step) {
  for (const PointerBinding& pointer : step.pointers)
    if (lowering.lies_apart(pointer.value) && !lowering.asked.contains(pointer.value))
      return {fmt::format("the elements of %{} lie apart", lowering.graph.value(pointer.value).name)};
  return {};
}

std::string lacks(const Device& device, const KernelDef& kernel) {
  return fmt::format("{} has no {} kernels", device.name(), kernel.name);
}

// Whether the device has code for a step and lays its weights out. A step may be of another class than its group, whose
// kernel is `of_group`: columns join what rows leave. Without a plan it gets one of the group's class for each run.
Support code_support(const Device& device, const KernelDef& of_group, const StepDraft& step) {
  const KernelDef& kernel = step.plan ? step.plan->kernel() : of_group;
  const KernelImplementation* const own = device.find(kernel);
  if (!own) return {lacks(device, kernel)};
  if (step.plan)
    if (Support support = own->supports(device, *step.plan); !support.supported()) return support;
  const auto is_laid_out = [](const PointerBinding& p) { return p.plane == PointerBinding::Plane::prepacked; };
  if (own->prepacking.key || std::ranges::none_of(step.pointers, is_laid_out)) return {};
  return {fmt::format("{} lays out no weights for {}", device.name(), kernel.name)};
}

// By the first class that agrees, in the order in which they are asked. Why none does: those that the device lacks, and
// the last refusal of the others.
Support lowered(const Lowering& lowering, const Group& group, Prepared& prepared) {
  if (Support r = elements_support(lowering.graph, group); !r.supported()) return r;
  std::vector<std::string> lacking;
  std::optional<std::string> refusal;
  for (const KernelDef* kernel : group.kernels) {
    const KernelImplementation* const own = lowering.device.find(*kernel);
    if (!own) {
      lacking.push_back(lacks(lowering.device, *kernel));
      continue;
    }
    prepared = {};
    prepared.steps.emplace_back().group = group;
    lowering.asked.clear();
    Support support = kernel->lower(lowering, prepared);
    if (support.supported() && own->adapt) support = own->adapt(lowering.device, lowering, prepared);
    for (const StepDraft& step : prepared.steps) {
      if (support.supported()) support = code_support(lowering.device, *kernel, step);
      if (support.supported() && lowering.apart) support = strides_support(lowering, step);
    }
    if (!support.supported()) {
      refusal = std::move(support.why);
      continue;
    }
    for (std::string& why : lacking) prepared.step().refused.push_back(std::move(why));
    return support;
  }
  if (refusal) lacking.push_back(std::move(*refusal));
  if (lacking.empty()) return {fmt::format("no code generation for {}", lowering.graph.node(group.nodes[0]).op->name)};
  return {fmt::format("{}", fmt::join(lacking, "; "))};
}

LaidGraph laid_out(Graph graph, const LowerOptions& options, const Layouts& layouts) {
  if (layouts.empty()) return {std::move(graph), {}};
  check_constant_sizes(graph);  // before anything multiplies them
  return laid_graph(std::move(graph), layouts, options.fuse,
                    [&](const Graph& laid, const ApartValues& apart, const Group& group) {
                      Formulas formulas;
                      Prepared prepared;
                      const Lowering lowering{laid, *options.device, options.no_winograd, formulas, nullptr, &apart};
                      return lowered(lowering, group, prepared).supported();
                    });
}

}  // namespace

struct PreparedGraph::Impl {
  // What a group was prepared to.
  struct Steps {
    std::vector<Step> steps;
    std::function<Support(const RunSizes& sizes, StepCall& placed)> place;  // completes the last; null: complete
  };
  // What a device makes of a group. Prepared once; a group that can't be is prepared for each run's sizes.
  struct Offer {
    std::optional<Steps> prepared;
    bool asked = false;  // whether it can be
  };
  // One group on its way to steps.
  struct Unit {
    Group group;
    Offer here = {}, on_host = {};
    std::vector<Unit> alone = {};  // its nodes as groups of their own, made when the sizes of a run ask for that
  };

  Graph graph;
  LowerOptions options;
  Formulas formulas;
  GraphSizes graph_sizes;
  std::vector<ValueId> alias_of;
  std::vector<Unit> units;
  std::vector<std::pair<ValueId, ValueId>> views;  // of what, and the view
  std::vector<ValueId> in_memory;
  ApartValues apart;
  std::vector<std::pair<ValueId, std::vector<Extent>>> strides;  // likewise
  bool open;                                                     // some size or stride is

  Impl(LaidGraph laid, LowerOptions o)
      : graph(std::move(laid.graph)),
        options(std::move(o)),
        graph_sizes(graph, formulas),
        apart(std::move(laid.apart)),
        open(!graph_sizes.open_values().empty() || !apart.empty()) {
    for (const auto& [v, own] : apart) {
      std::vector<Extent>& extents = strides.emplace_back(v, std::vector<Extent>()).second;
      for (const Dim& stride : own) extents.push_back(formulas.extent(stride));
    }
    alias_of.resize(graph.value_capacity());
    for (size_t v = 0; v < alias_of.size(); ++v) alias_of[v] = static_cast<ValueId>(v);
    check_constant_sizes(graph);
    in_memory = values_in_memory(graph);
    if (!open) check_sizes(graph, RunSizes(graph), {}, in_memory);  // before anything multiplies them
    for (Group& group : fuse(graph, options.fuse)) {
      check_stop();
      if (group.results.empty()) continue;  // dead code
      if (group.view) {
        const Node& node = graph.node(group.anchor);
        alias_of[static_cast<size_t>(node.results[0])] = alias_of[static_cast<size_t>(node.operands[0])];
        views.emplace_back(node.operands[0], node.results[0]);
      } else {
        units.push_back({std::move(group)});
        ask(*options.device, units.back().group, units.back().here);
      }
    }
  }

  RunSizes sizes(Bindings bindings, std::map<ValueId, Tensor> known) const {
    return graph_sizes.of_run(formulas, std::move(bindings), std::move(known));
  }

  Support prepare(const Device& device, const Group& group, const RunSizes* actual, Steps& steps) {
    const Lowering lowering{graph, device, options.no_winograd, formulas, actual, apart.empty() ? nullptr : &apart};
    Prepared prepared;
    Support support = lowered(lowering, group, prepared);
    if (!support.supported()) return support;
    for (StepDraft& step : prepared.steps)
      steps.steps.push_back(finished(lowering, std::move(step), prepared.place || step.plan));
    steps.place = std::move(prepared.place);
    return support;
  }

  // For any sizes, once. False: nothing was to be asked.
  bool ask(const Device& device, const Group& group, Offer& offer) {
    if (!open || std::exchange(offer.asked, true)) return false;
    Steps steps;
    if (prepare(device, group, nullptr, steps).supported()) offer.prepared = std::move(steps);
    return true;
  }

  // With what follows from the group: name, reads, writes.
  Step finished(const Lowering& lowering, StepDraft step, bool compiled) {
    const Group& group = step.group;
    step.name = graph.value(group.results.empty() ? graph.node(group.nodes[0]).results[0] : group.results[0]).name;
    std::set<ValueId> pointed_to, read;
    for (const PointerBinding& pointer : step.pointers) pointed_to.insert(pointer.value);
    const auto bound = [&](ValueId v) { return !compiled || pointed_to.contains(v); };
    for (NodeId n : group.nodes)
      for (ValueId v : graph.node(n).operands)
        if (v != kNone && !lowering.in_group(group, graph.producer(v)) && bound(v) && read.insert(v).second)
          step.reads.push_back(v);
    // Where a kernel reads what a node's operand was made from instead of it.
    const auto is_own = [&](ValueId v) { return lowering.in_group(group, graph.producer(v)); };
    for (ValueId v : pointed_to)
      if (v != kNone && !is_own(v) && read.insert(v).second) step.reads.push_back(v);
    step.writes =
        compiled ? static_cast<const std::vector<ValueId>&>(group.results) : graph.node(group.nodes[0]).results;
    std::erase_if(step.writes, [&](ValueId v) { return !bound(v); });
    StepFrame& frame = step;
    return {std::make_shared<const StepFrame>(std::move(frame)), std::move(step)};
  }

  LoweredGraph place(const RunSizes& sizes) {
    RunSizes actual = sizes;
    if (open) check_sizes(graph, actual, graph_sizes.open_values(), in_memory);
    LoweredGraph lowered{.steps = {}, .alias_of = alias_of};
    lowered.steps.reserve(units.size());
    for (const auto& [v, extents] : strides)
      for (Extent extent : extents) lowered.strides[v].push_back(actual.of(extent));
    for (const auto& [from, to] : views) check_view(from, to, actual);
    for (Unit& unit : units) {
      check_stop();
      place(unit, actual, lowered.steps);
    }
    drop_unread(lowered.steps);
    if (options.no_fallback) refuse_lacking(*options.device, lacking_steps(graph, lowered, actual));
    return lowered;
  }

  // Moves that nobody reads: products, attention and other moves read what was transposed, gathered, repeated or cut.
  void drop_unread(std::vector<Step>& steps) const {
    std::vector<bool> is_read(graph.value_capacity(), false);
    const auto mark = [&](ValueId v) { is_read[static_cast<size_t>(alias_of[static_cast<size_t>(v)])] = true; };
    for (const Output& output : graph.outputs()) mark(output.value);
    for (const Step& step : steps)
      for (ValueId v : step->reads) mark(v);
    std::erase_if(steps, [&](const Step& step) {
      const Node& node = graph.node(step->group.nodes[0]);
      const bool is_read_through =
          node.op == &transpose_def || node.op == &gather_def || node.op == &expand_def || node.op == &slice_def;
      return step->group.nodes.size() == 1 && is_read_through && !is_read[static_cast<size_t>(node.results[0])];
    });
  }

  void check_view(ValueId from, ValueId to, const RunSizes& actual) const {
    if (element_count(actual.shape(from)) != element_count(actual.shape(to)))
      fail("%{} {} is a view of %{} {}, which has another number of elements", graph.value(to).name,
           to_string(graph.type(to)), graph.value(from).name, to_string(graph.type(from)));
  }

  // By the device, else node by node.
  void place(Unit& unit, RunSizes& actual, std::vector<Step>& steps) {
    const Support support = placed(*options.device, unit.group, unit.here, actual, steps);
    if (support.supported()) return;
    if (unit.group.nodes.size() == 1) return place_elsewhere(unit, support.why, actual, steps);
    const size_t first = steps.size();
    place_alone(unit, support.why, actual, steps);
    for (size_t s = first; s < steps.size(); ++s)
      if (steps[s]->group.nodes.size() < unit.group.nodes.size())
        steps[s].refused.push_back(fmt::format("as one {}: {}", to_string(graph, unit.group), support.why));
  }

  // The nodes of a group that the device does not take as one: by itself where it takes them. The host gets the group
  // as one where the device takes none of them, since less is copied then.
  void place_alone(Unit& unit, const std::string& why, RunSizes& actual, std::vector<Step>& steps) {
    if (unit.alone.empty())
      for (NodeId n : unit.group.nodes) unit.alone.push_back({group_of_one(graph, n)});
    std::vector<std::vector<Step>> here(unit.alone.size());
    std::vector<std::string> refused(unit.alone.size());
    for (size_t n = 0; n < unit.alone.size(); ++n)
      refused[n] = placed(*options.device, unit.alone[n].group, unit.alone[n].here, actual, here[n]).why;
    const bool takes_none = std::ranges::none_of(refused, &std::string::empty);
    if (takes_none && placed_on_host(unit, why, actual, steps).supported()) return;
    for (size_t n = 0; n < unit.alone.size(); ++n)
      if (refused[n].empty()) steps.insert(steps.end(), here[n].begin(), here[n].end());
      else place_elsewhere(unit.alone[n], refused[n], actual, steps);
  }

  // A single node, by the host's kernel, else interpreted.
  void place_elsewhere(Unit& unit, const std::string& why, RunSizes& actual, std::vector<Step>& steps) {
    const Support support = placed_on_host(unit, why, actual, steps);
    if (support.supported()) return;
    interpret(unit.group.nodes[0], support.why == why ? why : fmt::format("{}; on the host: {}", why, support.why),
              actual, steps);
  }

  Support placed_on_host(Unit& unit, const std::string& why, RunSizes& actual, std::vector<Step>& steps) {
    if (!options.host.device) return {options.host.why_none.empty() ? why : options.host.why_none};
    const size_t first = steps.size();
    Support support = placed(*options.host.device, unit.group, unit.on_host, actual, steps);
    for (size_t s = first; s < steps.size(); ++s) steps[s].why_on_host = why;
    return support;
  }

  Support placed(const Device& device, const Group& group, Offer& offer, RunSizes& actual, std::vector<Step>& steps) {
    if (!device.compiles()) return {"the backend has no kernels"};
    if (Support support = sizes_support(graph, group, actual); !support.supported()) return support;
    if (ask(device, group, offer)) actual.learn(formulas);
    Steps now;
    if (!offer.prepared)
      if (Support support = prepare(device, group, open ? &actual : nullptr, now); !support.supported()) return support;
    const Steps& prepared = offer.prepared ? *offer.prepared : now;
    const size_t first = steps.size();
    steps.insert(steps.end(), prepared.steps.begin(), prepared.steps.end());
    const Support support = prepared.place ? prepared.place(actual, steps.back()) : Support();
    if (!support.supported()) steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end());
    for (size_t s = first; s < steps.size(); ++s) {
      steps[s].lasting &= offer.prepared.has_value();
      if (prepared.place) steps[s].dims = steps.back().dims;
    }
    return support;
  }

  void interpret(NodeId n, const std::string& why, const RunSizes& actual, std::vector<Step>& steps) {
    StepDraft step;
    step.group = group_of_one(graph, n);
    step.why_interpreted = why;
    steps.push_back(finished({graph, *options.device, options.no_winograd, formulas, &actual}, std::move(step), false));
  }
};

PreparedGraph::PreparedGraph(Graph graph, LowerOptions options, const Layouts& layouts)
    : impl_(std::make_unique<Impl>(laid_out(std::move(graph), options, layouts), std::move(options))) {}
PreparedGraph::~PreparedGraph() = default;
PreparedGraph::PreparedGraph(PreparedGraph&&) noexcept = default;
const Graph& PreparedGraph::graph() const { return impl_->graph; }
const LowerOptions& PreparedGraph::options() const { return impl_->options; }
RunSizes PreparedGraph::sizes(Bindings bindings, std::map<ValueId, Tensor> known) const {
  return impl_->sizes(std::move(bindings), std::move(known));
}
LoweredGraph PreparedGraph::place(const RunSizes& sizes) { return impl_->place(sizes); }

LoweredGraph lower(const Graph& graph, const LowerOptions& options) {
  return PreparedGraph(graph, options).place(RunSizes(graph));
}

StepWork work_of(const Graph& graph, const Step& step) {
  return work_with(graph, step, [&](ValueId v) { return constant_shape(graph.type(v).shape); });
}
StepWork work_of(const Graph& graph, const Step& step, const RunSizes& sizes) {
  return work_with(graph, step, [&](ValueId v) { return sizes.shape(v); });
}

}  // namespace hone

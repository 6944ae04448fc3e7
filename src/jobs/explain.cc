#include "jobs/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/control.h"
#include "runtime/arena.h"
#include "runtime/cut_graph.h"
#include "runtime/host_step.h"

namespace hone {
namespace {

constexpr NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3},
    kFigure{NumberFormat::significant, 3};

// Whether the step's elements only change places.
bool only_moves(const Graph& graph, const Step& step) {
  return std::all_of(step->group.nodes.begin(), step->group.nodes.end(),
                     [&](NodeId n) { return graph.node(n).op->moves; });
}

class Explanation {
 public:
  Explanation(const LoadedModel& model, const ExplainOptions& options)
      : lowering_(lowering_of(device_or_cpu(options.device), options)) {
    const Compute compute = options.compute ? *options.compute : stored_compute(model.graph);
    Graph prepared = prepare_for_codegen(model.graph, compute, options.pipeline, lowering_.device->pipeline());
    prepared.compact();
    parts_ = specialised_parts(prepared, bind_symbols(prepared, options.shapes));
    with_bodies_ = std::erase_if(parts_.turns, [&](NodeId n) { return is_control(*prepared.node(n).op); });
    lowered_ = lower(parts_.head, lowering_);
    nodes_before_ = static_cast<int64_t>(model.graph.nodes().size());
  }

  Record record() {
    std::vector<Block> groups{steps()};
    groups.push_back(kernels_);
    if (!on_host_.rows.empty()) groups.push_back(on_host_);
    if (refused_.rows.empty()) groups.push_back(Text{"No other way to compute a step was refused."});
    else groups.push_back(refused_);
    if (!left_out_.rows.empty()) groups.push_back(left_out_);
    std::vector<Block> moves;
    if (moves_.rows.empty()) moves.push_back(Text{"No step only moves elements."});
    else moves.push_back(moves_);
    return Record{
        .title = "Explanation",
        .findings = findings(),
        .sections = {
            {"Groups and kernels", std::move(groups)}, {"Layout changes", std::move(moves)}, {"Memory", {memory()}}}};
  }

 private:
  const Graph& graph() const { return parts_.head; }

  Table steps() {
    Table table{.key = "steps",
                .title = "One line per step, in the order of execution",
                .columns = {{"step", "step"},
                            {"ops", "ops"},
                            {"kernel", "kernel"},
                            {"mflop", "MFLOP", "", kFigure},
                            {"bytes", "moves", "", kBytes},
                            {"code", "code"},
                            {"why", "why interpreted"}},
                .note = "MFLOP and bytes are predicted: each operand and result once."};
    const RunSizes sizes(graph());
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
      const Step& step = lowered_.steps[s];
      const std::string ops = ops_of(graph(), step->group);
      const StepWork work = work_of(graph(), step);
      table.rows.push_back({step->name, ops, std::string(step.plan ? step.plan->kernel().name : "interpreted"),
                            number(work.flops * 1e-6), number(work.bytes), step.plan ? Cell(code_of(step)) : Cell(),
                            step.plan ? Cell() : Cell(step->why_interpreted)});
      interpreted_ += !step.plan;
      if (step.on_host()) {
        const int64_t copied = copied_bytes(*lowering_.device, graph(), lowered_, s, sizes);
        on_host_.rows.push_back({step->name, ops, number(static_cast<double>(copied)), step.why_on_host});
      }
      for (const std::string& refused : step.refused) refused_.rows.push_back({step->name, refused});
      for (const LeftOut& left : step->group.left_out)
        left_out_.rows.push_back(
            {step->name, graph().node(left.node).op->name, graph().value(graph().result(left.node)).name, left.why});
      if (!only_moves(graph(), step)) continue;
      const TensorType& type = graph().type(step->writes[0]);
      moves_.rows.push_back({step->name, ops, to_string(type), number(work.bytes)});
    }
    return table;
  }

  // The number of the plan's machine code, which all its steps share.
  std::string code_of(const Step& step) {
    const Device& device = lowering_.device_of(step);
    const auto [found, is_new] = codes_.emplace(std::pair(&device, step.plan->text()), codes_.size());
    const std::string code = fmt::format("#{}", found->second + 1);
    if (is_new)
      kernels_.rows.push_back({code, std::string(step.plan->kernel().name), number(0),
                               (step.on_host() ? "on the host: " : "") + describe(device, *step.plan)});
    std::get<Number>(kernels_.rows[found->second][2]).value += 1;
    return code;
  }

  KeyValues memory() const {
    const Arena arena = plan_arena(graph(), lowered_, !lowering_.device->is_host());
    std::map<std::string, int64_t> laid_out;
    for (const Step& step : lowered_.steps)
      for (const PointerBinding& pointer : step->pointers) {
        if (pointer.plane != PointerBinding::Plane::prepacked) continue;
        const Device& device = lowering_.device_of(step);
        const Prepacking& layout = prepacking(device, *step.plan);
        laid_out[fmt::format("{} {}", pointer.value, layout.key(device, *step.plan))] =
            layout.bytes(device, *step.plan);
      }
    int64_t weights = 0;
    for (const auto& [key, bytes] : laid_out) weights += bytes;
    return {.key = "memory",
            .items = {{"arena_bytes", "planned arena", number(static_cast<double>(arena.bytes)), "", kBytes},
                      {"arena_lower_bound", "largest set of values alive at once",
                       number(static_cast<double>(arena.lower_bound)), "", kBytes},
                      {"in_place", "results written over an operand", number(arena.in_place), "", kCount},
                      {"prepacked_bytes", "weights as laid out", number(static_cast<double>(weights)), "", kBytes}}};
  }

  std::vector<std::string> findings() const {
    const auto count = [](size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    std::vector<std::string> found{fmt::format(
        "{} run as {} with {}, for {}", count(static_cast<size_t>(nodes_before_), "node"),
        count(lowered_.steps.size(), "step"), count(codes_.size(), "compiled kernel"), lowering_.device->variant())};
    if (!on_host_.rows.empty())
      found.push_back(fmt::format("{} on the host, whose kernels {} lacks", count(on_host_.rows.size(), "step"),
                                  lowering_.device->name()));
    if (interpreted_ > 0)
      found.push_back(fmt::format("{} interpreted: right, but not compiled", count(interpreted_, "step")));
    if (with_bodies_ > 0)
      found.push_back(fmt::format("{} more: planned and compiled when {} bodies first run", count(with_bodies_, "node"),
                                  with_bodies_ == 1 ? "its" : "their"));
    if (!parts_.turns.empty())
      found.push_back(fmt::format("{} more: evaluated one by one, because their shapes depend on data",
                                  count(parts_.turns.size(), "node")));
    if (!parts_.later.empty())
      found.push_back(fmt::format("{} after that: planned and compiled when a run has found their sizes",
                                  count(parts_.later.size(), "node")));
    return found;
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
  int64_t nodes_before_ = 0;
  size_t interpreted_ = 0, with_bodies_ = 0;
  std::map<std::pair<const Device*, std::string>, size_t> codes_;
  Table kernels_{.key = "kernels",
                 .title = "Machine code, and the steps that share it",
                 .columns = {{"code", "code"}, {"kernel", "kernel"}, {"steps", "steps", "", kCount}, {"how", "how"}}};
  Table on_host_{.key = "on_host",
                 .title = "Steps that run on the host",
                 .columns = {{"step", "step"},
                             {"ops", "ops"},
                             {"copied", "copied", "", kBytes},
                             {"why", "why the device does not run it"}}};
  Table refused_{.key = "refused",
                 .title = "Other ways that were refused",
                 .columns = {{"step", "step"}, {"why", "way, and the reason against it"}}};
  Table left_out_{.key = "left_out",
                  .title = "Element by element, but in a kernel of its own",
                  .columns = {{"step", "step"}, {"op", "user"}, {"value", "its result"}, {"why", "why not fused"}}};
  Table moves_{.key = "moves",
               .title = "Steps that only move elements",
               .columns = {{"step", "step"}, {"ops", "ops"}, {"type", "result"}, {"bytes", "moves", "", kBytes}}};
};

}  // namespace

Record explain(const LoadedModel& model, const ExplainOptions& options) { return Explanation(model, options).record(); }

}  // namespace hone

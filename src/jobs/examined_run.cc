#include "jobs/examined_run.h"

#include <map>

#include "base/text.h"
#include "base/threads.h"
#include "measure/memory.h"
#include "passes/pipelines.h"
#include "runtime/cut_graph.h"
#include "runtime/host_step.h"

namespace hone {
namespace {

// Steps that one device should have run and does not, by ops and reason.
class Elsewhere {
 public:
  void add(const std::string& ops, const std::string& why, int64_t nodes, double flops, int64_t copied_bytes = 0) {
    Entry& entry = entries_[{ops, why}];
    for (Entry* each : {&entry, &total_}) each->nodes += nodes, each->flops += flops, each->copied += copied_bytes;
  }
  bool empty() const { return entries_.empty(); }
  double share(double of_flops) const { return of_flops > 0 ? total_.flops / of_flops : 0; }
  std::string text() const { return fmt::format("{} node{}", total_.nodes, total_.nodes == 1 ? "" : "s"); }
  int64_t copied_bytes() const { return total_.copied; }

  std::vector<StepsElsewhere> listed(double of_flops) const {
    std::vector<StepsElsewhere> all;
    for (const auto& [key, entry] : entries_)
      all.push_back({key.first, key.second, entry.nodes, entry.copied, of_flops > 0 ? entry.flops / of_flops : 0});
    return all;
  }

 private:
  struct Entry {
    int64_t nodes = 0, copied = 0;
    double flops = 0;
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;
  Entry total_;
};

LowerOptions lowering_for(const std::shared_ptr<Device>& device) {
  return {.device = device, .host = host_kernels_for(*device)};
}

class RunExamination {
 public:
  RunExamination(const Graph& graph, const Bindings& sizes, const ExamineRunOptions& options, Findings& findings)
      : options_(options),
        findings_(findings),
        lowering_(lowering_for(device_or_cpu(options.device))),
        whole_(prepare_for_codegen(graph, stored_compute(graph), {}, lowering_.device->pipeline())) {
    whole_.compact();
    parts_ = specialised_parts(whole_, sizes);
    lowered_ = lower(parts_.head, lowering_);
  }

  ExaminedRun run() {
    ExaminedRun examined;
    examined.memory =
        predict_memory(parts_.head, lowered_, plan_arena(parts_.head, lowered_, !lowering_.device->is_host()),
                       lowering_, hardware_threads(), memory_use().peak_bytes);
    if (!parts_.turns.empty())
      findings_.leave_out("memory and time of the part whose sizes depend on data; the memory below is without it");
    else if (options_.peaks) examined.speed = predict_speed(parts_.head, lowered_, lowering_, *options_.peaks);
    else
      findings_.add(Severity::note,
                    "no time is predicted: what this machine reaches has not been measured since it started",
                    "hone machine measures it, in a few seconds");
    sort_steps();
    note_interpreted();
    note_on_host();
    examined.interpreted = interpreted_.listed(flops_), examined.on_host = on_host_.listed(flops_);
    return examined;
  }

 private:
  void sort_steps() {
    const RunSizes sizes(parts_.head);
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
      const Step& step = lowered_.steps[s];
      const double flops = work_of(parts_.head, step).flops;
      flops_ += flops;
      const std::string ops = ops_of(parts_.head, step->group);
      if (!step.plan) interpreted_.add(ops, step->why_interpreted, 1, flops);
      if (step.on_host())
        on_host_.add(ops, step.why_on_host, step->is_rest ? 0 : std::ssize(step->group.nodes), flops,
                     copied_bytes(*lowering_.device, parts_.head, lowered_, s, sizes));
    }
    for (NodeId n : parts_.turns) interpreted_.add(whole_.node(n).op->name, "shapes depend on data", 1, 0);
  }

  Severity severity(double share) const {
    if (options_.no_fallback) return Severity::problem;
    return share > 0.01 ? Severity::slow : Severity::note;
  }

  std::string advice(const char* otherwise) const {
    return fmt::format("the table says which, and why; {}",
                       options_.no_fallback ? "without --no-fallback the model runs" : otherwise);
  }

  void note_interpreted() {
    if (interpreted_.empty()) return;
    const double share = interpreted_.share(flops_);
    findings_.add(
        severity(share),
        fmt::format("{} will be interpreted, with {:.1f} % of the arithmetic", interpreted_.text(), 100 * share),
        advice("interpretation is right but not compiled"));
  }

  void note_on_host() {
    if (on_host_.empty()) return;
    const double share = on_host_.share(flops_);
    findings_.add(severity(share),
                  fmt::format("{} will run on the host, with {:.1f} % of the arithmetic: {} has no kernels for them; "
                              "each run copies {} there and back",
                              on_host_.text(), 100 * share, lowering_.device->name(),
                              human_bytes(static_cast<double>(on_host_.copied_bytes()))),
                  advice("kernels of the device need no copies"));
  }

  const ExamineRunOptions& options_;
  Findings& findings_;
  const LowerOptions lowering_;
  Graph whole_;
  SpecialisedParts parts_;
  LoweredGraph lowered_;
  double flops_ = 0;
  Elsewhere interpreted_, on_host_;
};

}  // namespace

ExaminedRun examine_run(const Graph& graph, const Bindings& sizes, const ExamineRunOptions& options,
                        Findings& findings) {
  return RunExamination(graph, sizes, options, findings).run();
}

}  // namespace hone

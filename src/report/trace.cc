#include "report/trace.h"

#include <algorithm>
#include <limits>

#include "base/json.h"

namespace hone {
namespace {

constexpr int kThread = 1;  // steps run one after the other: one lane

class Trace {
 public:
  explicit Trace(int64_t origin_ns) : origin_ns_(origin_ns) {}

  void add(const TracedModel& model) {
    ++process_;
    add({{"name", "process_name"}, {"ph", "M"}, {"args", {{"name", model.name}}}});
    add({{"name", "thread_name"}, {"ph", "M"}, {"args", {{"name", "steps"}}}});
    for (size_t run = 0; run < model.runs.size(); ++run) {
      const RunProfile& profile = model.runs[run];
      slice("run", "run", profile.begin_ns, profile.end_ns, {{"run", run}});
      for (size_t s = 0; s < profile.steps.size(); ++s) step(profile, s);
    }
  }

  std::string text() const {
    const Json trace{{"displayTimeUnit", "ms"}, {"traceEvents", events_}};
    return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  double microseconds(int64_t ns) const { return static_cast<double>(ns - origin_ns_) * 1e-3; }

  void add(Json event) {
    event["pid"] = process_;
    event["tid"] = kThread;
    events_.push_back(std::move(event));
  }

  void slice(const std::string& name, const std::string& category, int64_t begin_ns, int64_t end_ns, Json args) {
    add({{"name", name},
         {"cat", category},
         {"ph", "X"},
         {"ts", microseconds(begin_ns)},
         {"dur", static_cast<double>(end_ns - begin_ns) * 1e-3},
         {"args", std::move(args)}});
  }

  void step(const RunProfile& profile, size_t s) {
    const StepProfile& step = profile.steps[s];
    Json args{{"ops", step.ops}, {"flop", step.flops}, {"bytes", step.bytes}};
    if (!step.why_interpreted.empty()) args["why_interpreted"] = step.why_interpreted;
    if (step.on_host()) args["why_on_host"] = step.why_on_host, args["copied_bytes"] = step.copied_bytes;
    slice(step.name, step.kind, profile.marks_ns[s], profile.marks_ns[s + 1], std::move(args));
    const double ns = static_cast<double>(std::max<int64_t>(1, profile.marks_ns[s + 1] - profile.marks_ns[s]));
    add({{"name", "rate"},
         {"ph", "C"},
         {"ts", microseconds(profile.marks_ns[s])},
         {"args", {{"GFLOP/s", step.flops / ns}, {"GB/s", step.bytes / ns}}}});
  }

  int64_t origin_ns_;
  int process_ = 0;
  Json events_ = Json::array();
};

}  // namespace

std::string trace_text(std::span<const TracedModel> models) {
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const TracedModel& model : models)
    for (const RunProfile& run : model.runs) origin = std::min(origin, run.begin_ns);
  Trace trace(origin);
  for (const TracedModel& model : models) trace.add(model);
  return trace.text();
}

}  // namespace hone

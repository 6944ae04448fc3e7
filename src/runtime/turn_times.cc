#include "runtime/turn_times.h"

#include <algorithm>
#include <memory>

#include "base/clock.h"

namespace hone {

namespace {

bool are_same(std::span<const StepProfile> a, std::span<const StepProfile> b) {
  return a.data() == b.data() || std::ranges::equal(a, b, {}, &StepProfile::name, &StepProfile::name);
}

}  // namespace

TurnTimes::Inside& TurnTimes::like(const Graph& body, const RunProfile& run) {
  for (Inside& each : inside_)
    if (each.body == body.name && are_same(each.first.steps, run.steps)) return each;
  return inside_.emplace_back(Inside{body.name, run, std::vector<int64_t>(run.steps.size())});
}

// Little is done while the node runs, which its row would be charged for.
void TurnTimes::add_body(const Graph& body, const RunProfile& run) {
  Inside& inside = like(body, run);
  for (size_t i = 0; i < run.steps.size(); ++i) inside.ns[i] += run.marks_ns[i + 1] - run.marks_ns[i];
  ++inside.runs;
}

void TurnTimes::end_node(const Graph& graph, NodeId node, StepProfile row) {
  const int64_t end = steady_ns();
  std::vector<int64_t>& marks = profile_.marks_ns;
  for (const Inside& each : inside_)
    for (int64_t ns : each.ns) marks.push_back(marks.back() + ns);
  marks.push_back(end);
  turns_.push_back({graph.value(graph.result(node)).name, std::move(inside_), std::move(row)});
  inside_.clear();
}

void TurnTimes::finish() {
  auto rows = std::make_shared<std::vector<StepProfile>>();
  for (Turn& turn : turns_) {
    for (const Inside& each : turn.inside)
      for (const StepProfile& step : each.first.steps) {
        StepProfile& row = rows->emplace_back(step);
        const auto runs = static_cast<double>(each.runs);
        row.name = turn.node + "/" + each.body + "/" + step.name;
        row.flops *= runs, row.bytes *= runs, row.weight_bytes *= runs, row.copied_bytes *= runs;
      }
    rows->push_back(std::move(turn.row));
  }
  add_steps(profile_, rows);
}

void add_steps(RunProfile& profile, const std::shared_ptr<const std::vector<StepProfile>>& steps) {
  if (profile.steps.empty()) {
    profile.steps = *steps, profile.owner = steps;
    return;
  }
  auto all = std::make_shared<std::vector<StepProfile>>(profile.steps.begin(), profile.steps.end());
  all->insert(all->end(), steps->begin(), steps->end());
  profile.steps = *all, profile.owner = all;
}

}  // namespace hone

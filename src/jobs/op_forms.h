// One computation as several graphs that are timed against each other: what hone bench --op measures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/peaks.h"
#include "jobs/step_times.h"
#include "jobs/task.h"
#include "runtime/session.h"

namespace hone {

struct OpMeasuring {
  SessionOptions session;
  MachinePeaks peaks;
  double seconds = 10;  // longest measured part
  uint64_t seed = 1;
};

struct OpForm {
  std::string name;
  Graph graph;
  NamedTensors inputs;
  std::unique_ptr<Session> session = nullptr;
};

struct OpTimes {
  std::string name;
  StepTimes times;
  Timing timing;  // set up anew several times
};

// The largest difference of two results of one shape, over the largest magnitude of the first.
double largest_difference(const Tensor& a, const Tensor& b);

// Opens a session for each form.
void open_sessions(std::vector<OpForm>& forms, const SessionOptions& options);

// All forms in turn, in one run: half of the time whole runs, half of it each step.
std::vector<OpTimes> time_forms(std::vector<OpForm>& forms, const OpMeasuring& measuring, const TaskContext& context);

}  // namespace hone

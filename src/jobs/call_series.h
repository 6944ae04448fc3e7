// hone bench --calls: every call of one model from the first on, compiled and node by node, so that means over any
// number of calls, with and without warm-up, are read off one series.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "jobs/candidate.h"
#include "jobs/task.h"
#include "measure/break_even.h"
#include "measure/environment.h"

namespace hone {

constexpr int64_t kWarmUpCalls = 10;  // that a mean with warm-up leaves out
constexpr int64_t kFewestCalls = 2 * kWarmUpCalls;

// The calls of one way to run the model, in a session of its own without a cache of machine code. The first call has
// what makes that session in it, as it would in a program that opens a model and asks it once.
struct CallSeries {
  std::string way;  // "compiled", "uncompiled"
  RunCost cost;     // where the first call's time went; steady: the median of those after warm-up
  std::vector<double> calls_ns;

  double mean_ns(int64_t calls, bool warmed_up) const;  // of the first so many, or of so many after warm-up
};

struct CallReading {
  int64_t calls = 0;
  bool warmed_up = false;
};

struct CallsResult {
  std::string name;
  std::array<CallSeries, 2> ways;     // uncompiled: each node by itself (no fusion); compiled
  std::vector<CallReading> readings;  // of 5 and 20 calls and of all, where there are so many
  Ratio ratio;                        // of the calls after warm-up, pair by pair
  std::optional<BreakEven> pays;      // where they show one to take less
  RunConditions conditions;
  Environment environment;
};

// Both ways take turns call by call, so that drift of the machine falls on both. Throws Error below kFewestCalls; Bug
// where the two give different answers.
CallsResult call_series(const Model& model, const CandidateOptions& options, int64_t calls,
                        const TaskContext& context = {});

}  // namespace hone

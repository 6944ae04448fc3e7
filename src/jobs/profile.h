// Where the time of a run goes, step by step, against what the machine can do, and why it is not less.
#pragma once

#include <string>
#include <vector>

#include "base/peaks.h"
#include "jobs/candidate.h"
#include "jobs/progress.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct ProfileOptions {
  std::vector<std::string> models;  // one, or two that are shown side by side
  CandidateOptions open;
  MachinePeaks peaks;
  double seconds = 10;  // longest measured part
  std::string command;
  Progress progress = {};
};

struct ProfileReport {
  Record record;
  std::string trace;  // the last runs, for chrome://tracing and ui.perfetto.dev (report/trace.h)
};

// Runs of every model with and without profiling, interleaved: key-values "profile" and tables "steps" and "slowest" of
// one model, table "steps" side by side and key-values "totals" of two. Throws Error for models that are interpreted as
// a whole.
ProfileReport profile(const ProfileOptions& options);

// The same record of a session that is at hand. `threads` above 1 scale the peaks.
Record profile(Session& session, const NamedTensors& inputs, const MachinePeaks& peaks, int threads,
               double seconds = 5);

}  // namespace hone

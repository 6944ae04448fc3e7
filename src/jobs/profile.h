// Where the time of a run goes, step by step, against what the machine can do, and why it is not less.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/peaks.h"
#include "jobs/candidate.h"
#include "jobs/file_facts.h"
#include "jobs/run_options.h"
#include "jobs/step_times.h"
#include "jobs/task.h"
#include "measure/environment.h"

namespace hone {

// The engine's types of ProfileOptions.
struct ProfileModelsOptions {
  CandidateOptions open;
  double seconds = 10;  // longest measured part
  MachinePeaks peaks;   // what steps are held against
};

struct ProfileOptions : ShapeFlags, RunFlags, GivenFlags, SeedFlags, CheckFiniteFlags {
  double seconds = 10;

  ProfileModelsOptions profiling() const;  // with the machine's peaks, which are measured unless they are remembered
  static std::span<const OptionField<ProfileOptions>> fields();
  static std::span<const OptionField<ProfileOptions>> own_fields();  // of these, all but those of CheckFiniteFlags
};

struct ModelSteps {
  StepTimes times;
  SessionStatistics session;
  int64_t weight_bytes = 0;
};

struct ProfileResult {
  std::vector<ModelSteps> models;  // one, or two that are looked at side by side
  std::vector<FileFacts> files;    // theirs
  MachinePeaks peaks;              // of one thread
  RunConditions conditions;
  std::vector<std::string> notes;  // what the sessions say of their machine code
  Environment environment;
};

// Runs of every model with and without profiling, interleaved. Throws Error for models that are interpreted as a whole,
// and for more than two.
ProfileResult profile(std::span<const Model> models, const ProfileOptions& options, const TaskContext& context = {});
ProfileResult profile_models(std::span<const Model> models, const ProfileModelsOptions& options,
                             const TaskContext& context = {});

// Of a session that is at hand. `threads` above 1 scale the peaks.
ProfileResult profile_session(Session& session, const NamedTensors& inputs, const MachinePeaks& peaks, int threads,
                              double seconds = 5);

}  // namespace hone

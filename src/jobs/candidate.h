// A model opened for being measured beside others: compiled, with inputs, and with what it answers to them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "measure/timing.h"
#include "runtime/session.h"

namespace hone {

struct CandidateOptions {
  NamedTensors given;  // inputs read from files; empty: made up, seeded
  ShapeOptions shapes;
  SessionOptions session;  // compute: of all models; none: as each was stored
  uint64_t seed = 1;
  bool check_finite = false;  // the first run looks at every result (Session::run_checked)
};

struct Candidate {
  Model model;
  std::unique_ptr<Session> session;
  Bindings bindings;
  NamedTensors inputs;
  std::vector<Tensor> outputs;  // of the first run
};

// Compiles and runs each once. Throws Error when they don't take the same inputs or give the same outputs, by names and
// types.
std::vector<Candidate> open_candidates(std::span<const Model> models, const CandidateOptions& options);

// The models in turn: set up kPlacements times, in random orders of which nobody is favoured, each time with a session
// and a copy of the inputs anew, so that which one gets which memory is left to chance (weights that a session reads as
// they lie in the model stay there); interleaved rounds on each placement. `seconds`: longest measured part.
std::vector<Timing> time_in_turn(std::vector<Candidate>& candidates, const CandidateOptions& options, double seconds);

// What a reader must know of the runs.
struct RunConditions {
  std::string isa;            // instruction set, or that the model is interpreted
  int threads = 1, cpus = 1;  // cpus: that this process may use
  Bindings sizes;             // of open dimensions
};
RunConditions conditions_of(const Session& session, const Bindings& sizes, int threads);

// What each session says of its machine code: that it could not be kept, or was left aside.
std::vector<std::string> notes_of(const std::vector<Candidate>& candidates);

}  // namespace hone

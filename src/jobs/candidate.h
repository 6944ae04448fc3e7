// A model opened for being measured beside others: compiled, with inputs, and with what it answers to them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "measure/timing.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct CandidateOptions {
  std::vector<std::string> inputs;  // --inputs of the folders among the models; a file has its inputs fixed
  NamedTensors given;               // inputs read from files; empty: made up, seeded
  ShapeOptions shapes;
  SessionOptions session;  // compute: of all models; none: as each was stored
  uint64_t seed = 1;
  bool check_finite = false;  // the first run looks at every result (Session::run_checked)
};

struct Candidate {
  std::string name, path, sha256;
  std::vector<std::string> weight_files;
  int64_t file_bytes = 0, weight_bytes = 0;
  std::unique_ptr<Session> session;
  Bindings bindings;
  NamedTensors inputs;
  std::vector<Tensor> outputs;  // of the first run
};

std::vector<std::string> chosen_inputs(const CandidateOptions& options, const std::string& path);

// Loads, compiles and runs each once. Throws Error when they don't take the same inputs or give the same outputs, by
// names and types.
std::vector<Candidate> open_candidates(const std::vector<std::string>& paths, const CandidateOptions& options);

// The models in turn: set up kPlacements times, in random orders of which nobody is favoured, each time with a session
// and a copy of the inputs anew, so that which one gets which memory is left to chance; interleaved rounds on each
// placement. `seconds`: longest measured part.
std::vector<Timing> time_in_turn(std::vector<Candidate>& candidates, const CandidateOptions& options, double seconds);

// What a reader must know of the runs: instruction set, threads, dimensions, and whether threads outnumber CPUs.
KeyValues conditions_of(const Candidate& candidate, const SessionOptions& session);

// Said in the findings of what was measured with more threads than there are CPUs; empty otherwise.
std::vector<std::string> oversubscription(int threads);

// What each session says of its machine code: that it could not be kept, or was left aside.
void add_notes(const std::vector<Candidate>& candidates, std::vector<std::string>& findings);

std::vector<ManifestEntry> manifest_of(const std::vector<Candidate>& candidates);

}  // namespace hone

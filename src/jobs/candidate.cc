#include "jobs/candidate.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "jobs/open_session.h"
#include "jobs/placements.h"
#include "measure/environment.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

Candidate open(const Model& model, const CandidateOptions& options) {
  Candidate c{.model = model};
  c.session = std::make_unique<Session>(open_session(model, options.session));
  const Graph& graph = c.session->graph();
  c.bindings = options.given.empty() ? bind_symbols(graph, options.shapes) : bind_inputs(graph, options.given);
  c.inputs = options.given.empty() ? default_inputs(graph, c.bindings, options.seed) : options.given;
  c.outputs = options.check_finite ? c.session->run_checked(c.inputs) : c.session->run(c.inputs);
  return c;
}

std::string inputs_text(const Candidate& c) {
  std::vector<std::string> inputs;
  for (const auto& [name, tensor] : c.inputs) inputs.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
  return fmt::format("{}", fmt::join(inputs, ", "));
}

std::string outputs_text(const Candidate& c) {
  std::vector<std::string> outputs;
  for (size_t i = 0; i < c.outputs.size(); ++i)
    outputs.push_back(fmt::format("{}: {}", c.session->output_names()[i], to_string(c.outputs[i].type())));
  return fmt::format("{}", fmt::join(outputs, ", "));
}

void require_comparable(const Candidate& first, const Candidate& other) {
  if (inputs_text(first) != inputs_text(other))
    fail("{} takes ({}), {} takes ({}): only models with the same inputs can be compared", first.model.path,
         inputs_text(first), other.model.path, inputs_text(other));
  if (outputs_text(first) != outputs_text(other))
    fail("{} gives ({}), {} gives ({}): only models with the same outputs can be compared", first.model.path,
         outputs_text(first), other.model.path, outputs_text(other));
}

// Gives each a session and a copy of its inputs anew, in that order.
void place_anew(std::vector<Candidate>& candidates, const CandidateOptions& options, const std::vector<size_t>& order) {
  std::vector<NamedTensors> old;  // freed when all copies are made
  for (Candidate& c : candidates) {
    c.session.reset();
    old.push_back(c.inputs);
  }
  for (size_t i : order) {
    Candidate& c = candidates[i];
    c.session = std::make_unique<Session>(open_session(c.model, options.session));
    c.session->prepare(c.bindings);
    c.inputs = copied(c.inputs);
  }
}

}  // namespace

std::vector<Candidate> open_candidates(std::span<const Model> models, const CandidateOptions& options) {
  if (models.empty()) fail("no model to measure");
  std::vector<Candidate> candidates;
  for (const Model& model : models) {
    candidates.push_back(open(model, options));
    require_comparable(candidates.front(), candidates.back());
  }
  return candidates;
}

std::vector<Timing> time_in_turn(std::vector<Candidate>& candidates, const CandidateOptions& options, double seconds) {
  std::vector<TimedCall> calls;
  for (Candidate& c : candidates) calls.push_back({c.model.name, [&c] { c.session->run(c.inputs); }});
  return time_placements(
      calls, [&](const std::vector<size_t>& order) { place_anew(candidates, options, order); }, seconds, options.seed);
}

RunConditions conditions_of(const Session& session, const Bindings& sizes, int threads) {
  return {.isa = session.device() ? session.device()->variant() : "none: interpreted",
          .threads = threads,
          .cpus = environment().cpus,
          .sizes = sizes};
}

std::vector<std::string> notes_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> notes;
  for (const Candidate& c : candidates)
    for (const std::string& note : c.session->statistics().notes())
      notes.push_back(fmt::format("{}: {}", c.model.name, note));
  return notes;
}

}  // namespace hone

#include "jobs/candidate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/threads.h"
#include "jobs/load_model.h"
#include "jobs/open_session.h"
#include "jobs/placements.h"
#include "measure/environment.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

Candidate open(const std::string& path, const CandidateOptions& options) {
  LoadedModel model = load_model(path, chosen_inputs(options, path));
  Candidate c;
  c.name = model.name, c.path = path, c.file_bytes = model.file_bytes, c.sha256 = model.sha256();
  c.weight_bytes = sizes(model.graph).weight_bytes, c.weight_files = model.weight_files;
  c.session = std::make_unique<Session>(open_session(std::move(model), options.session));
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
    fail("{} takes ({}), {} takes ({}): only models with the same inputs can be compared", first.path,
         inputs_text(first), other.path, inputs_text(other));
  if (outputs_text(first) != outputs_text(other))
    fail("{} gives ({}), {} gives ({}): only models with the same outputs can be compared", first.path,
         outputs_text(first), other.path, outputs_text(other));
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
    c.session =
        std::make_unique<Session>(open_session(load_model(c.path, chosen_inputs(options, c.path)), options.session));
    c.session->prepare(c.bindings);
    c.inputs = copied(c.inputs);
  }
}

}  // namespace

std::vector<std::string> chosen_inputs(const CandidateOptions& options, const std::string& path) {
  return std::filesystem::is_directory(path) ? options.inputs : std::vector<std::string>{};
}

std::vector<Candidate> open_candidates(const std::vector<std::string>& paths, const CandidateOptions& options) {
  if (paths.empty()) fail("no model to measure");
  std::vector<Candidate> candidates;
  for (const std::string& path : paths) {
    candidates.push_back(open(path, options));
    require_comparable(candidates.front(), candidates.back());
  }
  return candidates;
}

std::vector<Timing> time_in_turn(std::vector<Candidate>& candidates, const CandidateOptions& options, double seconds) {
  std::vector<TimedCall> calls;
  for (Candidate& c : candidates) calls.push_back({c.name, [&c] { c.session->run(c.inputs); }});
  return time_placements(
      calls, [&](const std::vector<size_t>& order) { place_anew(candidates, options, order); }, seconds, options.seed);
}

KeyValues conditions_of(const Candidate& candidate, const SessionOptions& session) {
  const NumberStyle count{NumberFormat::integer, 0};
  KeyValues conditions{
      .key = "conditions",
      .title = "",
      .items = {{"isa", "instruction set",
                 candidate.session->device() ? candidate.session->device()->variant() : "none: interpreted"},
                {"threads", "threads", number(session.threads), "", count},
                {"cpus", "CPUs usable", number(environment().cpus), "", count}}};
  for (const auto& [symbol, size] : candidate.bindings)
    conditions.items.push_back({"dim_" + symbol, "dimension " + symbol, number(static_cast<double>(size)), "", count});
  return conditions;
}

std::vector<std::string> oversubscription(int threads) {
  const int cpus = environment().cpus;
  if (threads <= cpus) return {};
  return {
      fmt::format("OVERSUBSCRIBED: {} threads share {} CPU{}; hone uses {} of them, and figures with fewer threads "
                  "say more.",
                  threads, cpus, cpus == 1 ? "" : "s", std::min(threads, hardware_threads()))};
}

void add_notes(const std::vector<Candidate>& candidates, std::vector<std::string>& findings) {
  for (const Candidate& c : candidates)
    for (const std::string& note : c.session->statistics().notes())
      findings.push_back(fmt::format("{}: {}", c.name, note));
}

std::vector<ManifestEntry> manifest_of(const std::vector<Candidate>& candidates) {
  std::vector<ManifestEntry> manifest;
  for (const Candidate& c : candidates) manifest.push_back({"input", c.path, c.sha256, c.file_bytes});
  return manifest;
}

}  // namespace hone

#include "jobs/bench.h"

#include <algorithm>

#include "jobs/scratch_folder.h"
#include "measure/ratio.h"

namespace hone {
namespace {

std::vector<std::string> protocols() { return {"fair", "lab"}; }

constexpr OptionField<BenchOptions> kOwn[] = {
    flag("no-probe", "Leave out what needs fresh processes: compile times, first result, memory",
         &BenchOptions::no_probe),
    flag("protocol",
         "fair: warm-up, interleaved rounds, medians; lab: also the mean of five runs, compilation included, and what "
         "the difference is",
         &BenchOptions::protocol, {.choices = protocols})};

// Each in processes of its own, with the inputs that it is timed on. None where one of them is in no file.
std::vector<ProbeRounds> probe_processes(const TimeModelsOptions& options, const std::vector<Candidate>& candidates,
                                         const TaskContext& context) {
  const bool in_files = std::ranges::none_of(candidates, [](const Candidate& c) { return c.model.path.empty(); });
  if (!options.probe || !context.new_process || !in_files) return std::vector<ProbeRounds>(candidates.size());
  const ScratchFolder folder;
  std::vector<ProbeOptions> probes;
  for (const Candidate& c : candidates) {
    ProbeOptions& probe = probes.emplace_back();
    probe.model = c.model.path;
    probe.given = fmt::format("{}/{}.npz", folder.path(), probes.size());
    probe.session = options.open.session;
    save_inputs(probe.given, c.inputs);
  }
  return probe_in_turn(probes, {.seconds = options.seconds, .seed = options.open.seed}, context);
}

int64_t batch_of(const Candidate& c, int64_t otherwise) {
  if (c.inputs.empty() || c.inputs.begin()->second.shape().empty()) return otherwise;
  return c.inputs.begin()->second.shape()[0];
}

// What each process with an empty cache paid before its first answer, beside the steady run.
SetUps set_ups_of(const ProbeRounds& probes, const Timing& t) {
  SetUps set_ups;
  for (const ProbeResult& p : probes.cold)
    set_ups.push_back({.compile = (p.prepare_ms + p.compile_ms) * 1e-3,
                       .prepack = p.prepack_ms * 1e-3,
                       .first = t.p50 * 1e-9,
                       .steady = t.p50 * 1e-9});
  return set_ups;
}

std::vector<TimedModel> timed(const std::vector<Candidate>& candidates, const std::vector<Timing>& timings,
                              std::vector<ProbeRounds> probes, int64_t batch) {
  std::vector<TimedModel> models;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    batch = batch_of(c, batch);
    models.push_back({.name = c.model.name,
                      .file = facts_of(c.model),
                      .batch = batch,
                      .weight_bytes = sizes(c.model.graph).weight_bytes,
                      .arena_bytes = c.session->statistics().arena_bytes,
                      .compute = c.session->compute(),
                      .timing = timings[i],
                      .probes = std::move(probes[i])});
  }
  return models;
}

// What is paid once: by the lab protocol where that was followed, so that there is one account of it.
SetUps set_ups_of(const TimedModel& m) { return m.lab ? m.lab->set_ups : set_ups_of(m.probes, m.timing); }

}  // namespace

std::span<const OptionField<BenchOptions>> BenchOptions::own_fields() {
  static const auto all =
      joined_fields<BenchOptions>(ShapeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(),
                                  RunFlags::compute_fields(), GivenFlags::fields(), EvaluationFlags::data_fields(),
                                  EvaluationFlags::fields("data-"), SecondsFlags::fields(), SeedFlags::fields(), kOwn);
  return all;
}
std::span<const OptionField<BenchOptions>> BenchOptions::fields() {
  static const auto all = joined_fields<BenchOptions>(own_fields(), CheckFiniteFlags::fields());
  return all;
}

TimeModelsOptions BenchOptions::timing() const {
  return {.open = {.given = given(),
                   .shapes = shapes(),
                   .session = session_options(),
                   .seed = seed,
                   .check_finite = check_finite},
          .seconds = seconds,
          .evaluation = evaluation(),
          .probe = !no_probe,
          .lab = protocol == "lab"};
}

BenchResult bench(std::span<const Model> models, const BenchOptions& options, const TaskContext& context) {
  return time_models(models, options.timing(), context);
}

BenchResult time_models(std::span<const Model> models, const TimeModelsOptions& options, const TaskContext& context) {
  std::vector<Candidate> candidates = open_candidates(models, options.open);
  std::vector<ProbeRounds> probes = probe_processes(options, candidates, context);

  context.tell(
      fmt::format("timing {} in turn, up to {:g} s", models.size() == 1 ? "the model" : "the models", options.seconds));
  const CpuTimes before = cpu_times();
  const std::vector<Timing> timings = time_in_turn(candidates, options.open, options.seconds);
  BenchResult result{.interference = interference(before, cpu_times())};
  result.models = timed(candidates, timings, std::move(probes), options.open.shapes.batch);
  if (options.lab) {
    context.tell("the coursework's protocol");
    std::vector<LabRuns> lab = run_lab_protocol(candidates, timings, options.open, options.seconds);
    for (size_t i = 0; i < lab.size(); ++i) result.models[i].lab = std::move(lab[i]);
  }
  for (size_t i = 1; i < candidates.size(); ++i)
    result.models[i].comparison = compare(candidates[0], candidates[i], speed_ratio(timings[0], timings[i]),
                                          set_ups_of(result.models[0]), set_ups_of(result.models[i]));
  if (options.evaluation.given())
    result.quality =
        compare_quality(models, {.evaluation = options.evaluation, .session = options.open.session}, context);
  result.notes = notes_of(candidates);
  const int threads = options.open.session.threads;
  result.conditions = conditions_of(*candidates[0].session, candidates[0].bindings, threads);
  if (threads > 1) result.pair = cpu_contention();
  result.environment = environment();
  return result;
}

std::string samples_csv(const BenchResult& result) {
  std::string csv = "placement";
  for (size_t i = 0; i < result.models.size(); ++i) csv += fmt::format(",model{}_ns", i);
  csv += "\n";
  const std::vector<size_t>& ends = result.models[0].timing.placement_ends;
  size_t round = 0;
  for (size_t placement = 0; placement < ends.size(); ++placement)
    for (; round < ends[placement]; ++round) {
      csv += std::to_string(placement);
      for (const TimedModel& m : result.models) csv += fmt::format(",{:.0f}", m.timing.samples_ns[round]);
      csv += "\n";
    }
  return csv;
}

}  // namespace hone

#include "jobs/profile.h"

#include <fmt/format.h>

#include "measure/peaks.h"

namespace hone {
namespace {

constexpr OptionField<ProfileOptions> kOwn[] = {
    flag("seconds", "Longest measured part", &ProfileOptions::seconds, {.least = kLeastSeconds, .most = kMostSeconds})};

ModelSteps steps_of(StepTimes times, const Session& session) {
  return {std::move(times), session.statistics(), sizes(session.graph()).weight_bytes};
}

}  // namespace

std::span<const OptionField<ProfileOptions>> ProfileOptions::own_fields() {
  static const auto all =
      joined_fields<ProfileOptions>(ShapeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(),
                                    RunFlags::compute_fields(), GivenFlags::fields(), SeedFlags::fields(), kOwn);
  return all;
}
std::span<const OptionField<ProfileOptions>> ProfileOptions::fields() {
  static const auto all = joined_fields<ProfileOptions>(own_fields(), CheckFiniteFlags::fields());
  return all;
}

ProfileModelsOptions ProfileOptions::profiling() const {
  ProfileModelsOptions result{.open = {.given = given(),
                                       .shapes = shapes(),
                                       .session = session_options(),
                                       .seed = seed,
                                       .check_finite = check_finite},
                              .seconds = seconds};
  const SessionOptions& session = result.open.session;
  result.peaks = machine_peaks(device_or_cpu(session.device), session.cache_folder);
  return result;
}

ProfileResult profile(std::span<const Model> models, const ProfileOptions& options, const TaskContext& context) {
  return profile_models(models, options.profiling(), context);
}

ProfileResult profile_models(std::span<const Model> models, const ProfileModelsOptions& options,
                             const TaskContext& context) {
  if (models.size() > 2) fail("{} models; one is profiled, or two side by side", models.size());
  const SessionOptions& session = options.open.session;
  if (!session.compiles()) fail("profiles are of compiled steps; leave --backend reference and -O0, -O1 out");
  std::vector<Candidate> candidates = open_candidates(models, options.open);
  std::vector<ProfiledModel> profiled;
  for (Candidate& c : candidates) profiled.push_back({c.model.name, *c.session, c.inputs});
  context.tell(fmt::format("profiling, up to {:g} s", options.seconds));
  std::vector<StepTimes> times = measure_steps(profiled, options.seconds, options.open.seed);

  ProfileResult result{.peaks = options.peaks};
  for (size_t i = 0; i < candidates.size(); ++i) {
    result.models.push_back(steps_of(std::move(times[i]), *candidates[i].session));
    result.files.push_back(facts_of(candidates[i].model));
  }
  result.conditions = conditions_of(*candidates[0].session, candidates[0].bindings, session.threads);
  result.notes = notes_of(candidates);
  result.environment = environment();
  return result;
}

ProfileResult profile_session(Session& session, const NamedTensors& inputs, const MachinePeaks& peaks, int threads,
                              double seconds) {
  const ProfiledModel model{"Steps", session, inputs};
  std::vector<StepTimes> times = measure_steps({&model, 1}, seconds);
  return {.models = {steps_of(std::move(times[0]), session)},
          .peaks = peaks,
          .conditions = conditions_of(session, {}, threads),
          .environment = environment()};
}

}  // namespace hone

#include "jobs/run_model.h"

#include "jobs/image_inputs.h"
#include "jobs/open_session.h"
#include "jobs/sound_inputs.h"
#include "jobs/text_inputs.h"
#include "measure/peaks.h"

namespace hone {
namespace {

constexpr OptionField<RunModelOptions> kInputs[] = {
    flag("image", "PNG or JPEG files; they become what the model reads, as its folder says", &RunModelOptions::images,
         {.file = OptionFile::reads, .takes_several = true}),
    flag("audio", "WAV files; they become what the model reads, as its folder says", &RunModelOptions::sounds,
         {.file = OptionFile::reads, .takes_several = true}),
    flag("seed", "Random seed for generated inputs, where none are given", &RunModelOptions::seed)};
constexpr OptionField<RunModelOptions> kProfile[] = {
    flag("profile", "Show time, rates and share of the measured peak per step", &RunModelOptions::profile)};

NamedTensors inputs_for(const RunModelOptions& options, const Model& model) {
  const std::vector<std::string> texts = options.texts();
  NamedTensors inputs = options.given();
  if (!texts.empty()) inputs.merge(text_inputs(model, tokenizer_of(model), texts));
  if (!options.images.empty()) inputs.merge(image_inputs(model, options.images));
  if (!options.sounds.empty()) inputs.merge(sound_inputs(model, options.sounds));
  if (!inputs.empty()) return inputs;
  return default_inputs(model.graph, bind_symbols(model.graph, options.shapes()), options.seed);
}

}  // namespace

std::span<const OptionField<RunModelOptions>> RunModelOptions::input_fields() {
  static const auto all =
      joined_fields<RunModelOptions>(ShapeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(),
                                     RunFlags::compute_fields(), GivenFlags::fields(), TextFlags::fields(), kInputs);
  return all;
}
std::span<const OptionField<RunModelOptions>> RunModelOptions::look_fields() {
  static const auto all = joined_fields<RunModelOptions>(kProfile, CheckFiniteFlags::fields());
  return all;
}
std::span<const OptionField<RunModelOptions>> RunModelOptions::fields() {
  static const auto all = joined_fields<RunModelOptions>(input_fields(), look_fields());
  return all;
}

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs())
    if (output.updates == kNone) names.push_back(output.label);
  return names;
}

RunModelResult run_model(const Model& model, const RunModelOptions& options, const TaskContext& context) {
  const SessionOptions session_options = options.session_options();
  if (options.profile && !session_options.compiles())
    fail("--profile shows compiled steps; leave --backend reference and -O0, -O1 out");
  const NamedTensors inputs = inputs_for(options, model);
  context.check();
  Session session = open_session(model, session_options);
  RunModelResult result{.names = session.output_names(),
                        .outputs = options.check_finite ? session.run_checked(inputs) : session.run(inputs)};
  context.check();
  if (options.profile)
    result.profile = profile_session(session, inputs,
                                     machine_peaks(device_or_cpu(session_options.device), session_options.cache_folder),
                                     session_options.threads);
  return result;
}

}  // namespace hone

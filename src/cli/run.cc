#include <algorithm>
#include <filesystem>

#include "base/file_name.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "io/numpy.h"
#include "jobs/image_inputs.h"
#include "jobs/open_session.h"
#include "jobs/sound_inputs.h"
#include "jobs/text_inputs.h"
#include "measure/peaks.h"
#include "views/profile.h"

namespace hone {
namespace {

struct RunVerb : ModelFlags, ShapeFlags, RunFlags, GivenFlags, TextFlags, CheckFiniteFlags, ResultFlags {
  std::string output_dir;
  std::vector<std::string> images, sounds;
  bool profile = false;
  uint64_t seed = 1;
  static std::span<const OptionField<RunVerb>> fields();
};

constexpr OptionField<RunVerb> kOwn[] = {
    flag("image", "PNG or JPEG files: made into what the model reads, as its folder says", &RunVerb::images,
         {.file = OptionFile::reads, .takes_several = true}),
    flag("audio", "WAV files: made into what the model reads, as its folder says", &RunVerb::sounds,
         {.file = OptionFile::reads, .takes_several = true}),
    flag("seed", "Of made-up inputs, when no others are given", &RunVerb::seed),
    flag("output-dir", "Write each output there as NAME.npy (what no name of a file holds becomes _)",
         &RunVerb::output_dir, {.value = "FOLDER"}),
    flag("profile", "Show time, rates and share of the measured peak per step", &RunVerb::profile)};

std::span<const OptionField<RunVerb>> RunVerb::fields() {
  static const auto all =
      joined_fields<RunVerb>(ModelFlags::fields(), ShapeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(),
                             RunFlags::compute_fields(), GivenFlags::fields(), TextFlags::fields(), kOwn,
                             CheckFiniteFlags::fields(), ResultFlags::fields());
  return all;
}

NamedTensors inputs_for(const RunVerb& verb, const LoadedModel& model) {
  const std::vector<std::string> texts = verb.texts();
  NamedTensors inputs = verb.given();
  if (!texts.empty()) inputs.merge(text_inputs(model, tokenizer_of(model), texts));
  if (!verb.images.empty()) inputs.merge(image_inputs(model, verb.images));
  if (!verb.sounds.empty()) inputs.merge(sound_inputs(model, verb.sounds));
  if (!inputs.empty()) return inputs;
  return default_inputs(model.graph, bind_symbols(model.graph, verb.shapes()), verb.seed);
}

// Names of outputs may hold what names of files may not. No files without --output-dir.
std::vector<std::string> output_files(const RunVerb& verb, const std::vector<std::string>& names) {
  if (verb.output_dir.empty()) return {};
  std::vector<std::string> files = plain_file_names(names, ".npy");
  for (std::string& file : files) file = verb.output_dir + "/" + file;
  return files;
}

void declare_files(const RunVerb& verb, const std::vector<std::string>& outputs) {
  RunFiles files = files_of(verb);
  for (const std::string& file : outputs) files.writes("--output-dir", file);
  files.check();
}

Record outputs_record(const RunVerb& verb, const std::vector<std::string>& names, const std::vector<std::string>& files,
                      const std::vector<Tensor>& outputs) {
  const NumberStyle four{NumberFormat::significant, 4};
  Table table{.key = "outputs",
              .title = "Outputs",
              .columns = {{"name", "name"},
                          {"type", "type"},
                          {"min", "smallest", "", four},
                          {"mean", "mean", "", four},
                          {"max", "largest", "", four},
                          {"file", "file"}},
              .rows = {}};
  for (size_t i = 0; i < outputs.size(); ++i) {
    // Of strings, and of sequences and optionals, the type is all that is shown.
    const bool has_numbers = outputs[i].container() == Container::none && outputs[i].dtype() != DType::string;
    const std::vector<double> values = has_numbers ? outputs[i].to_doubles() : std::vector<double>();
    Cell least, mean, most;
    if (!values.empty()) {
      double sum = 0;
      for (double v : values) sum += v;
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      least = number(*low), most = number(*high), mean = number(sum / static_cast<double>(values.size()));
    }
    table.rows.push_back(
        {names[i], to_string(outputs[i].type()), least, mean, most, files.empty() ? Cell() : Cell(files[i])});
  }
  return Record{.title = verb.model,
                .command = this_command(),
                .findings = {},
                .sections = {{"Outputs", {table}}},
                .machine = {},
                .manifest = {}};
}

int run(RunVerb& verb) {
  const SessionOptions options = verb.session_options();
  if (verb.profile && !options.compiles())
    fail("--profile shows compiled steps; leave --backend reference and -O0, -O1 out");
  declare_files(verb, {});
  const LoadedModel model = verb.load();
  const NamedTensors inputs = inputs_for(verb, model);
  Session session = open_session(model, options);
  const std::vector<std::string> names = session.output_names(), files = output_files(verb, names);
  declare_files(verb, files);
  const std::vector<Tensor> outputs = verb.check_finite ? session.run_checked(inputs) : session.run(inputs);
  if (!verb.output_dir.empty()) {
    std::filesystem::create_directories(verb.output_dir);
    for (size_t i = 0; i < outputs.size(); ++i) write_npy(files[i], outputs[i]);
  }
  Record record = outputs_record(verb, names, files, outputs);
  if (verb.profile) {
    Record profiled = view_of(profile_session(
        session, inputs, machine_peaks(device_or_cpu(options.device), options.cache_folder), options.threads));
    record.sections.push_back(std::move(profiled.sections[0]));
    record.machine = std::move(profiled.machine);
  }
  verb.print(record);
  return 0;
}

constexpr Verb<RunVerb> kVerb{
    .name = "run",
    .summary =
        "Run a model once, on given inputs, on texts, images, sounds, or made-up data; --profile shows where the time "
        "goes",
    .examples =
        "  hone run all-MiniLM-L6-v2 --text 'a sentence' --output-dir out\n"
        "  hone run vit-base-patch16-224 --image cat.png dog.jpg\n"
        "  hone run model.safetensors --input input_ids=ids.npy attention_mask=mask.npy --output-dir out\n"
        "  hone run all-MiniLM-L6-v2 --seq 128 --profile",
    .run = run};

}  // namespace

extern constinit const VerbDef run_verb_def = verb_def<kVerb>();

}  // namespace hone

#include <algorithm>
#include <filesystem>

#include "base/file_name.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "io/numpy.h"
#include "jobs/image_inputs.h"
#include "jobs/open_session.h"
#include "jobs/profile.h"
#include "jobs/sound_inputs.h"
#include "jobs/text_inputs.h"
#include "measure/peaks.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  ShapeFlags shapes;
  RunFlags run;
  GivenFlags given;
  TextFlags texts;
  std::vector<std::string> images, sounds;
  OutputFlags output;
  std::string output_dir;
  bool profile = false, check_finite = false;
  uint64_t seed = 1;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  flags.shapes.add_to(app);
  flags.run.add_to(app);
  flags.run.add_compute_to(app);
  flags.given.add_to(app);
  flags.texts.add_to(app);
  app.add_option("--image", flags.images, "PNG or JPEG files: made into what the model reads, as its folder says");
  app.add_option("--audio", flags.sounds, "WAV files: made into what the model reads, as its folder says");
  app.add_option("--seed", flags.seed, "Of made-up inputs, when no others are given")->capture_default_str();
  app.add_option("--output-dir", flags.output_dir,
                 "Write each output there as NAME.npy (what no name of a file holds becomes _)");
  app.add_flag("--profile", flags.profile, "Show time, rates and share of the measured peak per step");
  app.add_flag("--check-finite", flags.check_finite, kCheckFiniteHelp);
  flags.output.add_to(app);
}

NamedTensors inputs_for(const LoadedModel& model) {
  const std::vector<std::string> texts = flags.texts.get();
  NamedTensors inputs = flags.given.get();
  if (!texts.empty()) inputs.merge(text_inputs(model, tokenizer_of(model), texts));
  if (!flags.images.empty()) inputs.merge(image_inputs(model, flags.images));
  if (!flags.sounds.empty()) inputs.merge(sound_inputs(model, flags.sounds));
  if (!inputs.empty()) return inputs;
  return default_inputs(model.graph, bind_symbols(model.graph, flags.shapes.get()), flags.seed);
}

// Names of outputs may hold what names of files may not. No files without --output-dir.
std::vector<std::string> output_files(const std::vector<std::string>& names) {
  if (flags.output_dir.empty()) return {};
  std::vector<std::string> files = plain_file_names(names, ".npy");
  for (std::string& file : files) file = flags.output_dir + "/" + file;
  return files;
}

void declare_files(const std::vector<std::string>& outputs) {
  RunFiles files;
  files.reads("MODEL", flags.model.model)
      .reads_pairs("--input", flags.given.given)
      .reads("--text-file", flags.texts.file)
      .reads("--image", flags.images)
      .reads("--audio", flags.sounds);
  for (const std::string& file : outputs) files.writes("--output-dir", file);
  files.check();
}

Record outputs_record(const std::vector<std::string>& names, const std::vector<std::string>& files,
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
  return Record{.title = flags.model.model,
                .command = this_command(),
                .findings = {},
                .sections = {{"Outputs", {table}}},
                .machine = {},
                .manifest = {}};
}

int run() {
  if (flags.profile && !flags.run.options().compiles())
    fail("--profile shows compiled steps; leave --backend reference and -O0, -O1 out");
  declare_files({});
  const LoadedModel model = flags.model.load();
  const NamedTensors inputs = inputs_for(model);
  const SessionOptions options = flags.run.options();
  Session session = open_session(model, options);
  const std::vector<std::string> names = session.output_names(), files = output_files(names);
  declare_files(files);
  const std::vector<Tensor> outputs = flags.check_finite ? session.run_checked(inputs) : session.run(inputs);
  if (!flags.output_dir.empty()) {
    std::filesystem::create_directories(flags.output_dir);
    for (size_t i = 0; i < outputs.size(); ++i) write_npy(files[i], outputs[i]);
  }
  Record record = outputs_record(names, files, outputs);
  if (flags.profile) {
    Record profiled =
        profile(session, inputs, machine_peaks(*device_or_cpu(options.device), options.cache_folder), options.threads);
    record.sections.push_back(std::move(profiled.sections[0]));
    record.machine = std::move(profiled.machine);
  }
  flags.output.print(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef run_verb_def{
    .name = "run",
    .summary =
        "Run a model once, on given inputs, on texts, images, sounds, or made-up data; --profile shows where the time "
        "goes",
    .examples =
        "  hone run all-MiniLM-L6-v2 --text 'a sentence' --output-dir out\n"
        "  hone run vit-base-patch16-224 --image cat.png dog.jpg\n"
        "  hone run model.safetensors --input input_ids=ids.npy attention_mask=mask.npy --output-dir out\n"
        "  hone run all-MiniLM-L6-v2 --seq 128 --profile",
    .setup = setup,
    .run = run};

}  // namespace hone

#include <filesystem>

#include "base/file_name.h"
#include "cli/flags.h"
#include "cli/verb.h"
#include "io/numpy.h"
#include "views/run_model.h"

namespace hone {
namespace {

struct RunVerb : ModelFlags, RunModelOptions, ResultFlags {
  std::string output_dir;
  static std::span<const OptionField<RunVerb>> fields();
};

constexpr OptionField<RunVerb> kOwn[] = {
    flag("output-dir", "Write each output there as NAME.npy (what no name of a file holds becomes _)",
         &RunVerb::output_dir, {.value = "FOLDER"})};

std::span<const OptionField<RunVerb>> RunVerb::fields() {
  static const auto all = joined_fields<RunVerb>(ModelFlags::fields(), RunModelOptions::input_fields(), kOwn,
                                                 RunModelOptions::look_fields(), ResultFlags::fields());
  return all;
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

int run(RunVerb& verb) {
  declare_files(verb, {});
  const Model model = verb.load();
  const std::vector<std::string> files = output_files(verb, output_names(model.graph));
  declare_files(verb, files);
  const RunModelResult result = run_model(model, verb);
  if (!verb.output_dir.empty()) {
    std::filesystem::create_directories(verb.output_dir);
    for (size_t i = 0; i < files.size(); ++i) write_npy(files[i], result.outputs[i]);
  }
  Record record = view_of(result, files);
  record.title = verb.model;
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<RunVerb> kVerb{
    .name = "run",
    .task = VerbTask::use,
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

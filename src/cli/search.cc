#include <cstdio>
#include <filesystem>

#include "base/printable.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "io/toml.h"
#include "nas/search_config.h"
#include "views/search.h"

namespace hone {
namespace {

struct SearchVerb : DataOptions, RunFlags, ResultFlags {
  std::string model, config, space, data, storage = "memory", study, sampler, pruner, output;
  std::vector<std::string> objectives, budgets, sampler_options, pruner_options, inputs;
  std::optional<int64_t> trials, seed, rebuild;
  int64_t workers = 1;
  bool resume = false;
  GivenOptions given;
  static std::span<const OptionField<SearchVerb>> fields();
};

constexpr OptionField<SearchVerb> kOwn[] = {
    flag("model", "A folder, .onnx file or file of hone, or a name or configuration of hone build", &SearchVerb::model,
         {.is_positional = true}),
    flag("config", "TOML file with all that is asked for; flags win (docs/search.md)", &SearchVerb::config,
         {.file = OptionFile::reads}),
    flag("space", "TOML file with [parameters]: what is tried, and constraints", &SearchVerb::space,
         {.file = OptionFile::reads}),
    flag("data", "What candidates are trained on and judged by", &SearchVerb::data, {.file = OptionFile::reads}),
    flag("objective",
         "accuracy, loss, bits, bytes, latency, memory, flops or another metric; several for a front; or a weighted "
         "sum: accuracy - 0.05*bits",
         &SearchVerb::objectives, {.has_commas = true, .takes_several = true}),
    flag("budget", "What candidates must keep: bits<=4.5, bytes<=1MB, accuracy>=0.9", &SearchVerb::budgets,
         {.has_commas = true, .takes_several = true}),
    flag("trials", "Candidates in all, those of earlier runs included (30)", &SearchVerb::trials),
    flag("sampler", "random, grid, qmc, tpe, nsga2, cmaes, evolution, ilp or ilp-tpe (tpe; docs/search.md)",
         &SearchVerb::sampler),
    flag("sampler-option", "One of the sampler's own, e.g. startup=5", &SearchVerb::sampler_options,
         {.takes_several = true}),
    flag("pruner", "median, percentile, successive-halving, hyperband, patience or threshold", &SearchVerb::pruner),
    flag("pruner-option", "One of the pruner's own", &SearchVerb::pruner_options, {.takes_several = true}),
    flag("seed", "Of the sampler (1)", &SearchVerb::seed, {.least = 0}),
    flag("workers", "Candidates at once", &SearchVerb::workers),
    flag("storage", "Where studies are kept: study.db, study.log, or memory", &SearchVerb::storage),
    flag("study", "Name of the study; or which one of those in --config", &SearchVerb::study, {.last_counts = true}),
    flag("resume", "Go on with a study that is there", &SearchVerb::resume),
    flag("output", "The chosen model, .safetensors; of several objectives or studies a folder for them",
         &SearchVerb::output, {.letter = 'o', .last_counts = true}),
    flag("rebuild", "Search nothing: make the candidate of this trial again, as --output", &SearchVerb::rebuild,
         {.last_counts = true}),
    flag("inputs", "What a folder's model takes, e.g. input_ids,attention_mask", &SearchVerb::inputs,
         {.has_commas = true, .takes_several = true})};

constexpr std::string_view kOfData = "data-";

std::span<const OptionField<SearchVerb>> SearchVerb::fields() {
  static const auto all =
      joined_fields<SearchVerb>(kOwn, prefixed(kOfData.data(), DataOptions::fields()), RunFlags::fields(),
                                ResultFlags::report_fields(), ResultFlags::fields());
  return all;
}

std::string notes() {
  return "Parameters, and tables of what all candidates share:\n" + knobs_text() + "Figures, beside metrics:\n" +
         figures_text();
}

Json given_flags(const SearchVerb& verb) {
  Json all = Json::object();
  const auto set = [&](const char* key, const auto& value) {
    if (!value.empty()) all[key] = value;
  };
  set("model", verb.model);
  set("data", verb.data);
  set("inputs", verb.inputs);
  set("objective", verb.objectives);
  set("budget", verb.budgets);
  set("sampler", verb.sampler);
  set("sampler-option", verb.sampler_options);
  set("pruner", verb.pruner);
  set("pruner-option", verb.pruner_options);
  for (const OptionField<DataOptions>& field : DataOptions::fields())
    if (const auto found = verb.given.find(std::string(kOfData) + field.name); found != verb.given.end())
      if (!found->second.empty()) all["reading"][field.name] = found->second;
  if (verb.trials) all["trials"] = *verb.trials;
  if (verb.seed) all["seed"] = *verb.seed;
  if (verb.space.empty()) return all;
  const Json space = read_toml_file(verb.space);
  for (const auto& [key, value] : space.items()) {
    if (key != "parameters" && key != "constraints")
      fail("{}: unknown key {}; a space has parameters and constraints, --config takes the rest", verb.space, key);
    all[key] = value;
  }
  return all;
}

int run(SearchVerb& verb) {
  RunFiles files = files_of(verb);
  if (std::filesystem::exists(verb.model)) files.reads("MODEL", verb.model);
  if (verb.output.ends_with(".safetensors")) files.writes("--output", verb.output);
  files.check();
  const SearchModelOptions options{.tree = verb.config.empty() ? Json::object() : read_search_config(verb.config),
                                   .flags = given_flags(verb),
                                   .source = !verb.space.empty()    ? verb.space
                                             : !verb.config.empty() ? verb.config
                                                                    : "hone search",
                                   .storage = verb.storage,
                                   .study = verb.study,
                                   .output = verb.output,
                                   .workers = verb.workers,
                                   .resume = verb.resume,
                                   .session = verb.session_options()};
  const TaskContext context{.progress = terminal_progress(), .warn = [](const std::string& line) {
                              std::fprintf(stderr, "%s\n", printable(line).c_str());
                            }};
  Report report(verb);
  report.finish(verb.rebuild ? view_of(rebuild_trial(options, *verb.rebuild, context), this_command())
                             : view_of(search_model(options, context), this_command()));
  return 0;
}

constexpr Verb<SearchVerb> kVerb{
    .name = "search",
    .task = VerbTask::train,
    .summary = "Search architectures, training, pruning and number formats by studies that can be gone on with",
    .examples =
        "  hone search cnn.safetensors --data images --space formats.toml --objective accuracy,bits --trials 50 "
        "--storage study.db -o front\n"
        "  hone search resnet18.safetensors --data images --space formats.toml --objective 'accuracy - 0.02*bits' "
        "--budget 'bytes<=12MB' -o best.safetensors\n"
        "  hone search --config examples/labs/lab2/nas.toml --storage nas.db --workers 2 --report nas.html\n"
        "  hone search --config examples/labs/lab2/nas.toml --storage nas.db --study tpe --rebuild 7 -o "
        "best.safetensors",
    .run = run,
    .notes = notes};

}  // namespace

extern constinit const VerbDef search_verb_def = verb_def<kVerb>();

}  // namespace hone

#include <cstdio>
#include <filesystem>

#include "base/printable.h"
#include "cli/evaluation_flags.h"
#include "cli/flags.h"
#include "cli/option_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "io/toml.h"
#include "jobs/search_config.h"
#include "jobs/search_model.h"

namespace hone {
namespace {

struct {
  std::string model, config, space, data, storage = "memory", study, sampler, pruner, output;
  std::vector<std::string> objectives, budgets, sampler_options, pruner_options, inputs;
  std::optional<int64_t> trials, seed, rebuild;
  int64_t workers = 1;
  bool resume = false;
  GivenOptions reading;
  RunFlags run;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  const auto last = CLI::MultiOptionPolicy::TakeLast;
  app.add_option("MODEL", flags.model,
                 "A folder, .onnx file or file of hone, or a name or configuration of hone build");
  app.add_option("--config", flags.config, "TOML file with all that is asked for; flags win (docs/search.md)");
  app.add_option("--space", flags.space, "TOML file with [parameters]: what is tried, and constraints");
  app.add_option("--data", flags.data, "What candidates are trained on and judged by");
  app.add_option("--objective", flags.objectives,
                 "accuracy, loss, bits, bytes, latency, memory, flops or another metric; several for a front; or a "
                 "weighted sum: accuracy - 0.05*bits")
      ->delimiter(',');
  app.add_option("--budget", flags.budgets, "What candidates must keep: bits<=4.5, bytes<=1MB, accuracy>=0.9")
      ->delimiter(',');
  app.add_option("--trials", flags.trials, "Candidates in all, those of earlier runs included (30)");
  app.add_option("--sampler", flags.sampler,
                 "random, grid, qmc, tpe, nsga2, cmaes, evolution, ilp or ilp-tpe (tpe; docs/search.md)");
  app.add_option("--sampler-option", flags.sampler_options, "One of the sampler's own, e.g. startup=5");
  app.add_option("--pruner", flags.pruner, "median, percentile, successive-halving, hyperband, patience or threshold");
  app.add_option("--pruner-option", flags.pruner_options, "One of the pruner's own");
  app.add_option("--seed", flags.seed, "Of the sampler (1)");
  app.add_option("--workers", flags.workers, "Candidates at once")->capture_default_str();
  app.add_option("--storage", flags.storage, "Where studies are kept: study.db, study.log, or memory")
      ->capture_default_str();
  app.add_option("--study", flags.study, "Name of the study; or which one of those in --config")
      ->multi_option_policy(last);
  app.add_flag("--resume", flags.resume, "Go on with a study that is there");
  app.add_option("-o,--output", flags.output,
                 "The chosen model, .safetensors; of several objectives or studies a folder for them")
      ->multi_option_policy(last);
  app.add_option("--rebuild", flags.rebuild, "Search nothing: make the candidate of this trial again, as --output")
      ->multi_option_policy(last);
  app.add_option("--inputs", flags.inputs, "What a folder's model takes, e.g. input_ids,attention_mask")
      ->delimiter(',');
  add_fields(app, DataOptions::fields(), flags.reading, "data-");
  flags.run.add_all_but_trust_to(app);
  flags.result.add_report_to(app);
  flags.result.add_to(app);
  app.footer("Parameters, and tables of what all candidates share:\n" + knobs_text() + "Figures, beside metrics:\n" +
             figures_text() + "\n" + app.get_footer());
}

Json given_flags() {
  Json all = Json::object();
  const auto set = [&](const char* key, const auto& value) {
    if (!value.empty()) all[key] = value;
  };
  set("model", flags.model);
  set("data", flags.data);
  set("inputs", flags.inputs);
  set("objective", flags.objectives);
  set("budget", flags.budgets);
  set("sampler", flags.sampler);
  set("sampler-option", flags.sampler_options);
  set("pruner", flags.pruner);
  set("pruner-option", flags.pruner_options);
  for (const auto& [key, texts] : flags.reading)
    if (!texts.empty()) all["reading"][key] = texts;
  if (flags.trials) all["trials"] = *flags.trials;
  if (flags.seed) all["seed"] = *flags.seed;
  if (flags.space.empty()) return all;
  const Json space = read_toml_file(flags.space);
  for (const auto& [key, value] : space.items()) {
    if (key != "parameters" && key != "constraints")
      fail("{}: unknown key {}; a space has parameters and constraints, --config takes the rest", flags.space, key);
    all[key] = value;
  }
  return all;
}

int run() {
  RunFiles files;
  files.reads("--config", flags.config).reads("--space", flags.space).reads("--data", flags.data);
  if (std::filesystem::exists(flags.model)) files.reads("MODEL", flags.model);
  if (flags.output.ends_with(".safetensors")) files.writes("--output", flags.output);
  files.writes("--report", flags.result.report).check();
  note_split_files(flags.reading);
  Report report(flags.result);
  report.finish(
      search_model({.tree = flags.config.empty() ? Json::object() : read_search_config(flags.config),
                    .flags = given_flags(),
                    .source = !flags.space.empty()    ? flags.space
                              : !flags.config.empty() ? flags.config
                                                      : "hone search",
                    .storage = flags.storage,
                    .study = flags.study,
                    .output = flags.output,
                    .workers = flags.workers,
                    .resume = flags.resume,
                    .rebuild = flags.rebuild,
                    .session = flags.run.options(),
                    .command = this_command(),
                    .progress = terminal_progress(),
                    .say = [](const std::string& line) { std::fprintf(stderr, "%s\n", printable(line).c_str()); }}));
  return 0;
}

}  // namespace

extern constinit const VerbDef search_verb_def{
    .name = "search",
    .summary = "Search architectures, training, pruning and number formats by studies that can be gone on with",
    .examples =
        "  hone search cnn.safetensors --data images --space formats.toml --objective accuracy,bits --trials 50 "
        "--storage study.db -o front\n"
        "  hone search resnet18.safetensors --data images --space formats.toml --objective 'accuracy - 0.02*bits' "
        "--budget 'bytes<=12MB' -o best.safetensors\n"
        "  hone search --config examples/searches/nas.toml --storage nas.db --workers 2 --report nas.html\n"
        "  hone search --config examples/searches/nas.toml --storage nas.db --study tpe --rebuild 7 -o "
        "best.safetensors",
    .setup = setup,
    .run = run};

}  // namespace hone

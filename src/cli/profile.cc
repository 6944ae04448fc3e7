#include "jobs/profile.h"

#include <optional>

#include "base/atomic_file.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "measure/peaks.h"

namespace hone {
namespace {

struct {
  std::vector<std::string> models;
  ModelFlags model;
  ShapeFlags shapes;
  RunFlags run;
  GivenFlags given;
  OutputFlags output;
  double seconds = 10;
  uint64_t seed = 1;
  bool check_finite = false;
  std::string trace;
} flags;

void setup(CLI::App& app) {
  app.add_option("MODEL", flags.models, "A folder or file; two are shown side by side")->required()->expected(1, 2);
  flags.model.add_inputs_to(app);
  flags.shapes.add_to(app);
  flags.run.add_to(app);
  flags.run.add_compute_to(app);
  flags.given.add_to(app);
  app.add_option("--seconds", flags.seconds, "Longest measured part")->check(seconds_range())->capture_default_str();
  app.add_option("--seed", flags.seed, "Of made-up inputs and of the order of runs")->capture_default_str();
  app.add_option("--trace", flags.trace, "JSON file to write, for chrome://tracing or ui.perfetto.dev");
  flags.output.add_report_to(app);
  app.add_flag("--check-finite", flags.check_finite, kCheckFiniteHelp);
  flags.output.add_to(app);
}

int run() {
  RunFiles()
      .reads("MODEL", flags.models)
      .reads_pairs("--input", flags.given.given)
      .writes("--trace", flags.trace)
      .writes("--report", flags.output.report)
      .check();
  std::optional<AtomicFile> trace;  // opened first, as the report is
  if (!flags.trace.empty()) trace.emplace(flags.trace);
  Report report(flags.output);
  const SessionOptions session = flags.run.options();
  const ProfileReport profiled = profile({.models = flags.models,
                                          .open = {.inputs = flags.model.inputs,
                                                   .given = flags.given.get(),
                                                   .shapes = flags.shapes.get(),
                                                   .session = session,
                                                   .seed = flags.seed,
                                                   .check_finite = flags.check_finite},
                                          .peaks = machine_peaks(device_or_cpu(session.device), session.cache_folder),
                                          .seconds = flags.seconds,
                                          .command = this_command(),
                                          .progress = terminal_progress()});
  report.finish(profiled.record);
  if (trace) trace->write(profiled.trace), trace->commit();
  return 0;
}

}  // namespace

extern constinit const VerbDef profile_verb_def{
    .name = "profile",
    .summary = "Show where a model's time goes, step by step, against what this machine can do, and why not faster",
    .examples =
        "  hone profile all-MiniLM-L6-v2 --seq 128\n"
        "  hone profile small.safetensors --trace run.json --report profile.html\n"
        "  hone profile all-MiniLM-L6-v2 small.safetensors",
    .setup = setup,
    .run = run};

}  // namespace hone

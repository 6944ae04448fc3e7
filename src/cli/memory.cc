#include "jobs/memory.h"

#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "jobs/probe.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  std::vector<std::string> to{"mxint8", "mxint4", "mxfp4"}, skip;
  ShapeFlags shapes;
  RunFlags run;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("--to", flags.to, "Formats, each tried on the layers alone and on layers and tables")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--skip", flags.skip, "Regular expression on names of weights that are kept (repeatable)")
      ->allow_extra_args(false);
  flags.result.add_report_to(app);
  flags.shapes.add_to(app);
  flags.run.add_to(app);
  flags.run.add_compute_to(app);
  flags.result.add_to(app);
}

int run() {
  RunFiles().reads("MODEL", flags.model.model).writes("--report", flags.result.report).check();
  Report report(flags.result);
  const Record record = memory({.model = flags.model.model,
                                .inputs = flags.model.inputs,
                                .to = flags.to,
                                .skip = flags.skip,
                                .shapes = flags.shapes.get(),
                                .session = flags.run.options(),
                                .program = this_program(),
                                .command = this_command(),
                                .progress = terminal_progress()});
  report.finish(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef memory_verb_def{
    .name = "memory",
    .summary = "What packing saves of a model's memory, stored and running, and where the rest goes",
    .examples =
        "  hone build deberta-xlarge -o deberta.safetensors\n"
        "  hone memory deberta.safetensors --skip classifier --seq 9 --report memory.html",
    .setup = setup,
    .run = run};

}  // namespace hone

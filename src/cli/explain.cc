#include "jobs/explain.h"

#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  ShapeFlags shapes;
  std::string device, isa, compute;
  std::vector<std::string> no_pass;
  bool no_fusion = false, no_winograd = false, no_fallback = false;
  OutputFlags output;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  flags.shapes.add_to(app);
  add_device_to(app, flags.device);
  add_no_fallback_to(app, flags.no_fallback);
  app.add_option("--isa", flags.isa,
                 "Instruction set to plan for, as hone run takes it (default: all that this CPU has)");
  app.add_option("--compute", flags.compute, "f32 or bf16 (default: as stored in the model)");
  app.add_flag("--no-fusion", flags.no_fusion, "Give each node a kernel of its own");
  app.add_flag("--no-winograd", flags.no_winograd, "Without algorithms whose rounding errors are larger");
  app.add_option("--no-pass", flags.no_pass, "Leave a pass out (repeatable)")->allow_extra_args(false);
  flags.output.add_to(app);
}

int run() {
  ExplainOptions options{.shapes = flags.shapes.get(),
                         .fuse = !flags.no_fusion,
                         .no_winograd = flags.no_winograd,
                         .no_fallback = flags.no_fallback};
  options.device = device_of(flags.device, flags.isa);
  if (!flags.compute.empty()) options.compute = parse_compute(flags.compute);
  options.pipeline.disabled = flags.no_pass;
  RunFiles().reads("MODEL", flags.model.model).check();
  Record record = explain(flags.model.load(), options);
  record.command = this_command();
  flags.output.print(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef explain_verb_def{
    .name = "explain",
    .summary = "Show what would run and why: fusion groups, kernels, refused alternatives, layout changes, memory",
    .examples =
        "  hone explain resnet18.safetensors\n"
        "  hone explain model.onnx --dim H=640 --dim W=640 --compute bf16 --json",
    .setup = setup,
    .run = run};

}  // namespace hone

#include "jobs/explain.h"

#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "jobs/explain_op.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  ShapeFlags shapes;
  std::string device, isa, compute, op, shape = "4096,14336", format = "mxint8", type = "bf16";
  std::vector<std::string> no_pass;
  bool no_fusion = false, no_winograd = false, no_fallback = false;
  OutputFlags output;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.get_option("MODEL")->required(false);
  flags.shapes.add_to(app);
  add_device_to(app, flags.device);
  add_no_fallback_to(app, flags.no_fallback);
  app.add_option("--isa", flags.isa,
                 "Instruction set to plan for, as hone run takes it (default: all that this CPU has)");
  app.add_option("--compute", flags.compute, "f32 or bf16 (default: as stored in the model)");
  app.add_flag("--no-fusion", flags.no_fusion, "Give each node a kernel of its own");
  app.add_flag("--no-winograd", flags.no_winograd, "Without algorithms whose rounding errors are larger");
  app.add_option("--no-pass", flags.no_pass, "Leave a pass out (repeatable)")->allow_extra_args(false);
  CLI::Option* op = app.add_option("--op", flags.op,
                                   "Instead of a model: one op, dequantize: which part of the result each block and "
                                   "lane of a device makes, of which codes")
                        ->check(CLI::IsMember({"dequantize"}));
  app.add_option("--shape", flags.shape, "With --op: rows,columns")->needs(op)->capture_default_str();
  app.add_option("--format", flags.format, "With --op: number format of the codes")->needs(op)->capture_default_str();
  app.add_option("--type", flags.type, "With --op: of the result")
      ->needs(op)
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  flags.output.add_to(app);
}

LoadedModel given() {
  if (flags.op.empty()) {
    if (flags.model.model.empty()) fail("no model to explain: give a folder or file, or --op dequantize");
    RunFiles().reads("MODEL", flags.model.model).check();
    return flags.model.load();
  }
  if (!flags.model.model.empty()) fail("--op {} takes no model; {} was given", flags.op, flags.model.model);
  return dequantize_model({.shape = parse_matrix_shape(flags.shape),
                           .format = parse_format(flags.format),
                           .type = flags.type == "bf16" ? DType::bf16 : DType::f32});
}

int run() {
  ExplainOptions options{.shapes = flags.shapes.get(),
                         .fuse = !flags.no_fusion,
                         .no_winograd = flags.no_winograd,
                         .no_fallback = flags.no_fallback};
  options.device = device_of(flags.device, flags.isa);
  if (!flags.compute.empty()) options.compute = parse_compute(flags.compute);
  options.pipeline.disabled = flags.no_pass;
  Record record = explain(given(), options);
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
        "  hone explain model.onnx --dim H=640 --dim W=640 --compute bf16 --json\n"
        "  hone explain --op dequantize --shape 4096,14336 --format mxint8 --device cuda:sm_80",
    .setup = setup,
    .run = run};

}  // namespace hone

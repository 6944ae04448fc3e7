#include "jobs/squeeze.h"

#include "cli/evaluation_flags.h"
#include "cli/quantize_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "jobs/probe.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  QuantizeFlags quantize;
  GivenFlags given;
  TextFlags texts;
  EvaluationFlags evaluation;
  std::string max_drop;
  ShapeFlags shapes;
  RunFlags run;
  OutputFlags result;
  std::string output;
  double seconds = 20;
  uint64_t seed = 1;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("-o,--output", flags.output, "File to write, .safetensors or .onnx")->required();
  flags.result.add_report_to(app);
  flags.quantize.compute = "bf16";
  flags.quantize.add_to(app);
  flags.given.add_to(app);
  flags.texts.add_to(app);
  flags.evaluation.add_to(app, "data-");
  app.add_option("--max-drop", flags.max_drop,
                 "Write nothing that loses more of the (first) metric on --data: 0.5% (points of a share; of other "
                 "metrics a part of the original's) or 0.01 (in the metric's own numbers)");
  flags.shapes.add_to(app);
  flags.run.add_to(app);
  app.add_option("--seconds", flags.seconds, "Longest measured part")->check(seconds_range())->capture_default_str();
  app.add_option("--seed", flags.seed, "Of made-up inputs and of the order of rounds")->capture_default_str();
  flags.result.add_to(app);
}

int run() {
  flags.quantize.read();
  RunFiles files;
  files.reads("MODEL", flags.model.model)
      .reads_pairs("--input", flags.given.given)
      .reads("--text-file", flags.texts.file);
  flags.quantize.read_by(files);
  files.reads("--data", flags.evaluation.data);
  files.writes("--output", flags.output).writes("--report", flags.result.report).check();
  Report report(flags.result);
  Record record =
      squeeze({.model = flags.model.model,
               .output = flags.output,
               .inputs = flags.model.inputs,
               .quantize = flags.quantize.options,
               .calibration = flags.quantize.calibration,
               .compute = flags.quantize.compute_type().value_or(Compute::bf16),
               .given = flags.given.get(),
               .texts = flags.texts.get(),
               .shapes = flags.shapes.get(),
               .evaluation = flags.evaluation.get(),
               .max_drop = flags.max_drop.empty() ? std::nullopt : std::optional(parse_max_drop(flags.max_drop)),
               .session = flags.run.options(),
               .program = this_program(),
               .seconds = flags.seconds,
               .seed = flags.seed,
               .command = this_command(),
               .progress = terminal_progress()});
  if (const auto over = over_plan(flags.quantize.plan, flags.output, record.manifest[1].bytes))
    record.findings.push_back(*over);
  report.finish(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef squeeze_verb_def{
    .name = "squeeze",
    .summary = "Quantize a model, then measure the written file against the original: size, memory, speed, outputs",
    .examples =
        "  hone squeeze all-MiniLM-L6-v2 --to mxint8 -o small.safetensors --report small.html\n"
        "  hone squeeze all-MiniLM-L6-v2 --to mxint4 --rule op:gather=mxint8 --text-file mine.txt -o "
        "mixed.safetensors\n"
        "  hone squeeze all-MiniLM-L6-v2 --to int4.g32 --method gptq --calib texts.txt -o small.safetensors\n"
        "  hone squeeze classifier --to int8 --data reviews.csv --metric f1 --max-drop 0.5% -o small.safetensors",
    .setup = setup,
    .run = run};

}  // namespace hone

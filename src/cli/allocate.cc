#include <filesystem>
#include <optional>

#include "cli/evaluation_flags.h"
#include "cli/quantize_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "jobs/allocate_formats.h"
#include "jobs/format_list.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  QuantizeFlags quantize;
  RunFlags run;
  OutputFlags result;
  ShapeFlags shapes;
  std::vector<std::string> formats;
  std::string output, budget, memory, target = "safetensors";
  EvaluationFlags evaluation;
  std::optional<double> lambda;
  int trials = 8;
  bool measure_all = false, front = false;
  uint64_t seed = 1;
  double seconds = 10;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("--formats", flags.formats, "Formats to choose from, e.g. mxint{3,4,6,8},int4.g32")->required();
  auto* budget = app.add_option(
      "--budget", flags.budget,
      "avg-bits=4.5, bytes=12MB (of the whole file), latency=0.7x (of the original's time), "
      "latency=12ms (both of the file as written and measured) or drop=0.5% (as few bits as lose no more "
      "of the metric, as of squeeze --max-drop)");
  app.add_option(
         "--lambda", flags.lambda,
         "Instead of a budget: minimise what is lost (1 - accuracy or another metric; without labels the output "
         "error) plus this times average bits")
      ->check(real_range(0, 1e9))
      ->excludes(budget);
  flags.evaluation.add_choice_to(
      app,
      "What choices are compared on, and, on samples that are held out from that, judged by: a file as of --calib, or "
      "a data set (default: that of --calib; where the method learns, it learns from the other half)");
  app.add_option("--for", flags.target, "The kind of file that the plan is for: its size is held to a budget of bytes")
      ->check(CLI::IsMember({"safetensors", "onnx"}))
      ->capture_default_str();
  flags.shapes.add_to(app);
  app.add_option("-o,--output", flags.output, "Plan to write, a .toml file for --config of quantize and squeeze")
      ->required();
  flags.result.add_report_to(app);
  app.add_flag("--front", flags.front, "What is chosen for other budgets too, as table and plot");
  app.add_flag("--measure-all", flags.measure_all,
               "Measure each tensor in every format; otherwise one measurement a tensor scales its layers' errors");
  app.add_option("--trials", flags.trials, "Choices measured to refine the solution")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--measurements", flags.memory, "File in which measurements are remembered between runs");
  app.add_option("--seconds", flags.seconds, "Longest measured part of times")
      ->check(seconds_range())
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the refinement and of the order of rounds")->capture_default_str();
  flags.quantize.compute = "bf16";
  flags.quantize.options = AllocateFormatsOptions().quantize;
  flags.quantize.add_to(app);
  app.get_option("--method")->default_str(flags.quantize.options.method);
  flags.run.add_to(app);
  flags.result.add_to(app);
}

int run() {
  flags.quantize.read();
  RunFiles files;
  files.reads("MODEL", flags.model.model).reads("--data", flags.evaluation.data);
  flags.quantize.read_by(files);
  files.writes("--output", flags.output).writes("--report", flags.result.report);
  files.writes("--measurements", flags.memory).check();
  Report report(flags.result);
  SessionOptions session = flags.run.options();
  session.compute = flags.quantize.compute_type();
  const Record record =
      allocate_formats({.model = flags.model.model,
                        .output = flags.output,
                        .inputs = flags.model.inputs,
                        .formats = parse_format_list(flags.formats),
                        .quantize = flags.quantize.options,
                        .budget = flags.budget.empty() ? std::nullopt : std::optional(parse_budget(flags.budget)),
                        .lambda = flags.lambda,
                        .data = {flags.evaluation.data, flags.quantize.calibration.batch, {}},
                        .calibration = flags.quantize.calibration,
                        .judged = flags.evaluation.get_choice(),
                        .measure_all = flags.measure_all,
                        .front = flags.front,
                        .trials = flags.trials,
                        .seed = flags.seed,
                        .target = flags.target,
                        .shapes = flags.shapes.get(),
                        .seconds = flags.seconds,
                        .session = session,
                        .memory = flags.memory,
                        .command = this_command(),
                        .progress = terminal_progress()});
  report.finish(record);
  return 0;
}

}  // namespace

extern constinit const VerbDef allocate_verb_def{
    .name = "allocate",
    .summary = "Choose a number format for each weight, so that a model meets a budget and loses least",
    .examples =
        "  hone allocate all-MiniLM-L6-v2 --formats mxint{3,4,5,6,8} --budget avg-bits=4.5 --calib texts.txt -o "
        "plan.toml\n"
        "  hone squeeze all-MiniLM-L6-v2 --config plan.toml -o small.safetensors\n"
        "  hone allocate cnn.onnx --formats mxint4,mxint8,bf16 --lambda 0.01 --calib train.npz --front --report "
        "plan.html -o plan.toml",
    .setup = setup,
    .run = run};

}  // namespace hone

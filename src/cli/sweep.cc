#include "jobs/sweep.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/evaluation_flags.h"
#include "cli/quantize_flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"
#include "jobs/format_list.h"
#include "report/html.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  QuantizeFlags quantize;
  RunFlags run;
  OutputFlags result;
  std::vector<std::string> formats;
  std::string folder;
  EvaluationFlags evaluation;
  bool with_activations = false;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("--formats", flags.formats, "Formats and patterns, e.g. 'int{4..32}.f{2,4,8},mxint{2..8}'")
      ->required();
  app.add_option("-o,--output", flags.folder, "Folder for sweep.csv, the plots, the report, and what was measured")
      ->required();
  flags.evaluation.add_choice_to(
      app,
      "What quality is measured on, half of it to choose the best by and half to report: a file as of --calib, or a "
      "data set (default: that of --calib; where the method learns, it learns from the other half)");
  app.add_flag("--with-activations", flags.with_activations, "The inputs of products in each format too");
  flags.quantize.compute = "f32";
  flags.quantize.add_to(app);
  flags.run.add_to(app);
  flags.result.add_to(app);
}

int run() {
  flags.quantize.read();
  RunFiles files;
  files.reads("MODEL", flags.model.model).reads("--data", flags.evaluation.data);
  flags.quantize.read_by(files);
  for (const char* name : {"sweep.csv", "sweep.html", "curves.svg", "best_so_far.svg", "measurements.txt"})
    files.writes("--output", flags.folder + "/" + name);
  files.check();
  SessionOptions session = flags.run.options();
  session.compute = flags.quantize.compute_type();
  const Calibration& calibration = flags.quantize.calibration;
  if (flags.evaluation.data.empty() && calibration.file.empty())
    fail("there is nothing to measure quality on; give --data FILE");
  const Record record = sweep({.model = flags.model.model,
                               .folder = flags.folder,
                               .inputs = flags.model.inputs,
                               .formats = parse_format_list(flags.formats),
                               .activations = flags.with_activations,
                               .quantize = flags.quantize.options,
                               .data = {flags.evaluation.data, calibration.batch, {}},
                               .calibration = calibration,
                               .judged = flags.evaluation.get_choice(),
                               .session = session,
                               .command = this_command(),
                               .progress = terminal_progress()});
  flags.result.print(record);
  write_file(flags.folder + "/sweep.html", html(record));
  return 0;
}

}  // namespace

extern constinit const VerbDef sweep_verb_def{
    .name = "sweep",
    .summary = "A model in many number formats, one after the other: table and curves by family",
    .examples =
        "  hone sweep all-MiniLM-L6-v2 --formats 'int{4..32}.f{2,4,8}' --data texts.txt -o sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8},bfp{2..12},log{3..8}' --with-activations --data test.npz -o "
        "sweep\n"
        "  hone sweep cnn.onnx --formats 'mxint{2..8}' --method gptq --calib train.npz --data test.npz -o sweep\n"
        "  hone sweep classifier --formats 'int{3..8}.g32' --data reviews.csv --metric f1 -o sweep",
    .setup = setup,
    .run = run};

}  // namespace hone

#include "jobs/evaluate.h"

#include "cli/evaluation_flags.h"
#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "cli/terminal_progress.h"

namespace hone {
namespace {

struct {
  std::vector<std::string> models;
  ModelFlags model;
  EvaluationFlags evaluation;
  RunFlags run;
  OutputFlags result;
  AgreementOptions agreement;
  std::string answers = "by-name";
} flags;

void setup(CLI::App& app) {
  app.add_option("MODEL", flags.models, "Folders or files; the first is what the others are compared with")->required();
  flags.model.add_inputs_to(app);
  flags.evaluation.add_to(app);
  app.get_option("--data")->required();
  app.add_option("--seed", flags.evaluation.options.data.seed, "Of drawn rows and of intervals")->capture_default_str();
  app.add_option("--answers", flags.answers,
                 "What agreement is of: classes, embeddings, boxes, or by-name: by the names of the outputs")
      ->capture_default_str();
  app.add_option("--least-score", flags.agreement.least_score, "Agreement of boxes: those that count")
      ->check(real_range(0, 1))
      ->capture_default_str();
  app.add_option("--least-iou", flags.agreement.least_iou, "Agreement of boxes: overlap of those that are the same")
      ->check(real_range(0, 1))
      ->capture_default_str();
  app.add_option("--neighbours", flags.agreement.neighbours, "Agreement of embeddings: how many are looked at")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->capture_default_str();
  flags.result.add_report_to(app);
  flags.run.add_to(app);
  flags.run.add_compute_to(app);
  flags.result.add_to(app);
}

int run() {
  RunFiles files;
  files.reads("MODEL", flags.models).reads("--data", flags.evaluation.data);
  files.writes("--report", flags.result.report).check();
  Report report(flags.result);
  flags.agreement.form = parse_answer_form(flags.answers);
  flags.agreement.seed = flags.evaluation.options.data.seed;
  report.finish(evaluate({.models = flags.models,
                          .quality = {.inputs = flags.model.inputs,
                                      .evaluation = flags.evaluation.get(),
                                      .agreement = flags.agreement,
                                      .session = flags.run.options(),
                                      .progress = terminal_progress()},
                          .command = this_command()}));
  return 0;
}

}  // namespace

extern constinit const VerbDef evaluate_verb_def{
    .name = "evaluate",
    .summary = "Judge models by what they answer to a data set: accuracy, F1, perplexity and others, with intervals",
    .examples =
        "  hone evaluate classifier --data reviews.csv --metric accuracy,f1\n"
        "  hone evaluate classifier small.safetensors --data reviews.csv --limit 1000\n"
        "  hone evaluate encoder small.safetensors --data pairs.tsv --metric retrieval\n"
        "  hone evaluate original small.safetensors --data texts.csv --metric agreement\n"
        "  hone evaluate cnn.onnx --data test.npz --metric 'cmd:./score.sh --strict'",
    .setup = setup,
    .run = run};

}  // namespace hone

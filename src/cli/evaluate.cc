#include "jobs/evaluate.h"

#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/evaluation_flags.h"

namespace hone {
namespace {

struct EvaluateVerb : ModelsFlags, EvaluationFlags, RunFlags, ResultFlags {
  uint64_t seed = 1;
  std::string answers = "by-name";
  double least_score = AgreementOptions().least_score, least_iou = AgreementOptions().least_iou;
  int64_t neighbours = AgreementOptions().neighbours;
  static std::span<const OptionField<EvaluateVerb>> fields();
};

constexpr OptionField<EvaluationFlags> kData[] = {required_flag(
    "data", "Data set to judge answers on: a file or folder", &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<EvaluateVerb> kOwn[] = {
    flag("seed", "Of drawn rows and of intervals", &EvaluateVerb::seed),
    flag("answers", "What agreement is of: classes, embeddings, boxes, or by-name: by the names of the outputs",
         &EvaluateVerb::answers),
    flag("least-score", "Agreement of boxes: those that count", &EvaluateVerb::least_score, {.least = 0, .most = 1}),
    flag("least-iou", "Agreement of boxes: overlap of those that are the same", &EvaluateVerb::least_iou,
         {.least = 0, .most = 1}),
    flag("neighbours", "Agreement of embeddings: how many are looked at", &EvaluateVerb::neighbours,
         {.least = 1, .most = int64_t{1} << 20})};

std::span<const OptionField<EvaluateVerb>> EvaluateVerb::fields() {
  static const auto all = joined_fields<EvaluateVerb>(
      ModelsFlags::fields().first(2), kData, EvaluationFlags::fields(""), kOwn, ResultFlags::report_fields(),
      RunFlags::fields(), RunFlags::trust_fields(), RunFlags::compute_fields(), ResultFlags::fields());
  return all;
}

int run(EvaluateVerb& verb) {
  files_of(verb).check();
  Report report(verb);
  EvaluationOptions evaluation = verb.evaluation();
  evaluation.data.seed = verb.seed;
  report.finish(evaluate({.models = verb.model,
                          .quality = {.inputs = verb.inputs,
                                      .evaluation = evaluation,
                                      .agreement = {.form = parse_answer_form(verb.answers),
                                                    .least_score = verb.least_score,
                                                    .least_iou = verb.least_iou,
                                                    .neighbours = verb.neighbours,
                                                    .seed = verb.seed},
                                      .session = verb.session_options(),
                                      .progress = terminal_progress()},
                          .command = this_command()}));
  return 0;
}

constexpr Verb<EvaluateVerb> kVerb{
    .name = "evaluate",
    .task = VerbTask::measure,
    .summary = "Judge models by what they answer to a data set: accuracy, F1, perplexity and others, with intervals",
    .examples =
        "  hone evaluate classifier --data reviews.csv --metric accuracy,f1\n"
        "  hone evaluate classifier small.safetensors --data reviews.csv --limit 1000\n"
        "  hone evaluate encoder small.safetensors --data pairs.tsv --metric retrieval\n"
        "  hone evaluate original small.safetensors --data texts.csv --metric agreement\n"
        "  hone evaluate cnn.onnx --data test.npz --metric 'cmd:./score.sh --strict'",
    .run = run};

}  // namespace

extern constinit const VerbDef evaluate_verb_def = verb_def<kVerb>();

}  // namespace hone

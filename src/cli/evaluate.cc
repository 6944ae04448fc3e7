#include "views/evaluation.h"

#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct EvaluateVerb : ModelsFlags, EvaluateOptions, ResultFlags {
  static std::span<const OptionField<EvaluateVerb>> fields();
};

std::span<const OptionField<EvaluateVerb>> EvaluateVerb::fields() {
  static const auto all =
      joined_fields<EvaluateVerb>(ModelsFlags::fields().first(2), ModelsFlags::model_format_field(),
                                  EvaluateOptions::own_fields(), ResultFlags::report_fields(), RunFlags::fields(),
                                  RunFlags::trust_fields(), RunFlags::compute_fields(), ResultFlags::fields());
  return all;
}

int run(EvaluateVerb& verb) {
  files_of(verb).check();
  Report report(verb);
  const QualityOptions options = verb.quality();  // whose faults are said before models are read
  Record record = view_of(compare_quality(verb.load(), options, {.progress = terminal_progress()}));
  record.command = this_command();
  report.finish(record);
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

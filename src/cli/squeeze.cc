#include "jobs/squeeze.h"

#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/evaluation_flags.h"
#include "jobs/probe.h"
#include "jobs/quantize_flags.h"

namespace hone {
namespace {

struct SqueezeVerb : ModelFlags,
                     OutputFlags,
                     QuantizeFlags,
                     GivenFlags,
                     TextFlags,
                     EvaluationFlags,
                     ShapeFlags,
                     RunFlags,
                     SecondsFlags,
                     SeedFlags,
                     ResultFlags {
  SqueezeVerb() { QuantizeFlags::compute = "bf16"; }
  std::string max_drop;
  static std::span<const OptionField<SqueezeVerb>> fields();
};

constexpr OptionField<SqueezeVerb> kDrop[] = {
    flag("max-drop",
         "Write nothing that loses more of the (first) metric on --data: 0.5% (points of a share; of other metrics a "
         "part of the original's) or 0.01 (in the metric's own numbers)",
         &SqueezeVerb::max_drop)};

std::span<const OptionField<SqueezeVerb>> SqueezeVerb::fields() {
  static const auto all = joined_fields<SqueezeVerb>(
      ModelFlags::fields().first(2), OutputFlags::fields(), ResultFlags::report_fields(), QuantizeFlags::fields(),
      GivenFlags::fields(), TextFlags::fields(), EvaluationFlags::data_fields(), EvaluationFlags::fields("data-"),
      kDrop, ShapeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields(), SecondsFlags::fields(),
      SeedFlags::fields(), ResultFlags::fields());
  return all;
}

int run(SqueezeVerb& verb) {
  verb.check();
  files_of(verb).check();
  Report report(verb);
  Record record =
      squeeze({.model = verb.model,
               .output = verb.output,
               .inputs = verb.inputs,
               .quantize = verb.quantize(),
               .calibration = verb.calibration(),
               .compute = verb.compute_type().value_or(Compute::bf16),
               .given = verb.given(),
               .texts = verb.texts(),
               .shapes = verb.shapes(),
               .evaluation = verb.evaluation(),
               .max_drop = verb.max_drop.empty() ? std::nullopt : std::optional(parse_max_drop(verb.max_drop)),
               .session = verb.session_options(),
               .program = this_program(),
               .seconds = verb.seconds,
               .seed = verb.seed,
               .command = this_command(),
               .progress = terminal_progress()});
  if (const auto over = over_plan(verb.plan, verb.output, record.manifest[1].bytes)) record.findings.push_back(*over);
  report.finish(record);
  return 0;
}

constexpr Verb<SqueezeVerb> kVerb{
    .name = "squeeze",
    .task = VerbTask::compress,
    .summary = "Quantize a model, then measure the written file against the original: size, memory, speed, outputs",
    .examples =
        "  hone squeeze all-MiniLM-L6-v2 --to mxint8 -o small.safetensors --report small.html\n"
        "  hone squeeze all-MiniLM-L6-v2 --to mxint4 --rule op:gather=mxint8 --text-file mine.txt -o "
        "mixed.safetensors\n"
        "  hone squeeze all-MiniLM-L6-v2 --to int4.g32 --method gptq --calib texts.txt -o small.safetensors\n"
        "  hone squeeze classifier --to int8 --data reviews.csv --metric f1 --max-drop 0.5% -o small.safetensors",
    .run = run,
    .read_config = [](SqueezeVerb& verb) { verb.read_config_file(); }};

}  // namespace

extern constinit const VerbDef squeeze_verb_def = verb_def<kVerb>();

}  // namespace hone

#include "views/allocate.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct AllocateVerb : ModelFlags, AllocateFlags, ResultFlags {
  std::string output;
  static std::span<const OptionField<AllocateVerb>> fields();
};

constexpr OptionField<AllocateVerb> kOutput[] = {
    required_flag("output", "Plan to write, a .toml file for --config of quantize and squeeze", &AllocateVerb::output,
                  {.file = OptionFile::writes, .letter = 'o'})};

std::span<const OptionField<AllocateVerb>> AllocateVerb::fields() {
  static const auto all =
      joined_fields<AllocateVerb>(ModelFlags::fields(), AllocateFlags::first_fields(), kOutput,
                                  ResultFlags::report_fields(), AllocateFlags::other_fields(), ResultFlags::fields());
  return all;
}

int run(AllocateVerb& verb) {
  const AllocateFormatsOptions options = verb.typed();
  files_of(verb).check();
  check_plan_name(verb.output);
  Report report(verb);
  const AllocatedFormats allocated = allocate_formats(verb.load(), options, {.progress = terminal_progress()});
  write_plan(verb.output, allocated, this_command());
  Record record = view_of(allocated, verb.output);
  record.command = this_command();
  report.finish(record);
  return 0;
}

constexpr Verb<AllocateVerb> kVerb{
    .name = "allocate",
    .task = VerbTask::compress,
    .summary = "Choose a number format for each weight, so that a model meets a budget and loses least",
    .examples =
        "  hone allocate all-MiniLM-L6-v2 --formats mxint{3,4,5,6,8} --budget avg-bits=4.5 --calib texts.txt -o "
        "plan.toml\n"
        "  hone squeeze all-MiniLM-L6-v2 --config plan.toml -o small.safetensors\n"
        "  hone allocate cnn.onnx --formats mxint4,mxint8,bf16 --lambda 0.01 --calib train.npz --front --report "
        "plan.html -o plan.toml",
    .run = run,
    .read_config = [](AllocateVerb& verb) { verb.read_config_file(); }};

}  // namespace

extern constinit const VerbDef allocate_verb_def = verb_def<kVerb>();

}  // namespace hone

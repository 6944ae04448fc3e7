#include "views/export.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct ExportVerb : ModelFlags, ExportFlags, ResultFlags {
  std::string output;
  static std::span<const OptionField<ExportVerb>> fields();
};

constexpr OptionField<ExportVerb> kOutput[] = {
    required_flag("output", "File to write, .onnx, or with --layout a folder", &ExportVerb::output,
                  {.file = OptionFile::writes, .letter = 'o'})};

std::span<const OptionField<ExportVerb>> ExportVerb::fields() {
  static const auto all =
      joined_fields<ExportVerb>(ModelFlags::fields(), kOutput, ExportFlags::fields(), ResultFlags::fields());
  return all;
}

int run(ExportVerb& verb) {
  files_of(verb).check();
  const Model model = verb.load();
  Record record = std::visit([](const auto& result) { return view_of(result); }, export_as(model, verb.output, verb));
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<ExportVerb> kVerb{
    .name = "export",
    .task = VerbTask::use,
    .summary = "Write a model as ONNX, or as a folder with packed weights that other tools read",
    .examples =
        "  hone export all-MiniLM-L6-v2 -o model.onnx\n"
        "  hone export small.safetensors -o small.onnx --opset 21 --json\n"
        "  hone quantize all-MiniLM-L6-v2 --to int4.g32.s=bf16 --rule op:gather=keep -o small.safetensors\n"
        "  hone export all-MiniLM-L6-v2 --packed small.safetensors --layout compressed-tensors -o small",
    .run = run};

}  // namespace

extern constinit const VerbDef export_verb_def = verb_def<kVerb>();

}  // namespace hone

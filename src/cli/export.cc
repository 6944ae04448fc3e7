#include "views/export.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct ExportVerb : ModelFlags, ResultFlags {
  std::string output, layout, packed;
  std::optional<int64_t> opset;
  static std::span<const OptionField<ExportVerb>> fields();
};

constexpr OptionField<ExportVerb> kOwn[] = {
    required_flag("output", "File to write, .onnx, or with --layout a folder", &ExportVerb::output,
                  {.file = OptionFile::writes, .letter = 'o'}),
    flag("opset", "Version of ONNX's operators, 17 to 28; default: the oldest that will do", &ExportVerb::opset,
         {.least = std::numeric_limits<int>::min(), .most = std::numeric_limits<int>::max()}),
    flag("layout",
         "Write a Hugging Face folder with packed weights as in compressed-tensors, mxfp4 (gpt-oss) or torchao",
         &ExportVerb::layout, {.not_with = "opset"}),
    flag("packed", "A file of hone's: its packed weights take the place of MODEL's", &ExportVerb::packed,
         {.file = OptionFile::reads, .only_with = "layout"})};

std::span<const OptionField<ExportVerb>> ExportVerb::fields() {
  static const auto all = joined_fields<ExportVerb>(ModelFlags::fields(), kOwn, ResultFlags::fields());
  return all;
}

int run(ExportVerb& verb) {
  files_of(verb).check();
  const Model model = verb.load();
  std::optional<int> opset;
  if (verb.opset) opset = static_cast<int>(*verb.opset);
  Record record = verb.layout.empty() ? view_of(export_model(model, verb.output, opset))
                                      : view_of(export_folder(model, {verb.output, verb.layout, verb.packed}));
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

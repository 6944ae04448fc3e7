#include "views/explain.h"

#include "cli/flags.h"
#include "cli/verb.h"
#include "jobs/explain_op.h"

namespace hone {
namespace {

struct ExplainVerb : ModelFlags, ExplainFlags, DequantizeFlags, ResultFlags {
  std::string op;
  static std::span<const OptionField<ExplainVerb>> fields();
};

std::vector<std::string> ops_to_explain() { return {"dequantize"}; }

constexpr OptionField<ModelFlags> kModel[] = {
    flag("model", "Hugging Face folder, .gguf or .onnx file, or a file that hone wrote", &ModelFlags::model,
         {.file = OptionFile::reads, .is_positional = true})};
constexpr OptionField<ExplainVerb> kOp[] = {
    flag("op",
         "Instead of a model: one op, dequantize: which part of the result each block and lane of a device makes, of "
         "which codes",
         &ExplainVerb::op, {.choices = ops_to_explain})};

std::span<const OptionField<ExplainVerb>> ExplainVerb::fields() {
  static const auto all =
      joined_fields<ExplainVerb>(kModel, ModelFlags::fields().subspan(1, 1), ModelFlags::model_format_field(),
                                 ExplainFlags::fields(), kOp, DequantizeFlags::fields(), ResultFlags::fields());
  return all;
}

Model explained(const ExplainVerb& verb) {
  if (verb.op.empty()) {
    if (verb.model.empty()) fail("no model to explain: give a folder or file, or --op dequantize");
    files_of(verb).check();
    return verb.load();
  }
  if (!verb.model.empty()) fail("--op {} takes no model; {} was given", verb.op, verb.model);
  return dequantize_model(verb.dequantize());
}

int run(ExplainVerb& verb) {
  const ExplainOptions options = verb.explanation();  // whose faults are said before the model is read
  Record record = view_of(explain(explained(verb), options));
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<ExplainVerb> kVerb{
    .name = "explain",
    .task = VerbTask::look,
    .summary = "Show what would run and why: fusion groups, kernels, refused alternatives, layout changes, memory",
    .examples =
        "  hone explain resnet18.safetensors\n"
        "  hone explain model.onnx --dim H=640 --dim W=640 --compute bf16 --json\n"
        "  hone explain --op dequantize --shape 4096,14336 --format mxint8 --device cuda:sm_80",
    .run = run};

}  // namespace

extern constinit const VerbDef explain_verb_def = verb_def<kVerb>();

}  // namespace hone

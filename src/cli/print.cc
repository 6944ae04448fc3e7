#include "jobs/print_model.h"

#include "cli/flags.h"
#include "cli/verb.h"
#include "ir/text.h"

namespace hone {
namespace {

struct PrintVerb : ModelFlags, PrintModelOptions {
  static std::span<const OptionField<PrintVerb>> fields() {
    static const auto all = joined_fields<PrintVerb>(ModelFlags::fields(), PrintModelOptions::fields());
    return all;
  }
};

int run(PrintVerb& verb) {
  print_text(print(graph_at_stage(verb.load(), verb)));
  return 0;
}

constexpr Verb<PrintVerb> kVerb{
    .name = "print",
    .task = VerbTask::look,
    .summary = "Print a model's graph as text",
    .examples =
        "  hone print all-MiniLM-L6-v2\n"
        "  hone print small.safetensors --stage prepared --compute bf16\n"
        "  hone print net.onnx --pass recognise_linear --pass quantize --pass-option quantize.to=mxint8",
    .run = run,
    .inspects = true};

}  // namespace

extern constinit const VerbDef print_verb_def = verb_def<kVerb>();

}  // namespace hone

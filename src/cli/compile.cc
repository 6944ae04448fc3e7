#include "views/compile_model.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct CompileVerb : ModelFlags, CompileOptions, ResultFlags {
  std::string output;
  static std::span<const OptionField<CompileVerb>> fields();
};

constexpr OptionField<CompileVerb> kOutput[] = {
    required_flag("output", "File to write, .safetensors", &CompileVerb::output, {.value = "FILE", .letter = 'o'})};

std::span<const OptionField<CompileVerb>> CompileVerb::fields() {
  static const auto all =
      joined_fields<CompileVerb>(ModelFlags::fields(), kOutput, CompileOptions::fields(), ResultFlags::fields());
  return all;
}

int run(CompileVerb& verb) {
  RunFiles files = files_of(verb);
  if (verb.model.ends_with(".safetensors")) files.replaces("--output", verb.output);
  else files.writes("--output", verb.output);
  files.check();
  Record record = view_of(compile_model(verb.load(), verb, verb.output));
  record.command = this_command();
  verb.print(record);
  return 0;
}

constexpr Verb<CompileVerb> kVerb{
    .name = "compile",
    .task = VerbTask::use,
    .summary = "Write a model with its machine code, so that it starts without compiling",
    .examples =
        "  hone compile all-MiniLM-L6-v2 -o minilm.safetensors                # code for any sizes\n"
        "  hone compile all-MiniLM-L6-v2 -o minilm.safetensors --seq 128      # and for texts of this length alone\n"
        "  hone compile minilm.safetensors -o minilm.safetensors --isa avx2   # adds the code of another level\n"
        "  hone run minilm.safetensors --seq 128 --trust-code                 # runs it; without, it is left aside",
    .run = run};

}  // namespace

extern constinit const VerbDef compile_verb_def = verb_def<kVerb>();

}  // namespace hone

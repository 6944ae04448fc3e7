#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "jobs/compile_model.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  ShapeFlags shapes;
  RunFlags run;
  std::string output;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("-o,--output", flags.output, "File to write, .safetensors")->required();
  flags.shapes.add_to(app);
  flags.run.add_all_but_trust_to(app);
  flags.run.add_compute_to(app);
  flags.result.add_to(app);
}

int run() {
  RunFiles files;
  files.reads("MODEL", flags.model.model);
  if (flags.model.model.ends_with(".safetensors")) files.replaces("--output", flags.output);
  else files.writes("--output", flags.output);
  files.check();
  flags.result.print(
      compile_model(flags.model.load(), flags.run.options(), flags.shapes.get(), flags.output, this_command()));
  return 0;
}

}  // namespace

extern constinit const VerbDef compile_verb_def{
    .name = "compile",
    .summary = "Write a model with its machine code, so that it starts without compiling",
    .examples =
        "  hone compile all-MiniLM-L6-v2 -o minilm.safetensors                # code for any sizes\n"
        "  hone compile all-MiniLM-L6-v2 -o minilm.safetensors --seq 128      # and for texts of this length alone\n"
        "  hone compile minilm.safetensors -o minilm.safetensors --isa avx2   # adds the code of another level\n"
        "  hone run minilm.safetensors --seq 128 --trust-code                 # runs it; without, it is left aside",
    .setup = setup,
    .run = run};

}  // namespace hone

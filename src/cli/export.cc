#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"
#include "jobs/export_folder.h"
#include "jobs/export_model.h"

namespace hone {
namespace {

struct {
  ModelFlags model;
  std::string output, layout, packed;
  std::optional<int> opset;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  flags.model.add_to(app);
  app.add_option("-o,--output", flags.output, "File to write, .onnx, or with --layout a folder")->required();
  CLI::Option* opset =
      app.add_option("--opset", flags.opset, "Version of ONNX's operators, 17 to 28; default: the oldest that will do");
  CLI::Option* layout =
      app.add_option("--layout", flags.layout,
                     "Write a Hugging Face folder with packed weights as in compressed-tensors, mxfp4 "
                     "(gpt-oss) or torchao");
  layout->excludes(opset);
  app.add_option("--packed", flags.packed, "A file of hone's: its packed weights take the place of MODEL's")
      ->needs(layout);
  flags.result.add_to(app);
}

int run() {
  RunFiles().reads("MODEL", flags.model.model).reads("--packed", flags.packed).writes("--output", flags.output).check();
  const LoadedModel model = flags.model.load();
  flags.result.print(flags.layout.empty() ? export_model(model, flags.output, flags.opset, this_command())
                                          : export_folder(model, {.path = flags.output,
                                                                  .layout = flags.layout,
                                                                  .packed = flags.packed,
                                                                  .command = this_command()}));
  return 0;
}

}  // namespace

extern constinit const VerbDef export_verb_def{
    .name = "export",
    .summary = "Write a model as ONNX, or as a folder with packed weights that other tools read",
    .examples =
        "  hone export all-MiniLM-L6-v2 -o model.onnx\n"
        "  hone export small.safetensors -o small.onnx --opset 21 --json\n"
        "  hone quantize all-MiniLM-L6-v2 --to int4.g32.s=bf16 --rule op:gather=keep -o small.safetensors\n"
        "  hone export all-MiniLM-L6-v2 --packed small.safetensors --layout compressed-tensors -o small",
    .setup = setup,
    .run = run};

}  // namespace hone

#include "jobs/build_model.h"

#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/run_files.h"

namespace hone {
namespace {

struct {
  BuildOptions options;
  std::vector<std::string> set;
  std::string output;
  OutputFlags result;
} flags;

void setup(CLI::App& app) {
  app.add_option("MODEL", flags.options.model,
                 "A known model (resnet18, mobilenet_v3_small, convnet, mlp, ...), or a configuration, .json")
      ->required();
  app.add_option("-o,--output", flags.output, "File to write, .safetensors or .onnx")->required();
  app.add_option("--set", flags.set, "A key of the configuration to change, e.g. num_classes=10 (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--weights", flags.options.weights,
                 "Tensors under torchvision's or Hugging Face's names, .safetensors (default: random)");
  app.add_option("--seed", flags.options.seed, "Of random weights")->capture_default_str();
  flags.result.add_to(app);
}

int run() {
  RunFiles files;
  if (flags.options.model.ends_with(".json")) files.reads("MODEL", flags.options.model);
  files.reads("--weights", flags.options.weights).writes("--output", flags.output).check();
  flags.options.set = parse_pairs(flags.set, "--set");
  flags.result.print(build_to_file(flags.options, flags.output, this_command()));
  return 0;
}

}  // namespace

extern constinit const VerbDef build_verb_def{
    .name = "build",
    .summary = "Write a known architecture as a model, with given weights or random ones",
    .examples =
        "  hone build resnet18 -o resnet18.safetensors\n"
        "  hone build resnet50 --weights resnet50-torchvision.safetensors -o resnet50.safetensors\n"
        "  hone build resnet18 --set stem=small --set num_channels=1 --set num_classes=10 -o digits.safetensors",
    .setup = setup,
    .run = run};

}  // namespace hone

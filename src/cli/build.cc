#include "jobs/build_model.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct BuildVerb : BuildOptions, OutputFlags, ResultFlags {
  std::vector<std::string> keys;
  static std::span<const OptionField<BuildVerb>> fields();
};

constexpr OptionField<BuildOptions> kModel[] = {
    required_flag("model", "A known model (resnet18, mobilenet_v3_small, convnet, mlp, ...), or a configuration, .json",
                  &BuildOptions::model, {.is_positional = true})};
constexpr OptionField<BuildVerb> kSet[] = {
    flag("set", "A key of the configuration to change, e.g. num_classes=10 (repeatable)", &BuildVerb::keys,
         {.value = "KEY=VALUE"})};
constexpr OptionField<BuildOptions> kWeights[] = {
    flag("weights", "Tensors under torchvision's or Hugging Face's names, .safetensors (default: random)",
         &BuildOptions::weights, {.file = OptionFile::reads}),
    flag("seed", "Of random weights", &BuildOptions::seed)};

std::span<const OptionField<BuildVerb>> BuildVerb::fields() {
  static const auto all =
      joined_fields<BuildVerb>(kModel, OutputFlags::fields(), kSet, kWeights, ResultFlags::fields());
  return all;
}

int run(BuildVerb& verb) {
  RunFiles files = files_of(verb);
  if (verb.model.ends_with(".json")) files.reads("MODEL", verb.model);
  files.check();
  verb.set = parse_pairs(verb.keys, "--set");
  verb.print(build_to_file(verb, verb.output, this_command()));
  return 0;
}

constexpr Verb<BuildVerb> kVerb{
    .name = "build",
    .task = VerbTask::use,
    .summary = "Write a known architecture as a model, with given weights or random ones",
    .examples =
        "  hone build resnet18 -o resnet18.safetensors\n"
        "  hone build resnet50 --weights resnet50-torchvision.safetensors -o resnet50.safetensors\n"
        "  hone build resnet18 --set stem=small --set num_channels=1 --set num_classes=10 -o digits.safetensors",
    .run = run};

}  // namespace

extern constinit const VerbDef build_verb_def = verb_def<kVerb>();

}  // namespace hone

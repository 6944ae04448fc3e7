#include "views/build_model.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct BuildVerb : BuildOptions, OutputFlags, ResultFlags {
  static std::span<const OptionField<BuildVerb>> fields() {
    static const auto all = joined_fields<BuildVerb>(BuildOptions::fields().first(1), OutputFlags::fields(),
                                                     BuildOptions::fields().subspan(1), ResultFlags::fields());
    return all;
  }
};

int run(BuildVerb& verb) {
  RunFiles files = files_of(verb);
  if (verb.model.ends_with(".json")) files.reads("MODEL", verb.model);
  files.check();
  Record record = view_of(build_to_file(verb, verb.output));
  record.command = this_command();
  verb.print(record);
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

#include "views/info.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct InfoVerb : ModelFlags, ShapeFlags, ResultFlags {
  static std::span<const OptionField<InfoVerb>> fields() {
    static const auto all = joined_fields<InfoVerb>(ModelFlags::fields(), ShapeFlags::fields(), ResultFlags::fields());
    return all;
  }
};

int run(InfoVerb& verb) {
  verb.print(view_of(info(verb.load(), verb.shapes())));
  return 0;
}

constexpr Verb<InfoVerb> kVerb{
    .name = "info",
    .task = VerbTask::look,
    .summary = "Show what is in a model: inputs, ops, parameters, formats, bytes, FLOP",
    .examples = "  hone info all-MiniLM-L6-v2\n  hone info small.safetensors --seq 64 --json",
    .run = run,
    .inspects = true};

}  // namespace

extern constinit const VerbDef info_verb_def = verb_def<kVerb>();

}  // namespace hone

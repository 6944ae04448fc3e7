#include "views/formats.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

struct FormatsVerb : ResultFlags {
  uint64_t seed = 1;
  static std::span<const OptionField<FormatsVerb>> fields();
};

constexpr OptionField<FormatsVerb> kSeed[] = {
    flag("seed", "Random seed of the normal values that SQNR is measured on", &FormatsVerb::seed)};

std::span<const OptionField<FormatsVerb>> FormatsVerb::fields() {
  static const auto all = joined_fields<FormatsVerb>(kSeed, ResultFlags::fields());
  return all;
}

int run(FormatsVerb& verb) {
  verb.print(view_of(list_formats(verb.seed)));
  return 0;
}

constexpr Verb<FormatsVerb> kVerb{.name = "formats",
                                  .task = VerbTask::formats,
                                  .summary = "List every number format with its cost, range and measured precision",
                                  .examples = "  hone formats\n  hone formats --json",
                                  .run = run};

}  // namespace

extern constinit const VerbDef formats_verb_def = verb_def<kVerb>();

}  // namespace hone

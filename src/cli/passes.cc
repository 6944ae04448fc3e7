#include "views/passes.h"

#include "cli/flags.h"
#include "cli/verb.h"

namespace hone {
namespace {

int run(ResultFlags& verb) {
  verb.print(view_of(list_passes()));
  return 0;
}

constexpr Verb<ResultFlags> kVerb{.name = "passes",
                                  .task = VerbTask::formats,
                                  .summary = "List every pass and its options",
                                  .examples = "  hone passes\n  hone passes --json",
                                  .run = run};

}  // namespace

extern constinit const VerbDef passes_verb_def = verb_def<kVerb>();

}  // namespace hone

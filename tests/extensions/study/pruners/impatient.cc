// An example of a pruner: ends every trial at its second report.
#include "study/no_options.h"
#include "study/pruner.h"

namespace hone {
namespace {

class ImpatientPruner : public Pruner {
 public:
  bool prune(const PruneContext& context) override { return context.trial.intermediate.size() > 1; }
};

}  // namespace

extern constinit const PrunerDef impatient_pruner_def{
    .name = "impatient",
    .doc = "ends every trial at its second report",
    .options = &option_table<NoOptions>,
    .make = [](const std::any&) -> std::unique_ptr<Pruner> { return std::make_unique<ImpatientPruner>(); }};

}  // namespace hone

#include <fmt/format.h>

#include "api/generate/options.h"
#include "api/option_tables.h"
#include "jobs/allocate_formats.h"
#include "jobs/bench.h"
#include "jobs/evaluate.h"
#include "jobs/prune_model.h"
#include "jobs/quantize_flags.h"
#include "jobs/sweep.h"
#include "jobs/train_model.h"
#include "nas/search_options.h"

namespace hone::generate {

std::vector<OptionStruct> option_structs() {
  return {option_struct<api::SessionFlags>(
              "SessionOptions", "How a model is made ready and run. A value that is not accepted is an Error.",
              "session.h"),
          option_struct<QuantizeFlags>(
              "QuantizeOptions",
              "What is stored in which format. A value that is not accepted is an Error that names the option.",
              "quantize.h", {"config"}),
          option_struct<EvaluateOptions>("EvaluateOptions", "What models are judged on, and by which metrics.",
                                         "evaluate.h", {"print-after"}),
          option_struct<BenchOptions>("BenchOptions", "What models are timed on, and for how long.", "bench.h",
                                      {"print-after"}),
          option_struct<TrainOptions>("TrainOptions", "What a model learns from, and how.", "train.h", {"print-after"}),
          option_struct<PruneFlags>("PruneOptions", "What goes, by which score, and what is trained after it.",
                                    "prune.h", {"print-after"}),
          option_struct<SweepOptions>("SweepOptions", "What a model is varied in, and judged by.", "sweep.h",
                                      {"print-after", "config"}),
          option_struct<AllocateFlags>("AllocateOptions", "What weights may be stored in, and what bounds the choice.",
                                       "allocate.h", {"print-after", "config"}),
          option_struct<SearchFlags>("SearchOptions", "What is searched, by what, and where its studies are kept.",
                                     "search.h", {"print-after", "rebuild"})};
}

}  // namespace hone::generate

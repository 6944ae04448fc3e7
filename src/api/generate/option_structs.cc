#include <fmt/format.h>

#include "api/generate/options.h"
#include "api/option_tables.h"
#include "jobs/bench.h"
#include "jobs/evaluate.h"
#include "jobs/quantize_flags.h"
#include "jobs/train_model.h"

namespace hone::generate {

std::vector<OptionStruct> option_structs() {
  return {
      option_struct<api::SessionFlags>("SessionOptions",
                                       "How a model is made ready and run. A value that is not accepted is an Error.",
                                       "session.h"),
      option_struct<QuantizeFlags>(
          "QuantizeOptions",
          "What is stored in which format. A value that is not accepted is an Error that names the option.",
          "quantize.h", {"config"}),
      option_struct<EvaluateOptions>("EvaluateOptions", "What models are judged on, and by which metrics.",
                                     "evaluate.h", {"print-after"}),
      option_struct<BenchOptions>("BenchOptions", "What models are timed on, and for how long.", "bench.h",
                                  {"print-after"}),
      option_struct<TrainOptions>("TrainOptions", "What a model learns from, and how.", "train.h", {"print-after"})};
}

}  // namespace hone::generate

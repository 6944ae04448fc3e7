#include <fmt/format.h>

#include "api/generate/options.h"
#include "api/option_tables.h"
#include "jobs/quantize_flags.h"

namespace hone::generate {

std::vector<OptionStruct> option_structs() {
  return {option_struct<api::SessionFlags>(
              "SessionOptions", "How a model is made ready and run. A value that is not accepted is an Error.",
              "session.h"),
          option_struct<QuantizeFlags>(
              "QuantizeOptions",
              "What is stored in which format. A value that is not accepted is an Error that names the option.",
              "quantize.h", {"config"})};
}

}  // namespace hone::generate

#include "views/build_model.h"

#include <fmt/format.h>

#include "views/conditions.h"
#include "views/saved_model.h"

namespace hone {

Record view_of(const BuildResult& result) {
  const NumberStyle count{NumberFormat::integer, 0};
  const std::string weights =
      result.source ? result.options.weights : fmt::format("random weights, seed {}", result.options.seed);
  Record record{.title = fmt::format("{} built", result.name),
                .findings = {fmt::format("{}: {}, {}", result.path, result.name, weights)},
                .sections = {{"Model",
                              {KeyValues{.key = "model",
                                         .title = "Model",
                                         .items = {{"parameters", "parameters and statistics",
                                                    number(static_cast<double>(result.parameters)), "", count},
                                                   {"config", "configuration", result.config}}}}}},
                .machine = describe(result.environment)};
  for (std::string& finding : findings_of(result.saved, result.path)) record.findings.push_back(std::move(finding));
  if (result.source) record.manifest.push_back(input_entry(*result.source));
  record.manifest.push_back(output_entry(result.written));
  return record;
}

}  // namespace hone

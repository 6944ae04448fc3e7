#include "views/quantize.h"

#include "base/hash.h"
#include "ir/bodies.h"
#include "jobs/data_facts.h"
#include "measure/environment.h"
#include "views/quantize_tables.h"
#include "views/saved_model.h"

namespace hone {

Record view_of(const QuantizedModel& quantized, const QuantizeFlags& options, const Model& source,
               const std::string& output, const SavedModel& saved) {
  Record record{.title = fmt::format("{} quantized", source.name),
                .findings = {size_finding(output, saved, source)},
                .sections = {{"Tensors", describe(quantized)}},
                .machine = describe(environment())};
  add_check(record, output, saved);
  if (calibrates(options.quantize()) && has_bodies(quantized.graph))
    record.findings.push_back(
        fmt::format("weights in bodies of If, Loop and Scan are not calibrated: they are rounded {}, and no other step "
                    "that learns from data changes them",
                    options.method == "nearest" ? "to the nearest" : "by scale-search"));
  if (const auto over = over_plan(options.plan, output, saved.bytes)) record.findings.push_back(*over);
  record.manifest.push_back({"input", source.path, source.sha256(), source.file_bytes});
  if (const std::string& data = options.calibration().file; !data.empty()) {
    const FileFacts facts = facts_of_data(data);
    record.manifest.push_back({"calibration", facts.path, facts.sha256, facts.bytes});
  }
  record.manifest.push_back({"output", output, sha256_of_file(output), saved.bytes});
  return record;
}

}  // namespace hone

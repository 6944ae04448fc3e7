#include "views/lora.h"

#include <cmath>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "measure/environment.h"
#include "views/saved_model.h"

namespace hone {
namespace {

constexpr NumberStyle kCount{NumberFormat::integer, 0}, kFigure{NumberFormat::significant, 3},
    kDecibels{NumberFormat::fixed, 1};

std::string total_text(const AdapterList& list) {
  return fmt::format("{} adapters of {} weights beside {} ({:.2f} %)", list.adapters.size(), list.elements, list.beside,
                     100.0 * static_cast<double>(list.elements) / static_cast<double>(list.beside));
}

Table adapter_table(const AdapterList& list, bool fused) {
  Table table{.key = "adapters",
              .title = "Adapters",
              .columns = {{"layer", "layer"},
                          {"weight", "weight"},
                          {"rank", "rank", "", kCount},
                          {"scaling", "scaling", "", {NumberFormat::significant, 4}}}};
  if (fused) {
    table.columns.push_back({"change", "change of the weight", "%", kFigure});
    table.columns.push_back({"kept", "change against rounding", "dB", kDecibels});
  }
  for (const AdapterFacts& a : list.adapters) {
    table.rows.push_back({a.layer, a.weight, number(static_cast<double>(a.rank)), number(a.scaling)});
    if (!fused) continue;
    table.rows.back().push_back(a.change ? number(100 * *a.change) : Cell());
    table.rows.back().push_back(a.kept_db ? number(*a.kept_db) : Cell());
  }
  return table;
}

Record record_of(const Model& model, const std::string& title, Table table) {
  Record record{.title = fmt::format("{}: {}", model.name, title),
                .sections = {{"Adapters", {std::move(table)}}},
                .machine = describe(environment())};
  if (!model.weight_files.empty()) record.manifest.push_back({"input", model.path, model.sha256(), model.file_bytes});
  return record;
}

Record adapted_record(const Model& model, const std::string& title, const AdapterList& list) {
  Record record = record_of(model, title, adapter_table(list, false));
  record.findings.push_back(total_text(list));
  return record;
}

void add_written(Record& record, const std::string& output, const SavedModel& saved) {
  add_check(record, output, saved);
  record.manifest.push_back({"output", output, sha256_of_file(output), saved.bytes});
}

}  // namespace

Record view_of(const InsertedAdapters& inserted, const Model& model, const std::string& output,
               const SavedModel& saved) {
  Record record = adapted_record(model, "adapters inserted", inserted.list);
  record.findings.push_back("its outputs are the same as before: what adapters add is 0 until they are trained");
  record.findings.insert(record.findings.end(), inserted.passed_over.begin(), inserted.passed_over.end());
  add_written(record, output, saved);
  return record;
}

Record view_of(const FusedAdapters& fused, const Model& model, const std::string& output, const SavedModel& saved) {
  Record record = record_of(model, "adapters fused", adapter_table(fused.list, true));
  record.findings.push_back(
      fmt::format("{} adapters are in the weights now; the model has no others", fused.list.adapters.size()));
  if (fused.packed > 0)
    record.findings.push_back(fmt::format(
        "{} packed weights were rounded again: what the adapters change is {:.1f} dB {} what rounding loses{}",
        fused.packed, std::abs(fused.kept_db), fused.kept_db >= 0 ? "above" : "below",
        fused.kept_db < 0 ? "; hone evaluate tells what that costs" : ""));
  add_written(record, output, saved);
  return record;
}

Record view_of(const ExportedAdapters& exported, const Model& model) {
  Record record = adapted_record(model, "adapters exported", exported.list);
  record.findings.push_back(
      fmt::format("{}: {}, read back; in Python: PeftModel.from_pretrained(model, FOLDER){}", exported.folder,
                  human_bytes(static_cast<double>(exported.file_bytes)),
                  exported.whole_tensors == 0 && exported.biases == 0
                      ? ""
                      : fmt::format("; with {} whole tensors and {} biases", exported.whole_tensors, exported.biases)));
  record.manifest.push_back({"output", exported.file, sha256_of_file(exported.file), exported.file_bytes});
  return record;
}

Record view_of(const ImportedAdapters& imported, const Model& model, const std::string& output,
               const SavedModel& saved) {
  Record record = adapted_record(model, "adapters imported", imported.list);
  if (imported.biases > 0)
    record.findings.push_back(fmt::format("{} trained biases took the place of the model's", imported.biases));
  if (imported.whole_tensors > 0)
    record.findings.push_back(fmt::format("{} whole tensors {}", imported.whole_tensors,
                                          imported.adapters_only ? "were left out" : "took the place of the model's"));
  add_written(record, output, saved);
  return record;
}

}  // namespace hone

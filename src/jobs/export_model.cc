#include "jobs/export_model.h"

#include <filesystem>

#include "base/hash.h"
#include "jobs/save_model.h"
#include "measure/environment.h"

namespace hone {
namespace {

Table format_table(const OnnxExport& exported) {
  const NumberStyle count{NumberFormat::integer, 0}, bytes{NumberFormat::bytes, 3};
  Table table{.key = "formats",
              .title = "Packed constants",
              .columns = {{"format", "format"},
                          {"written", "written as"},
                          {"constants", "constants", "", count},
                          {"packed_bytes", "packed", "", bytes},
                          {"bytes", "in ONNX", "", bytes}},
              .rows = {},
              .note = "They decode to the same numbers, bit for bit. ONNX stores codes in 4, 8 or 16 bits."};
  for (const ExportedFormat& format : exported.formats)
    table.rows.push_back({format.format, format.written, number(static_cast<double>(format.constants)),
                          number(static_cast<double>(format.packed_bytes)), number(static_cast<double>(format.bytes))});
  return table;
}

}  // namespace

Record export_model(const LoadedModel& model, const std::string& path, std::optional<int> opset,
                    const std::string& command) {
  if (!path.ends_with(".onnx")) fail("{}: the output's name must end in .onnx", path);
  refuse_source_as_output(path, model);
  const SavedModel saved = save_as_onnx(path, model.graph, {.opset = opset});
  const OnnxExport& exported = saved.onnx;
  const NumberStyle count{NumberFormat::integer, 0};
  const KeyValues totals{.key = "model",
                         .title = "Model",
                         .items = {{"opset", "opset", number(exported.opset), "", count},
                                   {"nodes", "nodes", number(static_cast<double>(exported.nodes)), "", count},
                                   {"bytes", "bytes", number(static_cast<double>(exported.bytes)), "", count}}};
  Record record{.title = fmt::format("{} as ONNX", model.name),
                .command = command,
                .findings = {fmt::format("{}: opset {}, {} nodes", path, exported.opset, exported.nodes)},
                .sections = {{"Model", {totals}}},
                .machine = describe(environment()),
                .manifest = {{"input", model.path, model.sha256(), model.file_bytes}}};
  if (!exported.formats.empty()) record.sections[0].blocks.push_back(format_table(exported));
  add_check(record, path, saved);
  for (const std::string& file : saved.files)
    record.manifest.push_back(
        {"output", file, sha256_of_file(file), static_cast<int64_t>(std::filesystem::file_size(file))});
  return record;
}

}  // namespace hone

#include "views/export.h"

#include <fmt/format.h>

#include "views/conditions.h"
#include "views/saved_model.h"

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

Table weights_table(const std::vector<FormatWeights>& stored) {
  Table table{.key = "formats",
              .title = "Weights",
              .columns = {{"format", "format"},
                          {"weights", "weights", "", {NumberFormat::integer, 0}},
                          {"bytes", "bytes", "", {NumberFormat::bytes, 3}}}};
  for (const FormatWeights& each : stored)
    table.rows.push_back(
        {each.format, number(static_cast<double>(each.weights)), number(static_cast<double>(each.bytes))});
  return table;
}

}  // namespace

Record view_of(const ExportResult& result) {
  const OnnxExport& exported = result.saved.onnx;
  const NumberStyle count{NumberFormat::integer, 0};
  const KeyValues totals{.key = "model",
                         .title = "Model",
                         .items = {{"opset", "opset", number(exported.opset), "", count},
                                   {"nodes", "nodes", number(static_cast<double>(exported.nodes)), "", count},
                                   {"bytes", "bytes", number(static_cast<double>(exported.bytes)), "", count}}};
  Record record{.title = fmt::format("{} as ONNX", result.name),
                .findings = {fmt::format("{}: opset {}, {} nodes", result.path, exported.opset, exported.nodes)},
                .sections = {{"Model", {totals}}},
                .machine = describe(result.environment),
                .manifest = {input_entry(result.source)}};
  if (!exported.formats.empty()) record.sections[0].blocks.push_back(format_table(exported));
  for (std::string& finding : findings_of(result.saved, result.path)) record.findings.push_back(std::move(finding));
  for (const FileFacts& file : result.written) record.manifest.push_back(output_entry(file));
  return record;
}

Record view_of(const FolderResult& result) {
  Record record{.title = fmt::format("{} as {}", result.name, result.layout),
                .findings = {fmt::format(
                    "{}: read back, each weight as it was; not run: its graph is not stored but built from config.json",
                    result.path)},
                .sections = {{"Model", {weights_table(result.weights)}}},
                .machine = describe(result.environment),
                .manifest = {input_entry(result.source), output_entry(result.written)}};
  record.findings.insert(record.findings.end(), result.notes.begin(), result.notes.end());
  return record;
}

}  // namespace hone

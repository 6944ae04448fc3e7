// An ONNX file (io/onnx/export_model.h), with the tokenizer in its metadata.
#include <fmt/format.h>

#include "base/text.h"
#include "exporters/carried_files.h"
#include "exporters/exporter.h"
#include "io/onnx/export_size.h"
#include "io/onnx/import_model.h"

namespace hone {
namespace {

// What ONNX's types cost: codes in 4, 8 or 16 bits and scales in f32 may take more than they do in hone's own file.
std::vector<std::string> costs_of(const OnnxExport& onnx) {
  constexpr double kWorthSaying = 1.1;
  std::vector<std::string> notes;
  for (const ExportedFormat& format : onnx.formats) {
    if (const double growth = static_cast<double>(format.bytes) / static_cast<double>(format.packed_bytes);
        growth > kWorthSaying)
      notes.push_back(fmt::format("{} takes {:.1f} times the bytes in ONNX ({}): {} against {} as .safetensors",
                                  format.format, growth, format.written, human_bytes(static_cast<double>(format.bytes)),
                                  human_bytes(static_cast<double>(format.packed_bytes))));
    // ONNX Runtime 1.32 has no DequantizeLinear of this type, and of the runtimes in wide use it reads the most.
    if (format.written.starts_with("float4e2m1"))
      notes.push_back(
          fmt::format("{} is written as FLOAT4E2M1, which ONNX Runtime (1.32) does not load yet; int4.g32 and fp8_e4m3 "
                      "it does",
                      format.format));
  }
  return notes;
}

WrittenModel write(const std::string& path, const Graph& graph, const NamedFiles& files, const ExportOptions& options) {
  OnnxExport onnx = export_onnx(with_tokenizer(graph, files), path, options.onnx);
  WrittenModel written{.files = onnx.files, .onnx = {}, .notes = costs_of(onnx)};
  written.onnx = std::move(onnx);
  return written;
}

std::optional<int64_t> bytes(const Graph& graph, const NamedFiles& files) {
  return onnx_bytes(with_tokenizer(graph, files));
}

// hone writes operators that it does not import: what it wrote is then looked at without a run.
ReopenedModel reopen_onnx(const std::string& path) {
  OnnxImport import = import_onnx(path);
  ReopenedModel reopened{.graph = std::move(import.graph), .files = {}, .not_run = {}};
  if (!import.unsupported.empty())
    reopened.not_run = fmt::format("hone does not import {} of its nodes", import.unsupported.size());
  return reopened;
}

}  // namespace

extern constinit const ExporterDef onnx_exporter_def{.name = "onnx",
                                                     .doc = "an ONNX model; weights of a large one lie beside it",
                                                     .ending = ".onnx",
                                                     .beside = ".data",
                                                     .carries = rides_in_metadata,
                                                     .write = write,
                                                     .bytes = bytes,
                                                     .reopen = reopen_onnx};

}  // namespace hone

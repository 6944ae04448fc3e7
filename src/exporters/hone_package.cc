// hone's own model file (io/artefact.h).
#include <filesystem>

#include "exporters/exporter.h"
#include "io/artefact.h"
#include "io/artefact_size.h"

namespace hone {
namespace {

WrittenModel write(const std::string& path, const Graph& graph, const NamedFiles& files, const ExportOptions&) {
  save_artefact(path, graph, files);
  return {.files = {path}, .onnx = {}, .notes = {}};
}

std::optional<int64_t> bytes(const Graph& graph, const NamedFiles& files) { return artefact_bytes(graph, files); }

}  // namespace

extern constinit const ExporterDef hone_package_exporter_def{
    .name = "package",
    .doc = "a file that runs alone: graph, weights and all that rides along",
    .ending = ".safetensors",
    .is_exact = true,
    .may_replace_source = true,
    .has_sparse_storage = true,
    .carries = [](const std::string&) { return true; },
    .write = write,
    .bytes = bytes};

}  // namespace hone

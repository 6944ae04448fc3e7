#include "jobs/save_model.h"

#include <filesystem>

#include "base/error.h"
#include "base/registry.h"
#include "base/staged_files.h"
#include "exporters/registry.h"
#include "jobs/finite_weights.h"
#include "jobs/verify_written.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const ExporterDef& exporter_called(const char* name) {
  const ExporterDef* def = find_def(exporters::all(), name);
  CHECK(def, "no exporter {}", name);
  return *def;
}

int64_t bytes_of(const std::vector<std::string>& files) {
  int64_t bytes = 0;
  for (const std::string& file : files) bytes += static_cast<int64_t>(fs::file_size(file));
  return bytes;
}

// Errors name the place that the file is for.
SavedModel save_by(const ExporterDef& exporter, const std::string& path, const Graph& graph, const NamedFiles& files,
                   const ExportOptions& options) {
  StagedFiles staged(path);
  SavedModel saved;
  try {
    WrittenModel written = exporter.write(staged.staged(), graph, files, options);
    saved = {.files = std::move(written.files),
             .onnx = std::move(written.onnx),
             .check = verify_written(exporter, staged.staged(), graph, files),
             .notes = std::move(written.notes)};
    staged.commit();
  } catch (const Error& error) {
    throw Error(staged.in_place(error.what()));
  }
  saved.check = staged.in_place(saved.check);
  for (std::string& file : saved.files) file = staged.in_place(file);
  for (std::string& file : saved.onnx.files) file = staged.in_place(file);
  saved.bytes = bytes_of(saved.files);
  return saved;
}

}  // namespace

void refuse_source_as_output(const std::string& path, const Model& source) {
  for (const std::string& file : source.weight_files) {
    std::error_code none;
    if (fs::equivalent(path, file, none)) fail("{}: is read as the original; choose another name for the output", path);
  }
}

int64_t write_scratch_model(const std::string& path, const Graph& graph,
                            const std::map<std::string, std::string>& files) {
  return bytes_of(exporter_for(path).write(path, graph, files, {}).files);
}

int64_t original_bytes(const std::string& path, const Model& source) {
  const ExporterDef& exporter = exporter_for(path);
  int64_t bytes = source.file_bytes;
  for (const auto& [name, content] : source.files)
    if (source.is_folder() && exporter.carries(name)) bytes += static_cast<int64_t>(content.size());
  return bytes;
}

SavedModel save_as_artefact(const std::string& path, const Graph& graph,
                            const std::map<std::string, std::string>& files) {
  return save_by(exporter_called("package"), path, graph, files, {});
}

SavedModel save_as_onnx(const std::string& path, const Graph& graph, const OnnxExportOptions& options) {
  return save_by(exporter_called("onnx"), path, graph, {}, {.onnx = options});
}

SavedModel save_model(const std::string& path, const Graph& graph, const Model& source, const OnnxExportOptions& onnx) {
  require_finite_weights(graph, source.graph);
  const ExporterDef& exporter = exporter_for(path);
  if (!exporter.may_replace_source || source.importer != exporter.name) refuse_source_as_output(path, source);
  return save_by(exporter, path, graph, source.files, {.onnx = onnx});
}

}  // namespace hone

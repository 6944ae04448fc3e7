// hone export: a model as an ONNX file that other runtimes open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/option_tables.h"
#include "jobs/export_folder.h"
#include "jobs/file_facts.h"
#include "jobs/save_model.h"
#include "measure/environment.h"

namespace hone {

struct ExportResult {
  std::string name, path;  // of the model, and of the file
  SavedModel saved;        // saved.onnx: how each format was written
  FileFacts source;
  std::vector<FileFacts> written;  // the file, and for a large one its weights
  Environment environment;
};

// Writes the model to `path`, which ends in .onnx. `opset`: none: the oldest that will do. Throws Error when ONNX can't
// hold the model, and when `path` is one of the files that it was read from.
ExportResult export_model(const Model& model, const std::string& path, std::optional<int> opset = std::nullopt);

// Of either kind, as a program or another language asks for it.
struct ExportFlags {
  std::string layout, packed;  // layout: of a folder
  std::optional<int64_t> opset;
  static std::span<const OptionField<ExportFlags>> fields();
};
std::variant<ExportResult, FolderResult> export_as(const Model& model, const std::string& path,
                                                   const ExportFlags& options);

}  // namespace hone

// The one way in which verbs write a model: beside its place, opened again (verify_written.h), and only then put there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exporters/carried_files.h"
#include "exporters/exporter.h"
#include "jobs/load_model.h"

namespace hone {

struct SavedModel {
  int64_t bytes = 0;               // of all files
  std::vector<std::string> files;  // the model, and for a large ONNX file its weights
  OnnxExport onnx;                 // what was written, for .onnx
  std::string check;               // what opening it again found, a sentence
  std::vector<std::string> notes;  // what one should know of the file
};

// Throws Error when `path` is one of the files that hold the source's weights.
void refuse_source_as_output(const std::string& path, const Model& source);

// By the exporter of the name's ending (exporters/exporter.h), with what rides along with the source. A file that an
// importer read may be replaced where the exporter says so; the weights of a folder may not. Throws Error where a
// weight is no number that the source's graph, the original, has as one.
SavedModel save_model(const std::string& path, const Graph& graph, const Model& source,
                      const OnnxExportOptions& onnx = {});

// The same file without opening it again: for one that is measured and thrown away. Returns its size.
int64_t write_scratch_model(const std::string& path, const Graph& graph,
                            const std::map<std::string, std::string>& files);

// Of the source's files: its weights, and what lies beside them that a file written as `path` holds too.
int64_t original_bytes(const std::string& path, const Model& source);

SavedModel save_as_artefact(const std::string& path, const Graph& graph,
                            const std::map<std::string, std::string>& files);
SavedModel save_as_onnx(const std::string& path, const Graph& graph, const OnnxExportOptions& options = {});

}  // namespace hone

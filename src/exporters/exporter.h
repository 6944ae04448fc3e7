// An exporter writes a graph, with what rides along, as a file of one kind. To add one is to add a file to exporters/
// with an ExporterDef.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "importers/importer.h"
#include "io/onnx/export_model.h"

namespace hone {

struct ExportOptions {
  OnnxExportOptions onnx = {};  // of the exporter onnx
};

struct WrittenModel {
  std::vector<std::string> files;  // the model, and what had to be written beside it
  OnnxExport onnx = {};            // of the exporter onnx
  std::vector<std::string> notes;  // what one should know of the files, a sentence each
};

// A written file as it is opened again.
struct ReopenedModel {
  Graph graph;
  NamedFiles files;     // that ride along, machine code among them
  std::string not_run;  // why no run can tell whether the graph is right; empty: one can
};

struct ExporterDef {
  const char* name;
  const char* doc;
  const char* ending;       // of the files' names, by which it is chosen: ".onnx"
  const char* beside = "";  // ends, after the whole name, that of a second file which a large model may need

  // Opened again, the file gives the same graph, bit for bit; else one that computes the same numbers.
  bool is_exact = false;
  // Whether the file that a model was read from may be replaced by the one written. Only of files that the importer of
  // the same name reads.
  bool may_replace_source = false;
  bool has_sparse_storage = false;  // follows kStoreKey of the graph's metadata (io/artefact.h)
  // Whether such a file rides along.
  bool (*carries)(const std::string& file);

  // At `path`, which need not be where the files will stay. Throws Error that names what the kind has no room for.
  WrittenModel (*write)(const std::string& path, const Graph& graph, const NamedFiles& files,
                        const ExportOptions& options);
  // The size of what write() writes, without writing; none where only writing tells. nullptr: never known before.
  std::optional<int64_t> (*bytes)(const Graph& graph, const NamedFiles& files) = nullptr;
  // nullptr: as import_model() reads it.
  ReopenedModel (*reopen)(const std::string& path) = nullptr;
};

// By the path's ending. Throws Error that lists those that there are.
const ExporterDef& exporter_for(const std::string& path);

ReopenedModel reopen(const ExporterDef& exporter, const std::string& path);

}  // namespace hone

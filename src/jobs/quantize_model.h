// hone quantize: a model with its constants in other number formats, written as one file that runs alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/load_model.h"
#include "passes/pipelines.h"
#include "passes/quantize.h"
#include "report/record.h"

namespace hone {

struct QuantizedTensor {
  QuantizeChoice choice;
  int64_t elements = 0, bytes_before = 0, bytes_after = 0;
  std::optional<double> sqnr_db;  // of the new values against the old; none where nothing changed
};

struct QuantizedModel {
  Graph graph;
  std::vector<QuantizedTensor> tensors;
};

// The graph in canonical form with the chosen constants packed. `compute`, when given, is stored in the model.
QuantizedModel quantize_model(const LoadedModel& model, const QuantizeOptions& options, std::optional<Compute> compute);

// Throws Error when `path` is one of the files that hold the source's weights.
void refuse_source_as_output(const std::string& path, const LoadedModel& source);

// Writes the artefact with the model's tokenizer and configuration, or ONNX without them; returns the file's size. A
// file of hone's may be replaced by its successor; the weights of a folder may not.
int64_t save_model(const std::string& path, const Graph& graph, const LoadedModel& source);

// Reads a TOML file with the keys of quantize_fields() into `options`; also under a table [quantize].
void read_quantize_config(const std::string& path, QuantizeOptions& options);

enum class Listed : uint8_t { all, changed };

// The table "tensors", of all or of those whose format changed, and the totals of all.
std::vector<Block> describe(const QuantizedModel& quantized, Listed listed = Listed::all);

// quantize_model, save_model and the record of both.
Record quantize_to_file(const LoadedModel& model, const QuantizeOptions& options, std::optional<Compute> compute,
                        const std::string& output, const std::string& command);

}  // namespace hone

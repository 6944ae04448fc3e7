// hone info: what is in a model.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/load_model.h"

namespace hone {

struct PortInfo {
  std::string name, direction, type;  // direction: "input", "state", … ; "output", "update"
};

struct OpInfo {
  std::string name;
  int64_t nodes = 0;
  std::optional<double> flops;  // of one run; none: the sizes do not fit
};

// Constants of one format.
struct FormatInfo {
  std::string format;
  int64_t tensors = 0, elements = 0, bytes = 0;
};

// Constants as an artefact has them where it stores some as a bitmap and values (io/sparse_storage.h).
struct SparseInfo {
  int64_t tensors = 0;            // of those
  int64_t whole = 0, stored = 0;  // bytes of all
};

struct InfoResult {
  std::string path, name;
  int64_t parameters = 0, weight_bytes = 0, file_bytes = 0, nodes = 0;
  std::optional<SparseInfo> sparse;
  Compute compute = Compute::f32;
  Bindings sizes;               // of open dimensions, under which FLOP are counted
  std::optional<double> flops;  // of one run; none: the sizes, which are guessed, do not fit
  std::string misfit;           // how they do not
  std::vector<PortInfo> ports;
  std::vector<FormatInfo> formats;  // by name
  std::vector<OpInfo> ops;          // largest FLOP first
  std::string widened;              // of a GGUF file's types: what became a wider format (importers/gguf_decoder.h)
  std::vector<std::string> unused;  // tensors of the source that no part of the graph reads
};

// Throws Error where sizes that were asked for do not fit the model; of guessed ones the result says that.
InfoResult info(const Model& model, const ShapeOptions& shapes = {});

// FLOP of one run, per op name, largest first.
std::vector<std::pair<std::string, double>> flops_by_op(const Graph& graph, const Bindings& bindings);

}  // namespace hone

// hone quantize: a model with its constants in other number formats, written as one file that runs alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/packed.h"
#include "jobs/load_model.h"
#include "jobs/plan.h"
#include "jobs/save_model.h"
#include "passes/compress/quantize.h"
#include "passes/pipelines.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

// Data that the model is run on for the passes and methods that need statistics.
struct Calibration {
  std::string file;    // jobs/calibration_data.h; empty: none
  int64_t batch = 16;  // samples that run at once
  SessionOptions session;
};
std::span<const OptionField<Calibration>> calibration_fields();

struct QuantizedTensor {
  QuantizeChoice choice;
  int64_t elements = 0, bytes_before = 0, bytes_after = 0;
  std::optional<double> sqnr_db;  // of the new values against those that were rounded; none where nothing changed
  EncodeCounts counts;            // of what the format can't hold among them; nan and inf: of the model's own values
};

// Bits that the inputs of the layers would take, as they are rounded: an average over their elements.
struct InputBits {
  double before = 0, after = 0;
  std::string shapes;  // the symbols that it is for: "B=1 S=128"
};

struct QuantizedModel {
  Graph graph;
  std::vector<QuantizedTensor> tensors;
  std::vector<QuantizeChoice> activations;
  std::vector<Shape> activation_shapes;  // of each
  std::optional<InputBits> input_bits;   // when one of them is rounded; of layers outside bodies
  Sizes before, after;                   // of all constants
  std::string on_nonfinite;              // what was done about NaN and infinities
};

// The graph in canonical form with the chosen constants packed. `compute`, when given, is stored in the model. Throws
// Error where an option needs calibration data and there are none.
QuantizedModel quantize_model(const Model& model, const QuantizeOptions& options, std::optional<Compute> compute,
                              const Calibration& calibration = {});

// Reads a TOML file with the keys of quantize_fields(), calibration_fields(), where a path starts at the file's folder,
// and plan_fields(); also under a table [quantize], or under one of the pass that has the option: [smooth_quant].
void read_quantize_config(const std::string& path, QuantizeOptions& options, Calibration& calibration,
                          PlanNotes* notes = nullptr);

// Such a file, to be written as `path`. The data are named where the options calibrate.
std::string quantize_config(const std::string& path, const QuantizeOptions& options, const Calibration& calibration);

enum class Listed : uint8_t { all, changed };

// The table "tensors", of all or of those whose format changed; "activations", when one is rounded; "counts" of values
// that the formats can't hold; and the totals of all constants.
std::vector<Block> describe(const QuantizedModel& quantized, Listed listed = Listed::all);

// quantize_model, save_model and the record of both.
Record quantize_to_file(const Model& model, const QuantizeOptions& options, std::optional<Compute> compute,
                        const std::string& output, const std::string& command, const Calibration& calibration = {});

}  // namespace hone

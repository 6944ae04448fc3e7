// One process's life with a model, measured: loading, compiling, laying out, the first answer, memory. The program
// starts itself once per probe (`hone probe`), because compile caches, page faults and peak memory can only be seen
// from a fresh process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "jobs/default_inputs.h"
#include "runtime/session.h"

namespace hone {

struct ProbeOptions {
  std::string model;
  std::vector<std::string> inputs;  // --inputs of the model
  std::string format;               // --format of it; empty: found by what it holds
  std::optional<std::string> text;  // sentence encoders: the first answer is this text's embedding, tokenizer included
  std::string given;                // file that save_inputs wrote: what the model is run on; empty: made up
  ShapeOptions shapes;              // of what is made up
  SessionOptions session;
};

struct ProbeResult {
  double load_ms = 0, prepare_ms = 0, compile_ms = 0, prepack_ms = 0, first_run_ms = 0;
  double first_result_ms = 0;  // from the start of the process, as its parent sees it
  int kernels_compiled = 0, kernels_cached = 0;
  int64_t empty_bytes = 0;     // resident before the model was opened
  int64_t resident_bytes = 0;  // after a few runs
  int64_t peak_bytes = 0;
  int64_t anonymous_bytes = 0;                         // the part of resident_bytes that is not pages of files
  int64_t model_page_bytes = 0;                        // the part of resident_bytes that is pages of the model's files
  int64_t weight_bytes = 0, largest_tensor_bytes = 0;  // of the model's constants as stored
  int64_t prepacked_bytes = 0, direct_weight_bytes = 0, arena_bytes = 0, scratch_bytes = 0;
  // Of a device with memory of its own: inputs and outputs of a run, and what its driver counts more than before.
  int64_t inputs_and_outputs_bytes = 0, device_bytes = 0;
};

// Inputs as a file for ProbeOptions::given (.npz). What NumPy has no type for is stored in a wider one, without loss;
// throws Error where there is none (texts, sequences).
void save_inputs(const std::string& path, const NamedTensors& inputs);

// Inside the started process. `first_result` is called as soon as the first answer is there.
ProbeResult probe(const ProbeOptions& options, const std::function<void()>& first_result);

Json to_json(const ProbeResult& result);
ProbeResult probe_result_from_json(const Json& json);

// Starts `program probe ...` and waits for it; its errors become an Error. A stop (base/stop.h) ends it.
ProbeResult probe_in_new_process(const std::string& program, const ProbeOptions& options);

std::string this_program();  // path of the running executable

}  // namespace hone

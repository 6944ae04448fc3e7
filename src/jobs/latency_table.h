// What runs of a compiled model take on this machine, looked up step by step: the time of each distinct step (kernel,
// sizes, formats) is measured once, where it stands in a run, and kept; a model's latency is the sum of its steps'.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

// A step that a plan has, and what it is, as people read it: "gemm linear+gelu f32[1,64] …". Steps of one key take the
// same time: the machine code, the sizes and the types of all that it reads and writes are the same.
struct PlannedStep {
  std::string name, key, what;
};
// Of a run of these sizes, and one more for what a run takes beside its steps. Nothing is compiled. Throws Error for a
// model that is interpreted as a whole, or has sizes that depend on data.
std::vector<PlannedStep> planned_steps(const Graph& graph, const ShapeOptions& shapes, const SessionOptions& session);

struct LatencyPrediction {
  double ms = 0;
  int64_t steps = 0, measured = 0;      // of distinct ones, how many had to be measured
  std::optional<double> end_to_end_ms;  // of whole runs, where they were measured
};

class LatencyTable {
 public:
  // `path`: a JSON file, which is made when there is none, and has the times of other machines and numbers of threads,
  // too; empty: none is kept.
  explicit LatencyTable(std::string path = "") : path_(std::move(path)) {}

  // The median of runs of the model is the prediction's end_to_end_ms where a step was new, and in the first few models
  // that have none: so that sums are held against what they stand for. One caller measures at a time, at most `seconds`
  // long. Throws Error for a file that is no such table.
  LatencyPrediction predict(const Model& model, const ShapeOptions& shapes, const SessionOptions& session,
                            double seconds);

 private:
  struct Entry {
    double ms = 0;
    std::string what;
  };
  using Entries = std::map<std::string, Entry>;  // by key
  std::map<std::string, Entries> read() const;   // by machine
  void add(const std::string& machine, const Entries& found);

  const std::string path_;
  std::mutex mutex_;
  std::map<std::string, Entries> entries_;
  int64_t checked_ = 0;  // models without a new step that were measured
};

}  // namespace hone

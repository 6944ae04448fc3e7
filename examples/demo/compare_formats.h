// A sentence encoder in several number formats, each written to a file and judged by running that file: size, memory,
// latency, throughput, compile time, and accuracy on a nearest-neighbour task.
#pragma once

#include <string>
#include <vector>

#include "examples/demo/debian_packages.h"
#include "jobs/progress.h"
#include "jobs/quantize_model.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct FormatRun {
  std::string format;  // "f32": the model as it is; otherwise what its weights become
  Compute compute = Compute::bf16;
  std::string config = {};  // a plan in place of one format: a TOML file (jobs/quantize_model.h), which `format` names
};

struct CompareFormatsOptions {
  std::string model;
  std::vector<FormatRun> runs;  // the first is what the others are compared with
  NeighbourTask task;
  std::string task_name;    // for the report
  std::string folder;       // where the files go
  Calibration calibration;  // in place of what plans name
  SessionOptions session;
  std::string program;  // of hone: started for memory and compile times
  double seconds = 20;  // longest measured part of each of latency and throughput
  std::string command;
  Progress progress = {};
};

// Table "results"; plots of accuracy against size and of SQNR per tensor; the graph when Graphviz is installed.
Record compare_formats(const CompareFormatsOptions& options);

}  // namespace hone

// hone memory: what a model takes as stored and while it runs, before and after packing its weights, each measured in a
// process of its own, and item by item where the saving that the format promises is not reached.
#pragma once

#include <string>
#include <vector>

#include "jobs/default_inputs.h"
#include "jobs/progress.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

struct MemoryOptions {
  std::string model;
  std::vector<std::string> inputs;  // --inputs of the model
  std::vector<std::string> to;      // formats; each is tried on the layers alone and on layers and tables
  std::vector<std::string> skip;    // regular expressions: weights that are kept
  ShapeOptions shapes;
  SessionOptions session;
  std::string program;  // of hone, which is started for each measurement
  std::string command;  // for the record
  Progress progress = {};
};

// Findings; the tables "memory" (a row per model), "stored" (bytes by what weights are for), "running" (what the peak
// consists of, to the byte), "device" (what lies in a device's own memory, by the plan and as its driver counts) and
// "missing" (the same items in points of the original's peak, which add up to theory less measurement).
Record memory(const MemoryOptions& options);

}  // namespace hone

// Calibration data: samples of what a model will be given, from a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

struct CalibrationData {
  std::vector<NamedTensors> batches;
  std::vector<int64_t> labels;  // the right class of each sample, where the file has them
  int64_t samples = 0;
  std::string sha256;  // of the file
};

// The inputs of the model for `batch` samples at a time (fewer at the end; as many as the model states where its number
// of samples is fixed), read from
//   .npz  arrays named like the inputs, whose first axis counts samples; and, where they are known, `labels` [samples]
//   .npy  the array of a model with one input
//   .txt  one text a line, for a model with a tokenizer; empty lines are skipped
// Integers are converted to the integer type of an input, floats to its float type. Throws Error naming the file: no
// samples, arrays of different length, unknown or missing names, a shape or type that the model does not take, and
// numbers beyond the rows of the table that they select from.
CalibrationData read_calibration(const LoadedModel& model, const std::string& path, int64_t batch);

// The batches dealt out as cards are: batch b goes to part hands[b % size]. As many parts as the largest hand has, the
// last of them empty where there are too few batches.
std::vector<CalibrationData> deal(const CalibrationData& data, std::span<const size_t> hands);

}  // namespace hone

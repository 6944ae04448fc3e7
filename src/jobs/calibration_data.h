// Calibration data: samples of what a model will be given, from a file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "jobs/load_model.h"
#include "measure/judge.h"
#include "runtime/session.h"

namespace hone {

struct CalibrationData {
  std::vector<NamedTensors> batches;
  std::vector<RightAnswers> right;  // of each batch where they are known; of pairs, of each two
  Judged judged = Judged::rows;     // how: of pairs, batches 2i and 2i + 1 are their first and second texts
  std::optional<Metric> metric;     // by which, where right answers are known
  std::string output;               // of the model, that is judged; empty: the one that fits
  int64_t samples = 0;
  std::string sha256;  // of the file
};

bool is_calibration_file(const std::string& path);  // .npz, .npy or .txt, by its name

// The inputs of the model for `batch` samples at a time (fewer at the end; as many as the model states where its number
// of samples is fixed), read from
//   .npz  arrays named like the inputs, whose first axis counts samples; and, where they are known, `labels` [samples]
//   .npy  the array of a model with one input
//   .txt  one text a line, for a model with a tokenizer; empty lines are skipped
//   any data set (data/reader.h), read by `reading`: its rows for training, or all where it has no splits
// Integers are converted to the integer type of an input, floats to its float type. Throws Error naming the file: no
// samples, arrays of different length, unknown or missing names, a shape or type that the model does not take, and
// numbers beyond the rows of the table that they select from.
CalibrationData read_calibration(const Model& model, const std::string& path, int64_t batch,
                                 const DataOptions& reading = {});

// The batches (of pairs, each two) dealt out as cards are: batch b goes to part hands[b % size]. As many parts as the
// largest hand has, the last of them empty where there are too few batches.
std::vector<CalibrationData> deal(const CalibrationData& data, std::span<const size_t> hands);

}  // namespace hone

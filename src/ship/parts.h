// The rows of a data set in three parts, none of which shares a row with another: what methods learn from, what
// candidates are chosen on, and what judges the one that was chosen. Which row is in which part follows from the data,
// the seed and the share for training alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/calibration_data.h"
#include "jobs/default_inputs.h"
#include "jobs/evaluation.h"

namespace hone {

// As jobs that read a data set have it, and lists of texts (.txt) and single arrays (.npy) besides. Throws Error.
Dataset read_rows(const Model& model, const std::string& path, const DataOptions& reading);

// Leaves the splits "train" (to learn from), "validation" (to choose on) and "test" (to judge on). Splits that the data
// state stay what they are; what is missing is taken from the rows for training. `limit`, above 0: of all rows, at most
// so many. Throws Error where there are too few rows.
struct Deal {
  std::string split;  // deal out this split of the data alone; empty: all
  int64_t limit = 0;
  uint64_t seed = 1;
  bool trains = false;  // more rows to learn from
};
constexpr int64_t kFewestOfAPart = 8;
void deal_rows(Dataset& data, const Deal& deal);

struct ShipParts {
  Dataset dataset;
  std::vector<int64_t> learn, choose, judge;  // in random order, so that any first rows are a fair sample
  std::string sha256;                         // of the data's files
  int64_t bytes = 0;

  std::string text() const;  // "400 rows of reviews.csv: 100 to learn from, 100 to choose on, 200 to judge on"
  // The first `rows` of a part (all where there are fewer), in the order in which they run.
  EvaluationData data(const std::vector<int64_t>& part, int64_t rows) const;
};
ShipParts read_parts(const Model& model, const std::string& path, const DataOptions& reading, const Deal& deal);

// Sizes of the model's dimensions as rows of arrays have them, where the options do not say them: what is timed is of
// the sizes that it will run with. The first axis counts rows.
ShapeOptions with_sizes_of_rows(ShapeOptions shapes, const Graph& graph, const Dataset& data);

// The first rows of what there is to learn from, as samples of calibration. `apart`: the texts of a pair apart.
CalibrationData learning_samples(const Model& model, const ShipParts& parts, int64_t rows, int64_t batch, bool apart);

}  // namespace hone

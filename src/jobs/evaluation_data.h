// The rows of a data set that models are judged on, and what is right for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/reader.h"
#include "jobs/load_model.h"
#include "measure/metric.h"

namespace hone {

struct DataChoice {
  std::string path;
  DataOptions reading;
  std::string split;   // empty: "test", else "validation", else all rows
  int64_t limit = 0;   // at most so many of its rows, drawn by `seed`; 0: all
  int64_t batch = 16;  // rows that run at once
  uint64_t seed = 1;
};

struct EvaluationData {
  Dataset dataset;
  std::vector<int64_t> rows;  // of texts from the shortest to the longest, which are padded least; others ascending
  std::string title;          // "1,000 of 25,000 rows of test of reviews.csv"
  std::string sha256;         // of its files
  int64_t bytes = 0;          // of them
};

std::string sha256_of(const Dataset& dataset);  // of its files

// Throws Error: no such split, no rows.
EvaluationData read_evaluation_data(const DataChoice& choice);

// The classes of the data as the model numbers them: by the names in its config.json (id2label) where all names of the
// data are among those, whatever their case; otherwise as the data numbers them.
struct ClassNumbers {
  std::vector<int64_t> of;         // class of the data → of the model
  std::vector<std::string> names;  // by the model's number, as far as they are known
  std::string note;                // what one must know of it; empty where both say the same
};
ClassNumbers class_numbers(const Model& model, const Dataset& dataset);

// What is right for the rows: their classes, labels or numbers. Bug for data of another kind.
RightAnswers right_answers(const Dataset& dataset, std::span<const int64_t> rows, const ClassNumbers& classes);
// As JSON: names, numbers, or null.
std::string label_json(const Dataset& dataset, int64_t row);

}  // namespace hone

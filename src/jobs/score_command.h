// A metric of the user's own: a program that reads a model's answers and prints a number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "ir/tensor.h"

namespace hone {

// The answers as JSON Lines, which every language reads: one object for each row of the data,
//   {"row": 7, "where": "reviews.csv:9", "label": "positive", "outputs": {"logits": [-1.5, 2.25]}}
// row: counted from 0 in the data; label: a name, a list of names, a number or a list of numbers, null where there is
// none; outputs: what the model gave for the row, nested as it is shaped, null for a number that is NaN or infinite.
struct AnswerRow {
  int64_t row = 0;
  std::string where, label;  // label: JSON
};
class AnswerFile {
 public:
  explicit AnswerFile(const std::string& path) : file_(path) {}
  // Outputs whose first axis does not count the rows are left out.
  void add(std::span<const AnswerRow> rows, std::span<const std::string> names, std::span<const Tensor> outputs);
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
};

// Runs the command line by /bin/sh with the file's path as its last argument; the answer is the number on the last line
// that it prints that is not empty. Throws Error when it can't be started, does not end in time, ends with another code
// than 0, or prints no finite number.
double run_score_command(const std::string& command, const std::string& answers, double most_seconds);

}  // namespace hone

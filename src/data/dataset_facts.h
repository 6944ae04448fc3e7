// What is to know of a data set before anything is trained on it or judged by it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/token_rows.h"

namespace hone {

// Rows of which something holds: how many, and where the first few are.
struct Finding {
  int64_t count = 0;
  std::vector<std::string> first;
};

struct SplitFacts {
  std::string name;  // empty: the data has no splits, and this is all of it
  int64_t rows = 0;
  std::vector<int64_t> of_class;  // rows, or words, of each class; none where labels are no classes
};

struct DatasetFacts {
  int64_t rows = 0;
  std::vector<SplitFacts> splits;
  std::vector<std::string> classes;

  Finding empty;                            // texts of white space, or rows without words
  Finding repeated;                         // with the inputs of an earlier row of the split
  Finding conflicting;                      // of those, with other labels
  Finding leaking;                          // with the inputs of a row of an earlier split
  Finding cut;                              // texts that are longer than the model takes
  Finding unlabelled;                       // nothing, or none of the classes, stands where the label belongs
  Finding undecodable;                      // images, with the reason
  std::vector<std::string> leaking_groups;  // in more than one split
  std::vector<std::pair<std::string, std::string>> absent;  // split and class that has no row there
  std::vector<int64_t> unusable;                            // rows that are undecodable or unlabelled, ascending
  std::string sha256;  // of inputs and labels in order, wherever the files lie; rows that do not decode count as empty
};

// Looks at every row, and decodes every image. `tokens` tells which texts were cut.
DatasetFacts check_dataset(const Dataset& data, const TokenRows* tokens = nullptr);

// A line for each thing found, and the balance of classes.
std::string to_string(const DatasetFacts& facts);

// Without the rows that can't be used. Throws Error that counts them and names the first few, unless skip_bad.
Dataset usable_rows(Dataset data, const DatasetFacts& facts, bool skip_bad);

}  // namespace hone

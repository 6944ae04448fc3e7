// What a user may say of a data set: its format, which columns are what, how it is split. One table for every reader,
// since a flag means the same for all; a reader says which of them it takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"

namespace hone {

struct DataOptions {
  std::string format;  // a reader; empty: found by the path

  // Columns, or arrays. Empty: found by their usual names.
  std::string text, text2, label, labels, target, tokens, tags, group, split;
  std::string separator = " ";       // between the labels, tokens or tags of one cell
  bool no_header = false;            // columns have no names but their numbers from 1
  std::vector<std::string> classes;  // in this order; none: those that occur, sorted
  int64_t channels = 3;              // of decoded image files

  // Made when the data states no splits.
  std::string validation_file, test_file;  // further files or folders, in the same format
  double validation_fraction = 0, test_fraction = 0;
  int64_t split_seed = 0;

  static std::span<const OptionField<DataOptions>> fields();
};

}  // namespace hone

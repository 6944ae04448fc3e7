// A data set: rows with inputs (texts, words, images, arrays) and, where they are known, what is right for each (a
// class, several classes, numbers, a class for each word). A column that the data lacks is empty; every other has
// `rows` entries. Splits are lists of rows, so taking a part copies nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/safetensors.h"
#include "ir/tensor.h"

namespace hone {

// In place of a class: nothing is right or wrong there, and losses and metrics pass over it (as in PyTorch).
constexpr int64_t kIgnoredLabel = -100;

// Values of an open list of texts, as numbers of their names.
struct ClassLabels {
  std::vector<int64_t> ids;                              // into names, or kIgnoredLabel
  std::vector<std::string> names;                        // of the classes
  std::vector<std::pair<int64_t, std::string>> unknown;  // rows whose text is no class, and that text
};

struct MultiLabels {
  std::vector<std::vector<int64_t>> ids;  // of each row, ascending; may be none
  std::vector<std::string> names;
  std::vector<std::pair<int64_t, std::string>> unknown;
  // Of each row, classes of which nothing is known; where all are known of all rows, of no row.
  std::vector<std::vector<int64_t>> ignored = {};
  std::span<const int64_t> ignored_of(size_t row) const {
    return ignored.empty() ? std::span<const int64_t>() : ignored[row];
  }
};

struct Targets {
  std::vector<float> values;  // rows x width; NaN where the data says nothing
  int64_t width = 1;
};

struct TokenLabels {
  std::vector<std::vector<int64_t>> ids;  // a row has as many as it has words, of arrays as its inputs have places
  std::vector<std::string> names;
  std::vector<std::pair<int64_t, std::string>> unknown;
};

using Labels = std::variant<std::monostate, ClassLabels, MultiLabels, Targets, TokenLabels>;

// Decoded when asked for, by any thread. Throws Error naming the file of an image that does not decode.
struct Images {
  int64_t channels = 0;                     // 1: grey, 3: red, green, blue
  std::function<Tensor(int64_t row)> read;  // u8[channels, height, width]; heights and widths may differ
  explicit operator bool() const { return read != nullptr; }
};

struct Split {
  std::string name;  // "train", "validation", "test", or what the data calls it
  std::vector<int64_t> rows;
};

// Where a row came from. Rows of a file without lines count from 1 there.
struct RowOrigin {
  int32_t file = 0;  // into Dataset::files
  int64_t line = 0;  // 0: the whole file
};

struct Dataset {
  std::string path;
  int64_t rows = 0;

  std::vector<std::string> texts, second_texts;  // a pair of texts is one row
  std::vector<std::vector<std::string>> words;   // texts cut into words, for labels of words
  Images images;
  std::vector<NamedTensor> arrays;  // the first axis counts rows

  Labels labels;
  std::string label_column;     // what the data calls them, for messages
  std::vector<int64_t> groups;  // rows of one group belong into one split
  std::vector<std::string> group_names;
  std::vector<Split> splits;  // none: the data states none

  std::vector<std::string> files;
  std::vector<RowOrigin> origins;

  std::string where(int64_t row) const;  // "reviews.csv:17"

  // The rows of a split. Throws Error that lists those there are.
  const std::vector<int64_t>& split(std::string_view name) const;
  const Split* find_split(std::string_view name) const;
};

// The names of the classes of any labels that have classes; none otherwise.
std::span<const std::string> class_names(const Labels& labels);

// "class", "classes", "numbers", "word classes" or "none".
std::string_view kind_of(const Labels& labels);

// What the usual spellings mean: "dev", "val" and "valid" are "validation", "training" is "train".
std::string split_name(std::string_view spelling);

}  // namespace hone

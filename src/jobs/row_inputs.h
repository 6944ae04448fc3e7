// Rows of a data set as the inputs of a model: texts, pairs and words by its tokenizer, images in its size, arrays by
// the names of its inputs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batches.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

class RowInputs {
 public:
  // `apart`: the texts of a pair are rows of their own, and not one text. Throws Error where the data lack what the
  // model takes. `dataset` must outlive this; nothing of `model` is referred to afterwards.
  RowInputs(const Model& model, const Dataset& dataset, bool apart = false);
  ~RowInputs();
  RowInputs(RowInputs&&) noexcept;

  // Rows that run at once: `wanted`, or as many as the model states.
  int64_t batch(int64_t wanted) const { return fixed_batch_.value_or(wanted); }
  // `second`: of the second texts. Where the model runs on a fixed number of rows, the last row fills up.
  NamedTensors of(std::span<const int64_t> rows, bool second = false) const;
  // Of texts: what the model would be given, whether it takes a mask or not.
  TokenBatch tokens_of(std::span<const int64_t> rows) const;
  // Of words: i64[rows, tokens], kIgnoredLabel but at the first token of each word.
  std::vector<int64_t> word_labels(std::span<const int64_t> rows) const;

 private:
  struct Input {
    std::string name;
    TensorType type;
    std::optional<int64_t> table_rows;  // of the table that it selects from
    size_t array = 0;                   // of the data
  };
  struct Side;  // the first or the second texts, or all there is
  void prepare_texts(const Model& model, const Dataset& dataset, bool apart);
  void prepare_images(const Model& model, const Dataset& dataset);
  void prepare_arrays(const Dataset& dataset);
  Tensor array_of(const Input& input, const Batch& batch) const;
  Batch batch_of(const Side& side, std::span<const int64_t> rows) const;

  std::string model_;
  std::vector<Input> inputs_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::optional<int64_t> fixed_batch_;
};

}  // namespace hone

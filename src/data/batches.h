// Batches of a data set as tensors. Which rows a batch has and what becomes of them depends on the seed, the epoch and
// the rows alone: any batch can be made at any time, by any thread, with the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/dataset.h"
#include "data/epoch_plan.h"
#include "data/image_transform.h"
#include "data/token_rows.h"

namespace hone {

// One of several alike parts of each batch: the rows of one process. The last ones may be smaller, or have none.
struct BatchShare {
  int64_t number = 0, count = 1;
};

struct Batch {
  uint64_t epoch = 0;
  int64_t index = 0;          // within the epoch
  std::vector<int64_t> rows;  // of the data set, in the order of the tensors
  int64_t first = 0;          // the number of the first one in the whole batch
  int64_t largest_share = 0;  // rows of the largest share

  // Of texts: i64[rows, longest]; mask is 1 for tokens and 0 for padding, types tell a pair's texts apart.
  Tensor ids, mask, types;
  Tensor images;                    // f32[rows, channels, height, width]
  std::vector<NamedTensor> arrays;  // as in the data

  // One class: i64[rows]; several: f32[rows, classes] of 0 and 1; numbers: f32[rows], or [rows, numbers] where there
  // are several; classes of words: i64[rows, longest], at the first token of each word. kIgnoredLabel, or NaN, where
  // nothing is known, and at other tokens. Empty ([0]) when the data has none.
  Tensor labels;
};

struct BatchOptions {
  BatchOrder order;
  int64_t pad_to_multiple = 1;  // of tokens
  ImageTransform images;
};

class Batches {
 public:
  // Over `rows` of the data, both of which must outlive this, as must `tokens`, which texts need. Throws Error: no
  // rows, labels of words without tokens; and, when a batch is made, texts of different
  // length without a token for padding, or images of different sizes.
  Batches(const Dataset& data, std::vector<int64_t> rows, BatchOptions options, const TokenRows* tokens = nullptr,
          const TokenizerSpec* padding = nullptr);

  const Dataset& data() const { return data_; }
  const std::vector<int64_t>& rows() const { return rows_; }
  int64_t per_epoch() const;

  EpochPlan plan(uint64_t epoch) const;
  // What making batches takes beside them: rows in their order, twice while it is drawn, and images before they are
  // numbers.
  int64_t making_bytes() const;
  // Images are decoded on all threads. Throws Error for one that does not decode.
  Batch make(const EpochPlan& plan, uint64_t epoch, int64_t index, const BatchShare& share = {}) const;

 private:
  void add_texts(Batch& batch) const;
  void add_images(Batch& batch) const;
  Tensor image(int64_t row) const;  // of the size that batches have
  void add_arrays(Batch& batch) const;
  Tensor labels_of(const Batch& batch) const;
  Tensor word_labels(const TokenLabels& labels, const Batch& batch) const;

  const Dataset& data_;
  std::vector<int64_t> rows_;
  BatchOptions options_;
  const TokenRows* tokens_;
  std::optional<int64_t> pad_id_;
  bool pad_left_ = false;
};

}  // namespace hone

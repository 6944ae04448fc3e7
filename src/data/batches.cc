#include "data/batches.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/threads.h"

namespace hone {
namespace {

template <class Fn>
void for_each_row(const std::vector<int64_t>& rows, Fn fn) {
  for (size_t i = 0; i < rows.size(); ++i) fn(i, static_cast<size_t>(rows[i]));
}

// [rows, width] of zeros.
Tensor table(DType dtype, const Batch& batch, int64_t width) { return Tensor(dtype, {std::ssize(batch.rows), width}); }

Tensor labels_of_rows(const ClassLabels& labels, const Batch& batch) {
  std::vector<int64_t> ids;
  for (int64_t row : batch.rows) ids.push_back(labels.ids[static_cast<size_t>(row)]);
  return Tensor::of<int64_t>({std::ssize(ids)}, ids);
}

Tensor labels_of_rows(const MultiLabels& labels, const Batch& batch) {
  Tensor result = table(DType::f32, batch, std::ssize(labels.names));
  const std::span<float> values = result.mutable_as<float>();
  for_each_row(batch.rows, [&](size_t i, size_t row) {
    for (int64_t id : labels.ids[row]) values[i * labels.names.size() + static_cast<size_t>(id)] = 1;
    for (int64_t id : labels.ignored_of(row)) values[i * labels.names.size() + static_cast<size_t>(id)] = std::nanf("");
  });
  return result;
}

// Of the places of arrays, as many in each row.
Tensor labels_of_places(const TokenLabels& labels, const Batch& batch) {
  Tensor result = table(DType::i64, batch, labels.ids.empty() ? 0 : std::ssize(labels.ids[0]));
  auto to = result.mutable_as<int64_t>().begin();
  for (int64_t row : batch.rows) to = std::ranges::copy(labels.ids[static_cast<size_t>(row)], to).out;
  return result;
}

Tensor labels_of_rows(const Targets& targets, const Batch& batch) {
  Tensor result = table(DType::f32, batch, targets.width);
  const auto width = static_cast<size_t>(targets.width);
  const std::span<float> values = result.mutable_as<float>();
  for_each_row(batch.rows, [&](size_t i, size_t row) {
    std::copy_n(targets.values.begin() + static_cast<int64_t>(row * width), width,
                values.begin() + static_cast<int64_t>(i * width));
  });
  return width == 1 ? result.reshaped({std::ssize(batch.rows)}) : result;
}

}  // namespace

Batches::Batches(const Dataset& data, std::vector<int64_t> rows, BatchOptions options, const TokenRows* tokens,
                 const TokenizerSpec* padding)
    : data_(data), rows_(std::move(rows)), options_(std::move(options)), tokens_(tokens) {
  if (rows_.empty()) fail("{}: no rows to make batches of", data_.path);
  if (padding) pad_id_ = padding->pad_id, pad_left_ = padding->pad_left;
  if (options_.pad_to_multiple < 1)
    fail("texts are padded to multiples of {} tokens; at least 1 is needed", options_.pad_to_multiple);
  CHECK(!tokens_ || tokens_->rows() == data_.rows);
  CHECK(options_.order.window == 1 || tokens_);
  if (!tokens_ && data_.arrays.empty() && std::holds_alternative<TokenLabels>(data_.labels))
    fail("{}: its labels are of words, and the model reads no texts", data_.path);
  if (data_.images) check(options_.images, data_.images.channels);
  static_cast<void>(per_epoch());  // what is wrong with the order is said at once
}

int64_t Batches::per_epoch() const { return std::ssize(plan(0)); }

EpochPlan Batches::plan(uint64_t epoch) const {
  return plan_epoch(rows_, options_.order, epoch, [&](int64_t row) { return tokens_->length(row); });
}

int64_t Batches::making_bytes() const {
  const int64_t order = 2 * std::ssize(rows_) * static_cast<int64_t>(sizeof(int64_t));
  if (!data_.images) return order;
  size_t most = 0;
  for (const std::vector<int64_t>& rows : plan(0)) most = std::max(most, rows.size());
  return order + static_cast<int64_t>(most * image(rows_[0]).data().size());
}

Batch Batches::make(const EpochPlan& plan, uint64_t epoch, int64_t index, const BatchShare& share) const {
  const std::vector<int64_t>& all = plan[static_cast<size_t>(index)];
  const int64_t largest = (std::ssize(all) + share.count - 1) / share.count,
                first = std::min(std::ssize(all), share.number * largest),
                end = std::min(std::ssize(all), first + largest);
  Batch batch{.epoch = epoch,
              .index = index,
              .rows = {all.begin() + first, all.begin() + end},
              .first = first,
              .largest_share = largest};
  if (tokens_) add_texts(batch);
  if (data_.images) add_images(batch);
  add_arrays(batch);
  batch.labels = labels_of(batch);
  return batch;
}

void Batches::add_texts(Batch& batch) const {
  int64_t longest = 1;
  for (int64_t row : batch.rows) longest = std::max(longest, tokens_->length(row));
  const int64_t multiple = options_.pad_to_multiple;
  const int64_t width = checked_mul(checked_add(longest, multiple - 1) / multiple, multiple);
  batch.ids = table(DType::i64, batch, width);
  batch.mask = table(DType::i64, batch, width);
  batch.types = table(DType::i64, batch, width);
  const auto ids = batch.ids.mutable_as<int64_t>(), mask = batch.mask.mutable_as<int64_t>(),
             types = batch.types.mutable_as<int64_t>();
  for_each_row(batch.rows, [&](size_t i, size_t row) {
    const std::span<const int32_t> tokens = tokens_->ids(static_cast<int64_t>(row));
    const auto padding = width - std::ssize(tokens), begin = static_cast<int64_t>(i) * width;
    if (padding > 0 && !pad_id_)
      fail("the tokenizer has no padding token, so texts of different length can't share a batch; give batches of 1");
    const int64_t at = begin + (pad_left_ ? padding : 0);
    std::fill_n(ids.begin() + begin, width, pad_id_.value_or(0));
    std::ranges::copy(tokens, ids.begin() + at);
    std::fill_n(mask.begin() + at, tokens.size(), 1);
    std::ranges::copy(tokens_->types(static_cast<int64_t>(row)), types.begin() + at);
  });
}

Tensor Batches::image(int64_t row) const { return sized_image(data_.images.read(row), options_.images); }

void Batches::add_images(Batch& batch) const {
  const ImageTransform& transform = options_.images;
  const uint64_t key = hash_text("images", options_.order.seed);
  std::vector<Tensor> images(batch.rows.size());
  parallel_for(std::ssize(images),
               [&](int64_t i) { images[static_cast<size_t>(i)] = image(batch.rows[static_cast<size_t>(i)]); });
  std::vector<int64_t> shape = (images.empty() ? image(rows_[0]) : images[0]).shape();
  for (size_t i = 0; i < images.size(); ++i)
    if (images[i].shape() != shape)
      fail(
          "{}: an image of {} x {} pixels, and {} one of {} x {}; images of one batch have one size. Give one to "
          "resize "
          "them to",
          data_.where(batch.rows[i]), images[i].dim(2), images[i].dim(1), data_.where(batch.rows[0]), shape[2],
          shape[1]);
  shape.insert(shape.begin(), std::ssize(images));
  batch.images = Tensor(DType::f32, shape);
  const std::span<float> out = batch.images.mutable_as<float>();
  if (images.empty()) return;
  const size_t each = out.size() / images.size();
  parallel_for(std::ssize(images), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    // A sample's numbers are its own, whatever batch it is in.
    const Philox random(key + batch.epoch, static_cast<uint64_t>(batch.rows[at]));
    transform_image(images[at], transform, random, out.subspan(at * each, each));
  });
}

void Batches::add_arrays(Batch& batch) const {
  for (const NamedTensor& array : data_.arrays) {
    std::vector<int64_t> shape = array.tensor.shape();
    const size_t bytes = array.tensor.data().size() / static_cast<size_t>(shape[0]);
    shape[0] = std::ssize(batch.rows);
    Tensor part(array.tensor.dtype(), shape);
    for_each_row(batch.rows, [&](size_t i, size_t row) {
      std::ranges::copy(array.tensor.data().bytes().subspan(row * bytes, bytes), part.mutable_data() + i * bytes);
    });
    batch.arrays.push_back({array.name, std::move(part)});
  }
}

Tensor Batches::labels_of(const Batch& batch) const {
  return std::visit(
      [&](const auto& labels) -> Tensor {
        using Kind = std::remove_cvref_t<decltype(labels)>;
        if constexpr (std::same_as<Kind, std::monostate>) return Tensor(DType::f32, {0});
        else if constexpr (std::same_as<Kind, TokenLabels>)
          return tokens_ ? word_labels(labels, batch) : labels_of_places(labels, batch);
        else return labels_of_rows(labels, batch);
      },
      data_.labels);
}

Tensor Batches::word_labels(const TokenLabels& labels, const Batch& batch) const {
  const int64_t width = batch.ids.dim(1);
  Tensor result = table(DType::i64, batch, width);
  const std::span<int64_t> values = result.mutable_as<int64_t>();
  std::ranges::fill(values, kIgnoredLabel);
  for_each_row(batch.rows, [&](size_t i, size_t row) {
    const std::span<const int32_t> words = tokens_->words(static_cast<int64_t>(row));
    const auto padding = static_cast<size_t>(width) - words.size();
    for (size_t t = 0; t < words.size(); ++t)
      if (words[t] >= 0 && (t == 0 || words[t] != words[t - 1]))
        values[i * static_cast<size_t>(width) + (pad_left_ ? padding : 0) + t] =
            labels.ids[row][static_cast<size_t>(words[t])];
  });
  return result;
}

}  // namespace hone
